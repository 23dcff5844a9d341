#!/usr/bin/env python3
"""
The chain of AWS credentials beside botocore's. TAP.

Keys lie in several places at once, drawn from a seed: environment, both shared files, a program, roles (from a profile, from a
named source, from one another), web identity, container, metadata service. berth lists machines, botocore resolves: the key
that signs is the same, and so are the questions that were asked to get it.
"""
import hashlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import botocore.exceptions
import botocore.session

from aws_peer import serve

SEED = int(os.environ.get('SEED', '20261130'))
ROUNDS = int(os.environ.get('ROUNDS', '60'))
UNTIL = '2099-01-01T00:00:00Z'
count = itertools.count(1)
failed = False
asked = []


def ok(good, name, *more):
    global failed
    failed |= not good
    print('%sok %d - %s' % ('' if good else 'not ', next(count), name), flush=True)
    for line in more if not good else ():
        print('#   %s' % (line,))


def keys(ident):
    return {'AccessKeyId': ident, 'SecretAccessKey': 'secret-' + ident, 'Token': 'token-' + ident, 'Expiration': UNTIL, 'Code': 'Success',
            'Type': 'AWS-HMAC', 'LastUpdated': '2026-11-30T00:00:00Z'}


def xml(action, ident):
    k = keys(ident)
    return ('<%sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%sResult><Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s'
            '</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration></Credentials><AssumedRoleUser><Arn>arn:aws:sts::1:x</Arn>'
            '<AssumedRoleId>AROA:x</AssumedRoleId></AssumedRoleUser></%sResult></%sResponse>'
            % (action, action, k['AccessKeyId'], k['SecretAccessKey'], k['Token'], UNTIL, action, action)).encode()


def answer(r):
    """Each key tells how it was got: a role's is made of the role and of whose key asked for it."""
    plain = {'Content-Type': 'text/plain'}
    if r.path.startswith('/latest/') or r.path == '/creds':
        asked.append((r.method, r.path, r.headers.get('x-aws-ec2-metadata-token'), r.headers.get('x-aws-ec2-metadata-token-ttl-seconds'),
                      r.headers.get('authorization')))
    if r.path == '/latest/api/token' and r.method == 'PUT':
        return 200, plain, b'TOKEN=='
    if r.path.startswith('/latest/') and r.headers.get('x-aws-ec2-metadata-token') != 'TOKEN==':
        return 401, plain, b''
    if r.path.rstrip('/') == '/latest/meta-data/iam/security-credentials':
        return 200, plain, b'role-of-machine'
    if r.path == '/latest/meta-data/iam/security-credentials/role-of-machine':
        return 200, plain, json.dumps(keys('ASIAMACHINE')).encode()
    if r.path == '/creds':
        return 200, {'Content-Type': 'application/json'}, json.dumps(keys('ASIATASK' + hashlib.sha1(
            r.headers.get('authorization', '').encode()).hexdigest()[:6].upper())).encode()
    form = r.form()
    if form.get('Action', '').startswith('AssumeRole'):
        if r.signature and not r.verify('secret-' + r.key):
            asked.append('a signature that is wrong')
        what = [form['Action'], form['RoleArn'], form.get('ExternalId'), form.get('WebIdentityToken'), r.key]
        asked.append(tuple(what) + ((form['RoleSessionName'],) if form['RoleSessionName'].startswith('named') else ()))
        return 200, {'Content-Type': 'text/xml'}, xml(form['Action'], 'ASIA' + hashlib.sha1(repr(what).encode()).hexdigest()[:12].upper())
    asked.append(('signed by', r.key, r.headers.get('x-amz-security-token'), r.verify('secret-' + (r.key or ''))))
    return 200, {'Content-Type': 'text/xml'}, b'<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/></DescribeInstancesResponse>'


server = serve(answer)
url = 'http://127.0.0.1:%d' % server.server_address[1]
home = tempfile.mkdtemp()
base = {k: v for k, v in os.environ.items() if not k.startswith('AWS_') and 'proxy' not in k.lower()}
base.update(HOME=home)


