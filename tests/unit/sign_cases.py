#!/usr/bin/env python3
"""Makes tests/unit/sign_cases.json: requests as berth sends them, signed by each cloud's official client from PyPI.

  python3 -m venv v && v/bin/pip install boto3 tencentcloud-sdk-python-common alibabacloud_openapi_util \
      huaweicloudsdkcore oci PyJWT cryptography
  v/bin/python tests/unit/sign_cases.py >tests/unit/sign_cases.json

Every case: scheme, name, key id and secret, clock, the request (method, url, headers, body) and the headers that the client
added. The RSA key is made anew at each run and opens nothing.
"""
import datetime
import json
import sys
import time
from unittest import mock
from urllib.parse import quote

NOW = 1795996800  # 2026-11-30T00:00:00Z
ID, SECRET, TOKEN = 'AKIDEXAMPLE', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', 'AQoDYXdzEPT//////////wEXAMPLE+token=='
FORM = 'application/x-www-form-urlencoded; charset=utf-8'
RUN = ('Action=RunInstances&Version=2016-11-15&InstanceType=p5.48xlarge&MinCount=1&MaxCount=1&ClientToken=tok-1'
       '&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=berth%3Atoken&TagSpecification.1.Tag.1.Value=tok-1')


def aws():
    import botocore.auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    def case(name, service, region, method, url, headers=None, body='', token=None, params=None, expires=None):
        req = AWSRequest(method=method, url=url, headers=headers or {}, data=body, params=params or {})
        cred = Credentials(ID, SECRET, token)
        clock = datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc)
        with mock.patch.object(botocore.auth, 'get_current_datetime', lambda **kw: clock.replace(tzinfo=None)):
            if expires:
                botocore.auth.SigV4QueryAuth(cred, service, region, expires).add_auth(req)
                added = {'url': req.url}
            else:
                botocore.auth.SigV4Auth(cred, service, region).add_auth(req)
                added = {k: req.headers[k] for k in ('X-Amz-Date', 'X-Amz-Security-Token', 'Authorization') if k in req.headers}
        if params:
            url += '?' + '&'.join('%s=%s' % (quote(k, safe='~'), quote(v, safe='~')) for k, v in params.items())
        return dict(scheme='v4', name=name, service=service, region=region, token=token, expires=expires,
                    method=method, url=url, headers=headers or {}, body=body, added=added)

    query = [('Action', 'DescribeSpotPriceHistory'), ('ProductDescription.1', 'Linux/UNIX (Amazon VPC)'), ('DryRun', ''),
             ('a-b', '1'), ('a', '2'), ('q', '~x y+z*'), ('n', 'caf\u00e9')]
    json11 = {'Content-Type': 'application/x-amz-json-1.1', 'X-Amz-Target': 'AWSPriceListService.GetProducts'}
    yield case('run instances', 'ec2', 'us-east-1', 'POST', 'https://ec2.us-east-1.amazonaws.com/', {'Content-Type': FORM}, RUN)
    yield case('run instances, temporary keys', 'ec2', 'cn-north-1', 'POST', 'https://ec2.cn-north-1.amazonaws.com.cn/',
               {'Content-Type': FORM}, RUN, TOKEN)
    yield case('an endpoint with a port', 'ec2', 'us-east-1', 'POST', 'http://127.0.0.1:5555/', {'Content-Type': FORM}, RUN)
    yield case('a query', 'ec2', 'us-east-1', 'GET', 'https://ec2.us-east-1.amazonaws.com/', params=dict(query))
    yield case('prices', 'pricing', 'us-east-1', 'POST', 'https://api.pricing.us-east-1.amazonaws.com/', json11,
               '{"ServiceCode":"AmazonEC2","MaxResults":100}', TOKEN)
    yield case('savings plans', 'savingsplans', 'us-east-1', 'POST', 'https://savingsplans.amazonaws.com/DescribeSavingsPlansOfferingRates',
               {'Content-Type': 'application/json'}, '{"products":["EC2"]}')
    yield case('a signed URL', 'sts', 'eu-west-1', 'GET', 'https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15',
               expires=60)
    yield case('a signed URL, temporary keys', 'sts', 'eu-west-1', 'GET',
               'https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15', token=TOKEN, expires=900)


def tencent():
    from tencentcloud.common import credential
    from tencentcloud.common.abstract_client import AbstractClient
    from tencentcloud.common.http.request import RequestInternal

    for name, action, params, token in (('describe, no body', 'DescribeZoneInstanceConfigInfos', {}, None),
                                        ('run, temporary keys', 'RunInstances', {'InstanceCount': 1, 'ClientToken': 'tok-1', 'InstanceName': '\u672a'}, TOKEN)):
        class Client(AbstractClient):
            _apiVersion, _endpoint, _service = '2017-03-12', 'cvm.tencentcloudapi.com', 'cvm'
        c = Client(credential.Credential(ID, SECRET, token), 'ap-guangzhou', None)
        req = RequestInternal('cvm.tencentcloudapi.com', 'POST', '/', {}, '')
        with mock.patch.object(time, 'time', lambda: NOW):
            c._build_req_with_tc3_signature(action, params, req)
        keep = ('Content-Type', 'X-TC-Action', 'X-TC-Version', 'X-TC-Region')
        yield dict(scheme='tc3', name=name, service='cvm', token=token, method='POST', url='https://cvm.tencentcloudapi.com/',
                   headers={k: req.header[k] for k in keep}, body=req.data,
                   added={k: req.header[k] for k in ('X-TC-Timestamp', 'X-TC-Token', 'Authorization') if k in req.header})


