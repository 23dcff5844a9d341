#!/usr/bin/env python3
"""The test's own hand on moto: aws_moto.py setup URL | count URL ID SECRET."""
import json
import sys

import boto3


def client(service, url, key='free', secret='free'):
    return boto3.client(service, endpoint_url=url, region_name='us-east-1', aws_access_key_id=key, aws_secret_access_key=secret)


def setup(url):
    """Three calls without a signature make a user; every later one is checked."""
    iam = client('iam', url)
    iam.create_user(UserName='berth')
    iam.put_user_policy(UserName='berth', PolicyName='ec2', PolicyDocument=json.dumps({'Version': '2012-10-17', 'Statement': [
        {'Effect': 'Allow', 'Action': ['ec2:*', 'pricing:*', 'servicequotas:*', 'savingsplans:*', 'sts:*', 'iam:*'], 'Resource': '*'}]}))
    key = iam.create_access_key(UserName='berth')['AccessKey']
    ec2 = client('ec2', url, key['AccessKeyId'], key['SecretAccessKey'])
    image = ec2.describe_images(Owners=['amazon'])['Images'][0]['ImageId']
    subnets = ec2.describe_subnets()['Subnets'][:2]
    lt = ec2.create_launch_template(LaunchTemplateName='berth', LaunchTemplateData={'ImageId': image})['LaunchTemplate']['LaunchTemplateId']
    print(key['AccessKeyId'], key['SecretAccessKey'], image, lt, ' '.join('%s=%s' % (s['AvailabilityZone'], s['SubnetId']) for s in subnets))


def count(url, key, secret):
    ec2 = client('ec2', url, key, secret)
    up = [i for r in ec2.describe_instances()['Reservations'] for i in r['Instances'] if i['State']['Name'] in ('pending', 'running')]
    tags = [{t['Key']: t['Value'] for t in i.get('Tags', [])} for i in up]
    print(len(up), ' '.join(sorted('%s/%s' % (t.get('berth-installation'), t.get('berth-token')) for t in tags)))


{'setup': setup, 'count': count}[sys.argv[1]](*sys.argv[2:])
