#!/usr/bin/env python3
"""
The adapter beside boto3 and botocore's service models. TAP.

(a) berth and boto3 make the same calls to one server: method, path, query, body, the signed headers and their values are
    the same, and botocore's signer makes berth's signature.
(b) Every request of berth is read against the model (an unknown parameter, a wrong type or word is a failure); answers
    are built by the model from a seed; what berth reads of them is what boto3 reads.
"""
import base64
import datetime
import itertools
import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from unittest import mock

import boto3
import botocore.auth
from botocore.config import Config

import aws_model
from aws_peer import serve

NOW = 1795996800  # 2026-11-30T00:00:00Z
CLOCK = datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc)
ID, SECRET, TOKEN = 'AKIDEXAMPLE', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', 'AQoDYXdzEPT//////////wEXAMPLE+token=='
SEEDS = int(os.environ.get('SEEDS', '12'))
count = itertools.count(1)
failed = False


def ok(good, name):
    global failed
    failed |= not good
    print('%sok %d - %s' % ('' if good else 'not ', next(count), name), flush=True)


class Cloud:
    """Keeps the requests; answers as told, by operation: a value, a function of the parameters, or what the model builds."""

    def __init__(self):
        self.requests, self.wrong, self.values, self.built = [], [], {}, {}
        self.server = serve(self.answer)
        self.url = 'http://127.0.0.1:%d' % self.server.server_address[1]

    def answer(self, r):
        self.requests.append(r)
        try:
            service, op, params = aws_model.operation(r)
        except Exception as e:
            self.wrong.append(str(e))
            return 400, {'Content-Type': 'text/xml'}, b'<Response><Errors><Error><Code>InvalidRequest</Code><Message>model</Message></Error></Errors></Response>'
        value = self.values.get(op.name, {})
        if callable(value):
            value = value(params)
        self.built[op.name] = value
        if params.get('DryRun'):
            return 412, {'Content-Type': 'text/xml'}, b'<Response><Errors><Error><Code>DryRunOperation</Code><Message>ok</Message></Error></Errors></Response>'
        return aws_model.answer(service, op, value)

    def take(self):
        out, self.requests = self.requests, []
        return out


cloud = Cloud()
home = tempfile.mkdtemp()
env = {k: v for k, v in os.environ.items() if not k.startswith('AWS_')}
env.update(HOME=home, K=ID, S=SECRET, T=TOKEN, PROV_JSON='1', PROV_NOW=str(NOW), AWS_EC2_METADATA_DISABLED='true')
for k in [k for k in os.environ if k.startswith('AWS_')]:
    del os.environ[k]