def alibaba():
    import hashlib
    from alibabacloud_openapi_util.client import Client
    from Tea.request import TeaRequest

    for name, query, token in (('describe', {'RegionId': 'cn-hangzhou', 'InstanceType': 'ecs.gn7i-c8g1.2xlarge', 'Empty': ''}, None),
                               ('run, temporary keys', {'RegionId': 'ap-southeast-1', 'Tag.1.Value': 'a b*c~d+e/\u672a', 'Amount': '1'}, TOKEN)):
        r = TeaRequest()
        r.method, r.pathname, r.query = 'POST', '/', query
        given = {'x-acs-action': 'RunInstances', 'x-acs-version': '2014-05-26'}
        added = {'x-acs-date': '2026-11-30T00:00:00Z', 'x-acs-signature-nonce': 'nonce-1',
                 'x-acs-content-sha256': hashlib.sha256(b'').hexdigest()}
        if token:
            added['x-acs-security-token'] = token
        r.headers = dict(given, host='ecs.%s.aliyuncs.com' % query['RegionId'], **added)
        added['Authorization'] = Client.get_authorization(r, 'ACS3-HMAC-SHA256', added['x-acs-content-sha256'], ID, SECRET)
        url = 'https://%s/?%s' % (r.headers['host'], '&'.join('%s=%s' % (quote(k, safe=''), quote(v, safe='')) for k, v in query.items()))
        yield dict(scheme='acs3', name=name, token=token, nonce='nonce-1', method='POST', url=url, headers=given, body='', added=added)


def huawei():
    from huaweicloudsdkcore.auth.credentials import BasicCredentials
    from huaweicloudsdkcore.sdk_request import SdkRequest
    from huaweicloudsdkcore.signer.signer import DerivationAKSKSigner, Signer

    for name, method, path, query, body, region in (
            ('flavours', 'GET', '/v1/0123/cloudservers/flavors', [('limit', '100'), ('availability_zone', 'a b*')], '', None),
            ('create', 'POST', '/v1/0123/cloudservers', [], '{"server":{"count":1}}', None),
            ('create, derived key', 'POST', '/v1/0123/cloudservers', [], '{"server":{"count":1}}', 'cn-north-4')):
        given = {'Content-Type': 'application/json', 'X-Project-Id': '0123'}
        r = SdkRequest(method, 'https', 'ecs.cn-north-4.myhuaweicloud.com', path, None, query,
                       dict(given, **{'X-Sdk-Date': '20261130T000000Z'}), body)
        cred = BasicCredentials(ID, SECRET, '0123')
        if region:
            DerivationAKSKSigner(cred).sign(r, 'ecs', region)
        else:
            Signer(cred).sign(r)
        yield dict(scheme='sdk', name=name, token=None, method=method, url='https://ecs.cn-north-4.myhuaweicloud.com' + r.uri, region=region,
                   service='ecs' if region else None, headers=given, body=body,
                   added={k: r.header_params[k] for k in ('X-Sdk-Date', 'Authorization')})


def oracle(pem):
    import oci.signer
    import requests

    date = 'Mon, 30 Nov 2026 00:00:00 GMT'
    s = oci.signer.Signer('ocid1.tenancy.oc1..a', 'ocid1.user.oc1..b', '20:3b', None, private_key_content=pem)
    for name, method, url, body in (('shapes', 'GET', 'https://iaas.eu-frankfurt-1.oraclecloud.com/20160918/shapes?compartmentId=c%2Fd&limit=100', ''),
                                    ('launch', 'POST', 'https://iaas.eu-frankfurt-1.oraclecloud.com/20160918/instances/', '{"shape":"BM.GPU.H100.8"}')):
        given = {'Content-Type': 'application/json'} if body else {}
        p = requests.Request(method, url, headers=dict(given, date=date), data=body or None).prepare()
        s.do_request_sign(p)
        added = {'Date': date, 'Authorization': p.headers['authorization']}
        if body:
            added['X-Content-SHA256'] = p.headers['x-content-sha256']
        yield dict(scheme='oci', name=name, key_id='ocid1.tenancy.oc1..a/ocid1.user.oc1..b/20:3b', token=None, method=method, url=url,
                   headers=given, body=body, added=added)


def token(pem):
    import base64
    import jwt

    text = jwt.encode({'iss': 'berth@example.invalid', 'scope': 'https://www.googleapis.com/auth/cloud-platform', 'iat': NOW, 'exp': NOW + 3600},
                      pem, algorithm='RS256', headers={'kid': 'k1'})
    part = [base64.urlsafe_b64decode(p + '=' * (-len(p) % 4)).decode() for p in text.split('.')[:2]]
    yield dict(scheme='jwt', name='service account', header=part[0], claims=part[1], jwt=text)


def main():
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    pem = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    cases = [c for make in (aws, tencent, alibaba, huawei) for c in make()] + list(oracle(pem)) + list(token(pem))
    json.dump({'now': NOW, 'id': ID, 'secret': SECRET, 'private_key': pem, 'cases': cases}, sys.stdout, indent=1)
    sys.stdout.write('\n')


main()