def put(name, text):
    path = os.path.join(home, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(text)
    return path


def program(ident):
    k = keys(ident)
    path = put('program-%s.json' % ident, json.dumps({'Version': 1, 'AccessKeyId': k['AccessKeyId'], 'SecretAccessKey': k['SecretAccessKey'],
                                                      'SessionToken': k['Token'], 'Expiration': UNTIL}))
    return 'credential_process = cat "%s"\n' % path


def static(ident):
    k = keys(ident)
    return 'aws_access_key_id = %s\naws_secret_access_key = %s\naws_session_token = %s\n' % (k['AccessKeyId'], k['SecretAccessKey'], k['Token'])


def draw(rng):
    """(environment, config, credentials, what lies where)"""
    env, config, creds, what = {}, {'default': '', 'team': '', 'far': ''}, {}, []

    def some(chance, name):
        if rng.random() < chance:
            what.append(name)
            return True
        return False

    if some(0.2, 'environment'):
        k = keys('AKIAENV')
        env.update(AWS_ACCESS_KEY_ID=k['AccessKeyId'], AWS_SECRET_ACCESS_KEY=k['SecretAccessKey'], AWS_SESSION_TOKEN=k['Token'])
    if some(0.4, 'AWS_PROFILE=team'):
        env['AWS_PROFILE'] = 'team'
    for p in ('default', 'team', 'far'):
        if some(0.3, p + ': keys in credentials'):
            creds[p] = static('AKIACREDS' + p.upper())
        if some(0.2, p + ': keys in config'):
            config[p] += static('AKIACONFIG' + p.upper())
        if some(0.2, p + ': program'):
            config[p] += program('ASIAPROGRAM' + p.upper())
    for p in ('default', 'team'):
        if not some(0.35, p + ': role'):
            continue
        config[p] += 'role_arn = arn:aws:iam::1:role/%s\n' % p
        if some(0.4, p + ': external id'):
            config[p] += 'external_id = e/%s+1\n' % p
        if some(0.4, p + ': session name'):
            config[p] += 'role_session_name = named-%s\n' % p
        source = rng.choice(['far', 'far', 'itself', 'team', 'Environment', 'EcsContainer', 'Ec2InstanceMetadata', 'web'])
        what.append(p + ' from ' + source)
        if source == 'web':
            config[p] += 'web_identity_token_file = %s\n' % put('web-' + p, 'ey.J+%s/=' % p)
        elif source in ('Environment', 'EcsContainer', 'Ec2InstanceMetadata'):
            config[p] += 'credential_source = %s\n' % source
        else:
            config[p] += 'source_profile = %s\n' % (p if source == 'itself' else 'far' if source == p else source)
    if some(0.25, 'web identity'):
        env.update(AWS_WEB_IDENTITY_TOKEN_FILE=put('web', 'ey.J.env'), AWS_ROLE_ARN='arn:aws:iam::1:role/env')
        if some(0.5, 'with a name'):
            env['AWS_ROLE_SESSION_NAME'] = 'named-env'
    if some(0.4, 'container'):
        env['AWS_CONTAINER_CREDENTIALS_FULL_URI'] = url + '/creds'
        how = rng.choice(['', 'token', 'file'])
        if how == 'token':
            env['AWS_CONTAINER_AUTHORIZATION_TOKEN'] = 'Basic abc=='
        elif how == 'file':
            env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'] = put('agent', 'Bearer from-a-file')
    if some(0.2, 'no metadata service'):
        env['AWS_EC2_METADATA_DISABLED'] = 'true'
    return env, config, creds, what


def botocores(env, profile=None):
    """What botocore signs with, or the name of its refusal; what it asked."""
    saved = dict(os.environ)
    os.environ.clear()
    os.environ.update(base, AWS_DEFAULT_REGION='us-east-1', AWS_ENDPOINT_URL_STS=url, AWS_EC2_METADATA_SERVICE_ENDPOINT=url + '/', **env)
    try:
        session = botocore.session.Session(profile=profile)
        session.create_client('ec2', endpoint_url=url).describe_instances()
        return None
    except Exception as e:		# every kind of refusal
        return type(e).__name__
    finally:
        os.environ.clear()
        os.environ.update(saved)


def berths(env, profile=None):
    put('berth.yaml', json.dumps({'accounts': [{'name': 'x', 'provider': 'aws', 'regions': 'us-east-1', 'endpoints': {'ec2': url, 'sts': url},
                                                **({'profile': profile} if profile else {})}]}))
    p = subprocess.run([os.environ['TOP_BUILDDIR'] + '/tests/live/prov', home + '/berth.yaml', 'x', 'list'], text=True,
                       env=dict(base, AWS_EC2_METADATA_SERVICE_ENDPOINT=url + '/', **env),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return p.stdout.strip() or None


def write(config, creds):
    put('.aws/config', ''.join('[%s]\n%s' % (p if p == 'default' else 'profile ' + p, text) for p, text in config.items()))
    put('.aws/credentials', ''.join('[%s]\n%s' % x for x in creds.items()))


rng = random.Random(SEED)
signers, refused, sources = set(), 0, {}
for n in range(ROUNDS):
    shutil.rmtree(home + '/.aws', ignore_errors=True)
    env, config, creds, what = draw(rng)
    write(config, creds)
    profile = rng.choice([None, None, None, 'team'])
    asked.clear()
    theirs_error, theirs = botocores(env, profile), list(asked)
    asked.clear()
    ours_error, ours = berths(env, profile), list(asked)
    if theirs_error is not None:		# botocore stops for it or has found nothing: so does berth
        good = ours_error is not None and not any(x[0] == 'signed by' for x in ours if isinstance(x, tuple))
        refused += 1
    else:
        good = ours_error is None and ours == theirs and ours[-1][3]
        signers.add(ours[-1][1] if ours and isinstance(ours[-1], tuple) and len(ours[-1]) > 1 else None)
    for x in what if good else ():
        sources[x] = sources.get(x, 0) + 1
    ok(good, '%d: %s%s' % (n, ', '.join(what) or 'nothing', ' (profile: team)' if profile else ''), 'berth %r' % (ours_error,), *ours,
       'botocore %r' % (theirs_error,), *theirs)
ok(len(signers) >= 12 and refused < ROUNDS / 3, '%d keys signed, %d rounds had none' % (len(signers), refused))
shutil.rmtree(home)
print('1..%d' % (next(count) - 1))
sys.exit(failed)