def berth(call, more='', token=True, **extra):
    """(objects, text lines) of one call of tests/live/prov."""
    with open(home + '/berth.yaml', 'w') as f:
        f.write('accounts:\n  - {name: x, provider: aws, access_key_id: env:K, secret_access_key: env:S, %sendpoint: "%s"%s}\n'
                % ('session_token: env:T, ' if token else '', cloud.url, ', ' + more if more else ''))
    p = subprocess.run([os.environ['TOP_BUILDDIR'] + '/tests/live/prov', home + '/berth.yaml', 'x'] + call, env=dict(env, **extra),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    lines = p.stdout.decode().splitlines()
    return [json.loads(x) for x in lines if x.startswith('{')], [x for x in lines if not x.startswith('{')]


def client(service, token=TOKEN, region='us-east-1', secret=SECRET, key=ID):
    return boto3.client(service, endpoint_url=cloud.url, region_name=region, aws_access_key_id=key, aws_secret_access_key=secret,
                        aws_session_token=token, config=Config(retries={'max_attempts': 1, 'mode': 'standard'}))


def pinned():
    return mock.patch.object(botocore.auth, 'get_current_datetime', lambda remove_tzinfo=True: CLOCK.replace(tzinfo=None))


def body_of(r):
    if r.body[:1] == b'{':
        return json.loads(r.body)
    return r.form()


def same(name, b, o, secret=SECRET):
    """One request of berth and one of the official client."""
    parts = [('method', b.method, o.method), ('path', b.path, o.path), ('query', b.query, o.query), ('body', body_of(b), body_of(o)),
             ('signed headers', b.signed, o.signed), ('scope', (b.key, b.region, b.service), (o.key, o.region, o.service))]
    parts += [(h, b.headers.get(h), o.headers.get(h)) for h in o.signed]
    bad = ['%s: %r, boto3 %r' % x for x in parts if x[1] != x[2]]
    for line in bad:
        print('#   ' + line)
    ok(not bad, 'the same request as boto3: ' + name)
    if o.signature:
        ok(b.verify(secret), "botocore's signer agrees: " + name)


def differential():
    types = {'InstanceTypes': [{'InstanceType': t, 'VCpuInfo': {'DefaultVCpus': 8}, 'MemoryInfo': {'SizeInMiB': 1024},
                                'GpuInfo': {'Gpus': [{'Name': 'G', 'Count': 1}]},
                                'SupportedUsageClasses': ['on-demand', 'capacity-block'][:1 + (t[0] == 'p')]} for t in ('g5.xlarge', 'p5.48xlarge', 'g4dn.metal')]}
    cloud.values = {'DescribeInstanceTypes': types, 'DescribeRegions': {'Regions': [{'RegionName': 'us-east-1', 'OptInStatus': 'opt-in-not-required'}]},
                    'GetProducts': {'PriceList': []}, 'DescribeSpotPriceHistory': {'SpotPriceHistory': []},
                    'DescribeReservedInstancesOfferings': {'ReservedInstancesOfferings': []},
                    'DescribeCapacityBlockOfferings': {'CapacityBlockOfferings': []},
                    'DescribeSavingsPlansOfferingRates': {'searchResults': []}, 'ListServiceQuotas': {'Quotas': []}}
    patterns = ['p*', 'g*', 'inf*', 'trn*', 'dl*', 'vt*']
    berth(['offers'], 'regions: all, commitments: [reserved, offerings, savings_plans, capacity_blocks], block_length: 48h, spot_score: [g5.xlarge, g6.xlarge]')
    mine = cloud.take()
    ec2 = client('ec2')
    ec2.describe_regions()
    ec2.describe_instance_types(Filters=[{'Name': 'instance-type', 'Values': patterns}], MaxResults=100)
    ec2.get_spot_placement_scores(InstanceTypes=['g5.xlarge', 'g6.xlarge'], TargetCapacity=1, RegionNames=['us-east-1'])
    ec2.describe_spot_price_history(InstanceTypes=['g5.xlarge', 'p5.48xlarge', 'g4dn.metal'], MaxResults=1000, ProductDescriptions=['Linux/UNIX'], StartTime=CLOCK)
    for more in ([('tenancy', 'Shared'), ('regionCode', 'us-east-1')],
                 [('tenancy', 'Dedicated'), ('regionCode', 'us-east-1'), ('productFamily', 'Compute Instance (bare metal)')]):
        client('pricing').get_products(ServiceCode='AmazonEC2', FormatVersion='aws_v1', MaxResults=100, Filters=[
            {'Type': 'TERM_MATCH', 'Field': f, 'Value': v} for f, v in [
                ('operatingSystem', 'Linux'), ('preInstalledSw', 'NA'), ('capacitystatus', 'Used'), ('marketoption', 'OnDemand')] + more])
    ec2.describe_reserved_instances_offerings(IncludeMarketplace=False, ProductDescription='Linux/UNIX', InstanceTenancy='default', MaxResults=100,
                                              Filters=[{'Name': 'instance-type', 'Values': patterns}])
    client('savingsplans').describe_savings_plans_offering_rates(savingsPlanTypes=['Compute', 'EC2Instance'], products=['EC2'], maxResults=1000, filters=[
        {'name': 'region', 'values': ['us-east-1']}, {'name': 'productDescription', 'values': ['Linux/UNIX']}, {'name': 'tenancy', 'values': ['shared']},
        {'name': 'instanceFamily', 'values': ['g5', 'p5', 'g4dn']}])
    ec2.describe_capacity_block_offerings(InstanceType='p5.48xlarge', InstanceCount=1, CapacityDurationHours=48, StartDateRange=CLOCK, MaxResults=100)
    names = ['DescribeRegions', 'DescribeInstanceTypes', 'GetSpotPlacementScores', 'DescribeSpotPriceHistory', 'GetProducts', 'GetProducts, bare metal',
             'DescribeReservedInstancesOfferings', 'DescribeSavingsPlansOfferingRates', 'DescribeCapacityBlockOfferings']
    theirs = cloud.take()
    ok(len(mine) == len(theirs) == len(names), 'offers: %d requests' % len(mine))
    for name, b, o in zip(names, mine, theirs):
        same(name, b, o)

    def tags(kind, token):
        return {'ResourceType': kind, 'Tags': [{'Key': 'berth-installation', 'Value': 'inst'}, {'Key': 'berth-token', 'Value': token},
                                               {'Key': 'Name', 'Value': token}]}

    full = {'IamInstanceProfile': {'Name': 'prof'}, 'KeyName': 'key 1', 'SecurityGroupIds': ['sg-1', 'sg-2'], 'SubnetId': 'subnet-a',
            'BlockDeviceMappings': [{'DeviceName': '/dev/xvda', 'Ebs': {'VolumeSize': 200, 'DeleteOnTermination': True}}]}
    common = {'ImageId': 'ami-1', 'MinCount': 1, 'MaxCount': 1, 'InstanceInitiatedShutdownBehavior': 'terminate', 'InstanceType': 'g5.xlarge'}
    spot = {'InstanceMarketOptions': {'MarketType': 'spot', 'SpotOptions': {'SpotInstanceType': 'one-time', 'InstanceInterruptionBehavior': 'terminate'}}}
    script = '#!/bin/sh\necho "\u00e9 & <x>" +/='
    region = 'regions: us-east-1, image: ami-1'
    calls = [
        ('RunInstances', ['launch', 'tok-1', 'us-east-1', '-', 'g5.xlarge', 'on_demand'], region, {},
         lambda: ec2.run_instances(ClientToken='tok-1', TagSpecifications=[tags('instance', 'tok-1'), tags('volume', 'tok-1')], **common)),
        ('RunInstances, all keys, spot', ['launch', 'tok-2', 'us-east-1', 'us-east-1a', 'g5.xlarge', 'spot'], region + ', ssh_key: key 1, '
         'instance_profile: prof, security_groups: [sg-1, sg-2], subnets: [us-east-1b=subnet-b, us-east-1a=subnet-a], disk_gib: 200, root_device: /dev/xvda',
         {'PROV_USER_DATA': script},
         lambda: ec2.run_instances(ClientToken='tok-2', UserData=script, TagSpecifications=[tags('instance', 'tok-2'), tags('volume', 'tok-2'), tags(
             'spot-instances-request', 'tok-2')], **common, **spot, **full)),
        ('RunInstances in a zone, by a template', ['launch', 'tok-3', 'us-east-1', 'us-east-1c', 'g5.xlarge', 'on_demand'], region + ', launch_template: lt-1', {},
         lambda: ec2.run_instances(ClientToken='tok-3', Placement={'AvailabilityZone': 'us-east-1c'}, LaunchTemplate={
             'LaunchTemplateId': 'lt-1', 'Version': '$Default'}, TagSpecifications=[tags('instance', 'tok-3'), tags('volume', 'tok-3')], **common)),
        ('CreateFleet', ['launch', 'tok-4', 'us-east-1', '-', 'g5.xlarge', 'spot'], 'regions: us-east-1, launch_template: lt-1, subnets: [a=subnet-a, b=subnet-b]', {},
         lambda: ec2.create_fleet(ClientToken='tok-4', Type='instant', SpotOptions={'AllocationStrategy': 'price-capacity-optimized'},
                                  TargetCapacitySpecification={'TotalTargetCapacity': 1, 'DefaultTargetCapacityType': 'spot'},
                                  TagSpecifications=[tags('instance', 'tok-4')], LaunchTemplateConfigs=[{
                                      'LaunchTemplateSpecification': {'LaunchTemplateId': 'lt-1', 'Version': '$Default'}, 'Overrides': [
                                          {'InstanceType': 'g5.xlarge', 'SubnetId': s} for s in ('subnet-a', 'subnet-b')]}])),
        ('DescribeInstances of ours', ['list'], region, {},
         lambda: ec2.describe_instances(Filters=[{'Name': 'tag:berth-installation', 'Values': ['inst']}], MaxResults=1000)),
        ('DescribeInstances of one', ['status', 'us-east-1/i-1'], region, {}, lambda: ec2.describe_instances(InstanceIds=['i-1'])),
        ('TerminateInstances', ['destroy', 'us-east-1/i-1'], region, {}, lambda: ec2.terminate_instances(InstanceIds=['i-1'])),
        ('DescribeSpotInstanceRequests', ['notices'], region, {}, lambda: ec2.describe_spot_instance_requests(MaxResults=1000, Filters=[
            {'Name': 'status-code', 'Values': ['marked-for-termination', 'marked-for-stop']}])),
        ('ListServiceQuotas', ['quota'], region, {}, lambda: client('service-quotas').list_service_quotas(ServiceCode='ec2', MaxResults=100)),
    ]
    for name, call, conf, extra, other in calls:
        berth(call, conf, **extra)
        b = cloud.take()
        other()
        o = cloud.take()
        ok(len(b) >= 1 and len(o) == 1, '%s: %d request' % (name, len(b)))
        if b and o:
            same(name, b[-1], o[0])

    berth(['check'], region)
    b = cloud.take()
    asks = [lambda: ec2.run_instances(DryRun=True, ImageId='ami-1', InstanceType='g4dn.xlarge', MinCount=1, MaxCount=1),
            lambda: ec2.run_instances(DryRun=True, ImageId='ami-1', InstanceType='g4dn.xlarge', MinCount=1, MaxCount=1, InstanceMarketOptions={
                'MarketType': 'spot'}),
            lambda: ec2.describe_instances(DryRun=True), lambda: ec2.describe_instance_types(DryRun=True),
            lambda: ec2.describe_spot_price_history(DryRun=True), lambda: ec2.describe_spot_instance_requests(DryRun=True),
            lambda: client('pricing').get_products(ServiceCode='AmazonEC2', MaxResults=1),
            lambda: client('savingsplans').describe_savings_plans_offering_rates(maxResults=1)]
    for ask in asks:
        try:
            ask()
        except botocore.exceptions.ClientError:
            pass
    o = cloud.take()
    ok(len(b) == len(o) == len(asks), 'questions about permissions: %d' % len(b))
    for i, (x, y) in enumerate(zip(b, o)):
        if i < 2:
            y.body = '&'.join(p for p in y.body.decode().split('&') if not p.startswith('ClientToken=')).encode()   # made up by boto3
        bad = x.method != y.method or x.path != y.path or body_of(x) != body_of(y) or x.signed != y.signed or x.service != y.service
        if bad:
            print('#   %r\n#   boto3 %r' % (body_of(x), body_of(y)))
        ok(not bad and x.verify(SECRET), 'the same request as boto3: question %d' % i)

    until = CLOCK + datetime.timedelta(hours=1)
    cred = {'Credentials': {'AccessKeyId': 'ASIA1', 'SecretAccessKey': 's/1+', 'SessionToken': 'tok', 'Expiration': until}}
    cloud.values.update(AssumeRole=cred, AssumeRoleWithWebIdentity=cred)
    berth(['list'], region + ', role_arn: "arn:aws:iam::1:role/r", external_id: "e/1"')
    b = cloud.take()
    client('sts').assume_role(RoleArn='arn:aws:iam::1:role/r', RoleSessionName='berth', ExternalId='e/1')
    o = cloud.take()
    same('AssumeRole', b[0], o[0])
    ok(b[1].key == 'ASIA1' and b[1].headers['x-amz-security-token'] == 'tok' and b[1].verify('s/1+'), "the role's own keys sign what follows")
    with open(home + '/token', 'w') as f:
        f.write('ey.J+/=\n')
    with open(home + '/berth.yaml', 'w') as f:
        f.write('accounts:\n  - {name: x, provider: aws, regions: us-east-1, endpoint: "%s"}\n' % cloud.url)
    subprocess.run([os.environ['TOP_BUILDDIR'] + '/tests/live/prov', home + '/berth.yaml', 'x', 'list'], stdout=subprocess.DEVNULL, check=False,
                   env=dict(env, AWS_WEB_IDENTITY_TOKEN_FILE=home + '/token', AWS_ROLE_ARN='arn:aws:iam::1:role/web'))
    b = cloud.take()
    client('sts').assume_role_with_web_identity(RoleArn='arn:aws:iam::1:role/web', RoleSessionName='berth', WebIdentityToken='ey.J+/=')
    o = cloud.take()
    same('AssumeRoleWithWebIdentity', b[0], o[0])
    ok(not b[0].signature and b[1].key == 'ASIA1', 'and it is not signed')


# (b)

STATES = {'pending': 'pending', 'running': 'ready', 'shutting-down': 'ending', 'terminated': 'gone', 'stopping': 'ending', 'stopped': 'failed'}


def epoch(t):
    return int(t.timestamp()) if t else 0


def instance(shape, rng, kind=None):
    v = aws_model.build(shape, rng)
    v.update(InstanceId='i-%016x' % rng.getrandbits(60), State={'Code': 0, 'Name': rng.choice(list(STATES))},
             Tags=[{'Key': 'berth-installation', 'Value': 'inst'}, {'Key': 'x', 'Value': rng.choice(aws_model.WORDS)},
                   {'Key': 'berth-token', 'Value': 'tok-%d' % rng.randint(1, 99)}])
    if kind:
        v['InstanceType'] = kind
    for k, net in (('PublicIpAddress', '192.0.2'), ('PrivateIpAddress', '10.0.0')):	# the core takes nothing else for an address
        if k in v:
            v[k] = '%s.%d' % (net, rng.randint(1, 254))
    if rng.random() < 0.3:
        v['StateReason'] = {'Code': 'Server.SpotInstanceTermination', 'Message': 'm'}
    return v


def expect_machine(i, region):
    tags = {t['Key']: t['Value'] for t in i.get('Tags', [])}
    return {'ref': '%s/%s' % (region, i['InstanceId']), 'token': tags['berth-token'], 'installation': 'inst', 'state': STATES[i['State']['Name']],
            'instance_type': i.get('InstanceType', ''), 'region': region, 'zone': i.get('Placement', {}).get('AvailabilityZone', '').strip(),
            'address': (i.get('PublicIpAddress') or i.get('PrivateIpAddress') or '').strip(),
            'purchase': 'spot' if i.get('InstanceLifecycle') == 'spot' else 'on_demand', 'created': epoch(i.get('LaunchTime')),
            'preempted': i.get('StateReason', {}).get('Code', '') in ('Server.SpotInstanceTermination', 'Server.SpotInstanceShutdown')}


def agree(what, got, want):
    bad = [(g, w) for g, w in zip(got, want) if any(g.get(k) != v for k, v in w.items())]
    for g, w in bad[:2]:
        print('#   %s' % {k: (g.get(k), v) for k, v in w.items() if g.get(k) != v})
    if len(got) != len(want):
        print('#   berth %d, boto3 %d' % (len(got), len(want)))
    return not bad and len(got) == len(want)


def machines():
    shape = aws_model.models['ec2'].operation_model('DescribeInstances').output_shape
    item = shape.members['Reservations'].member.members['Instances'].member
    ec2 = client('ec2')
    region = 'regions: us-east-1, image: ami-1'
    good = {'list': 0, 'status': 0, 'create': 0, 'destroy': 0, 'fleet': 0, 'notices': 0}
    for seed in range(SEEDS):
        rng = aws_model.rng(seed)
        value = {'Reservations': [{'ReservationId': 'r', 'Instances': [instance(item, rng) for _ in range(rng.randint(0, 3))]} for _ in range(3)]}
        value['Reservations'][0]['Instances'] += [instance(item, rng)]
        cloud.values = {'DescribeInstances': value}
        got, _ = berth(['list'], region)
        want = [expect_machine(i, 'us-east-1') for r in ec2.describe_instances()['Reservations'] for i in r['Instances']]
        good['list'] += agree('list', got, want)
        one = value['Reservations'][0]['Instances'][0]
        cloud.values = {'DescribeInstances': {'Reservations': [{'Instances': [one]}]}, 'RunInstances': {'Instances': [one]}}
        got, _ = berth(['status', 'us-east-1/' + one['InstanceId']], region)
        want = [expect_machine(i, 'us-east-1') for i in ec2.describe_instances()['Reservations'][0]['Instances']]
        good['status'] += agree('status', got, want)
        spot = one.get('InstanceLifecycle') == 'spot'
        got, _ = berth(['launch', want[0]['token'], 'us-east-1', '-', 'g5.xlarge', 'spot' if spot else 'on_demand'], region)
        good['create'] += agree('create', got, [expect_machine(i, 'us-east-1') for i in ec2.run_instances(MinCount=1, MaxCount=1, ImageId='a')['Instances']])
        now = rng.choice(list(STATES))
        cloud.values = {'TerminateInstances': {'TerminatingInstances': [{'InstanceId': x, 'CurrentState': {'Name': s}} for x, s in (
            ('i-other', 'running'), (one['InstanceId'], now))]}}
        got, _ = berth(['destroy', 'us-east-1/' + one['InstanceId']], region)
        good['destroy'] += agree('destroy', got, [{'ref': 'us-east-1/' + one['InstanceId'], 'state': 'gone' if now == 'terminated' else 'ending'}])
        fleet = aws_model.build(aws_model.models['ec2'].operation_model('CreateFleet').output_shape, rng)
        fleet['Instances'] = [] if rng.random() < 0.5 else [{'InstanceIds': ['i-9'], 'InstanceType': 'g5.xlarge', 'Lifecycle': 'on-demand'}]
        fleet['Errors'] = [{'ErrorCode': rng.choice(['InsufficientInstanceCapacity', 'VcpuLimitExceeded', 'UnauthorizedOperation']), 'ErrorMessage': 'm & n'}]
        cloud.values = {'CreateFleet': fleet}
        got, text = berth(['launch', 't', 'us-east-1', '-', 'g5.xlarge', 'on_demand'], 'regions: us-east-1, launch_template: lt-1, subnets: [a, b]')
        said = ec2.create_fleet(LaunchTemplateConfigs=[{'Overrides': [{'Priority': 1.0}]}], TargetCapacitySpecification={'TotalTargetCapacity': 1})
        code = {'InsufficientInstanceCapacity': 'no_capacity', 'VcpuLimitExceeded': 'quota', 'UnauthorizedOperation': 'auth'}[said['Errors'][0]['ErrorCode']]
        good['fleet'] += (got[0]['ref'] == 'us-east-1/' + said['Instances'][0]['InstanceIds'][0] if said['Instances'] else
                          not got and text[0].startswith('error %s ' % code) and 'm & n' in text[0])
        ask = aws_model.models['ec2'].operation_model('DescribeSpotInstanceRequests').output_shape.members['SpotInstanceRequests'].member
        reqs = []
        for k in range(4):
            q = aws_model.build(ask, rng)
            q.update(InstanceId='i-%d' % k, Status={'Code': rng.choice(['marked-for-termination', 'fulfilled', 'marked-for-stop']),
                                                   'UpdateTime': CLOCK - datetime.timedelta(seconds=k)}, Tags=[{'Key': 'berth-token', 'Value': 't%d' % k}])
            reqs.append(q)
        cloud.values = {'DescribeSpotInstanceRequests': {'SpotInstanceRequests': reqs}}
        got, _ = berth(['notices'], region)
        want = [{'ref': 'us-east-1/' + q['InstanceId'], 'token': q['Tags'][0]['Value'], 'state': 'noticed', 'notice_at': epoch(q['Status']['UpdateTime']),
                 'reclaim_at': epoch(q['Status']['UpdateTime']) + 120} for q in ec2.describe_spot_instance_requests()['SpotInstanceRequests']
                if q['Status']['Code'].startswith('marked-for')]
        good['notices'] += agree('notices', got, want)
    for k, n in good.items():
        ok(n == SEEDS, '%s: berth reads what boto3 reads, %d of %d answers' % (k, n, SEEDS))


def money(x):
    return int((Decimal(str(x)) * 1000000).quantize(Decimal(1), rounding='ROUND_HALF_UP'))


def market_answers(rng, names):
    shape = aws_model.models['ec2'].operation_model('DescribeInstanceTypes').output_shape.members['InstanceTypes'].member
    types = []
    for n in names:
        t = aws_model.build(shape, rng)
        t.update(InstanceType=n, VCpuInfo={'DefaultVCpus': rng.randint(1, 192)}, MemoryInfo={'SizeInMiB': 1024 * rng.randint(1, 2000)})
        t.pop('GpuInfo', None)
        t.pop('NeuronInfo', None)
        t.pop('InferenceAcceleratorInfo', None)
        t.pop('MediaAcceleratorInfo', None)
        device = {'Name': 'dev', 'Count': rng.randint(1, 16), 'Manufacturer': 'm', 'MemoryInfo': {'SizeInMiB': 1024}}
        if n.startswith('trn'):
            t['NeuronInfo'] = {'NeuronDevices': [device]}
        elif n.startswith('inf'):
            t['InferenceAcceleratorInfo'] = {'Accelerators': [device]}
        elif not n.startswith('m5'):
            t['GpuInfo'] = {'Gpus': [device]}
        t['SupportedUsageClasses'] = ['on-demand', 'capacity-block'] if n[0] in 'pt' else ['spot']
        types.append(t)
    when = [CLOCK - datetime.timedelta(hours=rng.randint(1, 900)) for _ in range(60)]
    history = [{'InstanceType': rng.choice(names + ['c5.large']), 'AvailabilityZone': 'us-east-1' + rng.choice('abc'), 'SpotPrice': '%.6f' % (rng.random() * 50 + 0.01),
                'ProductDescription': rng.choice(['Linux/UNIX', 'Windows', 'SUSE Linux', 'Linux/UNIX (Amazon VPC)']), 'Timestamp': t} for t in sorted(set(when))]
    offerings = [{'InstanceType': rng.choice(names), 'ProductDescription': rng.choice(['Linux/UNIX', 'Linux/UNIX (Amazon VPC)', 'Windows']),
                  'Duration': rng.choice([31536000, 94608000, 2592000]), 'FixedPrice': round(rng.random() * 9000, 2), 'UsagePrice': 0.0,
                  'OfferingType': rng.choice(['No Upfront', 'Partial Upfront', 'All Upfront', 'Light Utilization']), 'CurrencyCode': 'USD',
                  'InstanceTenancy': rng.choice(['default', 'dedicated']), 'OfferingClass': rng.choice(['standard', 'convertible']), 'Marketplace': rng.random() < 0.2,
                  'RecurringCharges': [{'Frequency': 'Hourly', 'Amount': round(rng.random() * 9, 4)}]} for _ in range(40)]
    for o in offerings:
        if o['OfferingType'] == 'No Upfront':
            o['FixedPrice'] = 0.0
    rates = [{'savingsPlanOffering': {'paymentOption': rng.choice(['No Upfront', 'Partial Upfront', 'All Upfront']), 'planType': rng.choice(['Compute', 'EC2Instance']),
                                      'durationSeconds': rng.choice([31536000, 94608000]), 'currency': 'USD'}, 'rate': '%.4f' % (rng.random() * 9 + 0.1), 'unit': 'Hrs',
              'properties': [{'name': 'region', 'value': rng.choice(['us-east-1', 'us-east-1', 'us-west-2'])}, {'name': 'instanceType', 'value': rng.choice(names)},
                             {'name': 'productDescription', 'value': rng.choice(['Linux/UNIX', 'Windows'])}, {'name': 'tenancy', 'value': rng.choice(['shared', 'dedicated'])}]}
             for _ in range(40)]
    prices = {n: '%.4f' % (rng.random() * 90 + 0.1) for n in names}
    products = [json.dumps({'product': {'productFamily': 'Compute Instance', 'sku': n, 'attributes': {
        'instanceType': n, 'regionCode': 'us-east-1', 'tenancy': 'Shared', 'operatingSystem': 'Linux', 'preInstalledSw': 'NA', 'capacitystatus': 'Used'}},
        'terms': {'OnDemand': {n + '.T': {'effectiveDate': '2026-01-01T00:00:00Z', 'priceDimensions': {'d': {
            'unit': 'Hrs', 'beginRange': '0', 'pricePerUnit': {'USD': p}}}}}}}) for n, p in prices.items()]

    block = aws_model.models['ec2'].operation_model('DescribeCapacityBlockOfferings').output_shape.members['CapacityBlockOfferings'].member
    blocks = {}
    for n in names:
        blocks[n] = []
        for _ in range(6):
            b = aws_model.build(block, rng)
            start = CLOCK + datetime.timedelta(hours=rng.randint(1, 400))
            b.update(InstanceType=n, InstanceCount=rng.choice([1, 1, 2]), StartDate=start, EndDate=start + datetime.timedelta(hours=rng.choice([24, 48])),
                     UpfrontFee='%.2f' % (rng.random() * 9000 + 1), CurrencyCode='USD', Tenancy=rng.choice(['default', 'default', 'dedicated']),
                     AvailabilityZone='us-east-1' + rng.choice('ab'))
            blocks[n].append(b)

    def pages(name, rows, params_key='NextToken'):
        """Three pages, whose tokens are awkward ones."""
        cut = [rows[:len(rows) // 3], rows[len(rows) // 3:2 * len(rows) // 3], rows[2 * len(rows) // 3:]]

        def page(params):
            n = {'': 0, 'a/b+c=': 1, 'x y&z': 2}[params.get(params_key) or '']
            return dict({name: cut[n]}, **({params_key: ('a/b+c=', 'x y&z')[n]} if n < 2 else {}))
        return page
    def by_type(params):
        return pages('CapacityBlockOfferings', blocks[params['InstanceType']])(params)
    return prices, {'DescribeCapacityBlockOfferings': by_type, 'DescribeInstanceTypes': pages('InstanceTypes', types), 'DescribeSpotPriceHistory': pages('SpotPriceHistory', history),
                    'DescribeReservedInstancesOfferings': pages('ReservedInstancesOfferings', offerings), 'GetProducts': pages('PriceList', products),
                    'DescribeSavingsPlansOfferingRates': pages('searchResults', rates, 'nextToken')}


def hours(months):
    return 730 * months


def market():
    names = ['g5.xlarge', 'p5.48xlarge', 'trn1.32xlarge', 'inf1.xlarge', 'g4dn.12xlarge', 'm5.large']
    ec2, plans = client('ec2'), client('savingsplans')
    good = {'types and prices': 0, 'spot prices': 0, 'commitments': 0, 'capacity blocks': 0, 'quotas': 0}
    payments = {'No Upfront': 'none', 'Partial Upfront': 'partial', 'All Upfront': 'all'}
    for seed in range(SEEDS):
        rng = aws_model.rng(1000 + seed)
        prices, cloud.values = market_answers(rng, names)
        got, text = berth(['offers'], 'regions: us-east-1, commitments: [offerings, savings_plans, capacity_blocks]')
        if text:
            print('#   ' + text[0])
        devices = {}
        for t in ec2.get_paginator('describe_instance_types').paginate().build_full_result()['InstanceTypes']:
            d = t.get('GpuInfo', {}).get('Gpus') or t.get('NeuronInfo', {}).get('NeuronDevices') or t.get('InferenceAcceleratorInfo', {}).get('Accelerators')
            if d:
                devices[t['InstanceType']] = (d[0]['Count'], t['VCpuInfo']['DefaultVCpus'], t['MemoryInfo']['SizeInMiB'] / 1024)
        od = {o['instance_type']: o for o in got if o['purchase'] == 'on_demand'}
        good['types and prices'] += set(od) == set(devices) and all(
            (o['count'], o['vcpus'], o['memory_gib'], money(o['price']), o['known']) == devices[n] + (money(prices[n]), True) for n, o in od.items())
        last = {}
        for h in ec2.get_paginator('describe_spot_price_history').paginate().build_full_result()['SpotPriceHistory']:
            key = (h['InstanceType'], h['AvailabilityZone'])
            if h['InstanceType'] in devices and h['ProductDescription'].startswith('Linux/UNIX') and (
                    key not in last or h['Timestamp'] > last[key]['Timestamp']):
                last[key] = h
        spot = {(o['instance_type'], o['zone']): (money(o['price']), o['as_of']) for o in got if o['purchase'] == 'spot'}
        good['spot prices'] += spot == {k: (money(h['SpotPrice']), NOW) for k, h in last.items()}
        best = {}

        def offer(key, upfront, hourly):
            hour = (upfront / hours(key[1]) + hourly, upfront, hourly)
            if key not in best or hour[0] < best[key][0] - 1e-9:
                best[key] = hour

        for o in ec2.get_paginator('describe_reserved_instances_offerings').paginate().build_full_result()['ReservedInstancesOfferings']:
            months = {31536000: 12, 94608000: 36}.get(o['Duration'])
            if (o['InstanceType'] in devices and months and o['OfferingType'] in payments and o['ProductDescription'].startswith('Linux') and
                    o['InstanceTenancy'] == 'default' and not o['Marketplace']):
                offer((o['InstanceType'], months, payments[o['OfferingType']]), o['FixedPrice'], o['RecurringCharges'][0]['Amount'])
        token = None
        while True:
            r = plans.describe_savings_plans_offering_rates(**({'nextToken': token} if token else {}))
            for x in r['searchResults']:
                p, s = {y['name']: y['value'] for y in x['properties']}, x['savingsPlanOffering']
                if p['region'] == 'us-east-1' and p['productDescription'] == 'Linux/UNIX' and p['tenancy'] == 'shared' and p['instanceType'] in devices:
                    months, rate = {31536000: 12, 94608000: 36}[s['durationSeconds']], float(x['rate'])
                    part = {'No Upfront': 0, 'Partial Upfront': 0.5, 'All Upfront': 1}[s['paymentOption']]
                    offer((p['instanceType'], months, payments[s['paymentOption']]), rate * part * hours(months), rate * (1 - part))
            token = r.get('nextToken')
            if not token:
                break
        mine = {(o['instance_type'], o['term_months'], o['payment']): (o['upfront'] / hours(o['term_months']) + o['price'], o['upfront'], o['price'])
                for o in got if o['purchase'] == 'reserved' and o['kind'] == 'plain'}
        want = {}
        for n in [t for t in devices if t[0] in 'pt']:
            token = {}
            while True:
                r = ec2.describe_capacity_block_offerings(InstanceType=n, CapacityDurationHours=24, **token)
                for b in r['CapacityBlockOfferings']:
                    if b['InstanceCount'] == 1 and b['Tenancy'] != 'dedicated':
                        key = (n, b['AvailabilityZone'], epoch(b['StartDate']), epoch(b['EndDate']))
                        want[key] = min(want.get(key, 1 << 60), money(b['UpfrontFee']))
                if not r.get('NextToken'):
                    break
                token = {'NextToken': r['NextToken']}
        blocks = {(o['instance_type'], o['zone'], o['starts_at'], o['ends_at']): money(o['upfront']) for o in got if o['kind'] == 'block'}
        good['capacity blocks'] += blocks == want and len(want) > 0
        right = set(mine) == set(best) and all(abs(a - b) < 2e-2 for k in mine for a, b in zip(mine[k], best[k]))
        if not right:
            print('#   ', sorted(set(mine) ^ set(best))[:3], [(k, mine[k], best[k]) for k in set(mine) & set(best) if abs(mine[k][0] - best[k][0]) > 1e-5][:2])
        good['commitments'] += right
        quotas = [{'QuotaCode': 'L-%d' % k, 'QuotaName': rng.choice(['Running On-Demand P instances', 'All Trn Spot Instance Requests', 'EIPs']),
                   'Value': float(rng.randint(0, 4000))} for k in range(9)]
        cloud.values['ListServiceQuotas'] = {'Quotas': quotas}
        _, lines = berth(['quota'], 'regions: us-east-1')
        said = client('service-quotas').list_service_quotas(ServiceCode='ec2')['Quotas']
        good['quotas'] += lines == ['us-east-1|%s %s|vcpu|%g|nan' % (q['QuotaCode'], q['QuotaName'], q['Value']) for q in said if q['QuotaName'] != 'EIPs']
    for k, n in good.items():
        ok(n == SEEDS, '%s: berth reads what boto3 reads, %d of %d answers' % (k, n, SEEDS))


with pinned():
    differential()
machines()
market()
for line in cloud.wrong[:5]:
    print('#   ' + line.replace('\n', ' '))
ok(not cloud.wrong, 'every request fits the service model')
for name in os.listdir(home):
    os.unlink(os.path.join(home, name))
os.rmdir(home)
print('1..%d' % (next(count) - 1))
sys.exit(failed)
