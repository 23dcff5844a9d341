#!/usr/bin/env python3
"""EC2 with what moto lacks: tokens, capacity, quotas, throttling, delays, lost answers; prices, quotas, the bulk list.

  aws_fake.py PORT SECRETS [CLOCK-OFFSET]

Every signature is checked with botocore; SECRETS is a file of lines "ID SECRET". By instance type: g5.xlarge one machine, then no capacity (a 500); p4d.24xlarge
none ever; p5.48xlarge over the vCPU quota; g6.xlarge asked as spot comes as a plain machine; g4dn.xlarge is made, and the
answer to the first create is lost. A new machine is "not found" twice. Each action is throttled once. GET /count tells
machines up, machines made, creates and distinct tokens.
"""
import calendar
import email.utils
import json
import sys
import threading
import time

from aws_peer import serve

port, secrets, offset = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0
lock = threading.Lock()
machines, tokens, throttled, hidden = {}, {}, set(), {}
creates = 0


def xml(action, inside, status=200):
    return status, {'Content-Type': 'text/xml', 'Date': email.utils.formatdate(time.time() + offset, usegmt=True)}, (
        '<?xml version="1.0" encoding="UTF-8"?>\n<%sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">%s</%sResponse>'
        % (action, inside, action)).encode()


def refuse(status, code, text='refused'):
    return xml('', '<Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors>' % (code, text), status)


def js(value, status=200):
    return status, {'Content-Type': 'application/x-amz-json-1.1', 'Date': email.utils.formatdate(time.time() + offset, usegmt=True)}, \
        json.dumps(value).encode()


def item(m):
    return ('<item><instanceId>%(id)s</instanceId><instanceType>%(type)s</instanceType><instanceState><name>%(state)s</name></instanceState>'
            '<launchTime>2026-11-30T00:00:00.000Z</launchTime><placement><availabilityZone>us-east-1a</availabilityZone></placement>'
            '<ipAddress>192.0.2.1</ipAddress><tagSet>%(tags)s</tagSet></item>') % m


def run(f):
    global creates
    token, kind = f['ClientToken'], f['InstanceType']
    asked = {k: v for k, v in f.items() if k != 'ClientToken'}
    creates += 1
    if token in tokens:
        was, mid = tokens[token]
        if was != asked:
            return refuse(400, 'IdempotentParameterMismatch')
        if mid:
            return xml('RunInstances', '<instancesSet>%s</instancesSet>' % item(machines[mid]))
    tokens[token] = (asked, None)
    if kind == 'p5.48xlarge':
        return refuse(400, 'VcpuLimitExceeded')
    if kind == 'p4d.24xlarge' or (kind == 'g5.xlarge' and any(m['type'] == kind and m['state'] != 'terminated' for m in machines.values())):
        return refuse(500, 'InsufficientInstanceCapacity')
    mid = 'i-%017x' % (len(machines) + 1)
    tags = ''.join('<item><key>%s</key><value>%s</value></item>' % (f['TagSpecification.1.Tag.%d.Key' % i], f['TagSpecification.1.Tag.%d.Value' % i])
                   for i in (1, 2, 3))
    machines[mid] = {'id': mid, 'type': kind, 'state': 'running', 'tags': tags}
    hidden[mid] = 2
    tokens[token] = (asked, mid)
    if kind == 'g4dn.xlarge' and creates % 2:
        return None
    return xml('RunInstances', '<instancesSet>%s</instancesSet>' % item(machines[mid]))


def describe(f):
    mid = f.get('InstanceId.1')
    if mid:
        if mid not in machines or hidden[mid] > 0:
            hidden[mid] = hidden.get(mid, 0) - 1
            return refuse(400, 'InvalidInstanceID.NotFound')
        found = [machines[mid]]
    else:
        want = '<key>berth-installation</key><value>%s</value>' % f['Filter.1.Value.1']
        found = [m for m in machines.values() if want in m['tags']]
    page = int(f.get('NextToken') or 0)
    more = '' if mid or page + 1 >= len(found) else '<nextToken>%d</nextToken>' % (page + 1)
    return xml('DescribeInstances', '<reservationSet>%s</reservationSet>%s' % (''.join(
        '<item><instancesSet>%s</instancesSet></item>' % item(m) for m in found[page:page + 1]), more))


def terminate(f):
    m = machines.get(f['InstanceId.1'])
    if not m:
        return refuse(400, 'InvalidInstanceID.NotFound')
    m['state'] = 'terminated'
    return xml('TerminateInstances', '<instancesSet><item><instanceId>%s</instanceId><currentState><name>shutting-down</name></currentState>'
               '</item></instancesSet>' % m['id'])


def product(sku, kind, gpu, usd, family='Compute Instance', **more):
    attr = dict({'instanceType': kind, 'regionCode': 'us-east-1', 'tenancy': 'Shared', 'operatingSystem': 'Linux', 'preInstalledSw': 'NA',
                 'capacitystatus': 'Used', 'marketoption': 'OnDemand', 'gpu': gpu, 'vcpu': '96', 'memory': '1152 GiB'}, **more)
    return ({'productFamily': family, 'sku': sku, 'attributes': attr},
            {sku + '.T': {'effectiveDate': '2026-01-01T00:00:00Z', 'priceDimensions': {'d': {
                'unit': 'Hrs', 'beginRange': '0', 'pricePerUnit': {'USD': usd}}}}})


PRODUCTS = [product('A', 'p4d.24xlarge', '8', '21.957642'), product('B', 'g5.xlarge', '1', '1.006'), product('C', 'g4dn.xlarge', '1', '0.526'),
            product('D', 'g4dn.xlarge', '1', '0.558', tenancy='Dedicated'), product('E', 'p4d.24xlarge', '8', '0.00', capacitystatus='AllocatedCapacityReservation'),
            product('F', 'g5.xlarge', '1', '1.19', operatingSystem='Windows'), product('G', 'p5.48xlarge', '8', '55.04'), product('H', 'g6.xlarge', '1', '0.8048'),
            product('I', 'g6.xlarge', '1', '3.1', preInstalledSw='SQL Ent'),
            product('M', 'g4dn.metal', '8', '7.824', 'Compute Instance (bare metal)', tenancy='Dedicated')]


def bulk_csv():
    attrs = [('instanceType', 'Instance Type'), ('regionCode', 'Region Code'), ('tenancy', 'Tenancy'), ('operatingSystem', 'Operating System'),
             ('preInstalledSw', 'Pre Installed S/W'), ('capacitystatus', 'CapacityStatus'), ('marketoption', 'MarketOption'), ('gpu', 'GPU'),
             ('vcpu', 'vCPU'), ('memory', 'Memory')]
    rows = [['FormatVersion', 'v1.0'], ['Disclaimer', 'For "information" only, see the pages'], ['Publication Date', '2026-11-20'], ['Version', '1'],
            ['OfferCode', 'AmazonEC2'], ['SKU', 'OfferTermCode', 'TermType', 'EffectiveDate', 'StartingRange', 'Unit', 'PricePerUnit', 'Currency',
                                         'Product Family', 'Location'] + [c for _, c in attrs]]
    for p, t in PRODUCTS:
        usd = t[p['sku'] + '.T']['priceDimensions']['d']['pricePerUnit']['USD']
        rows.append([p['sku'], 'T', 'OnDemand', '2026-01-01', '0', 'Hrs', usd, 'USD', p['productFamily'], 'US East (N. Virginia)'] +
                    [p['attributes'][a] for a, _ in attrs])
    return '\n'.join(','.join('"%s"' % c.replace('"', '""') for c in r) for r in rows).encode() + b'\n'


def types(f):
    out = ''.join('<item><instanceType>%s</instanceType><vCpuInfo><defaultVCpus>%s</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>%d</sizeInMiB>'
                  '</memoryInfo><gpuInfo><gpus><item><name>G</name><count>%s</count><memoryInfo><sizeInMiB>1</sizeInMiB></memoryInfo></item></gpus>'
                  '</gpuInfo></item>' % (p['attributes']['instanceType'], p['attributes']['vcpu'], 1152 * 1024, p['attributes']['gpu'])
                  for p, _ in PRODUCTS if p['sku'] in 'ABCGHM')
    return xml('DescribeInstanceTypes', '<instanceTypeSet>%s</instanceTypeSet>' % out)


def spot(f):
    return xml('DescribeSpotPriceHistory', '<spotPriceHistorySet>%s</spotPriceHistorySet>' % ''.join(
        '<item><instanceType>%s.xlarge</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>%s</spotPrice><timestamp>'
        '%s</timestamp><availabilityZone>us-east-1%s</availabilityZone></item>' % x for x in (
            ('g6', '0.30', '2026-11-10T00:00:00.000Z', 'a'), ('g6', '0.29', '2026-11-01T00:00:00.000Z', 'a'),
            ('g6', '0.35', '2026-11-30T00:00:00.000Z', 'b'), ('g5', '0.40', '2026-11-30T00:00:00.000Z', 'a'))))


def notices(f):
    ours = ''.join('<item><instanceId>%s</instanceId><status><code>marked-for-termination</code><updateTime>2026-11-30T00:00:00.000Z'
                   '</updateTime></status></item>' % m['id'] for m in machines.values() if m['type'] == 'g5.xlarge')
    return xml('DescribeSpotInstanceRequests', '<spotInstanceRequestSet><item><instanceId>i-5</instanceId><status><code>marked-for-termination'
               '</code><updateTime>2026-11-30T00:00:00.000Z</updateTime><message>soon</message></status><tagSet><item><key>berth-token</key>'
               '<value>t5</value></item></tagSet></item><item><instanceId>i-6</instanceId><status><code>fulfilled</code></status></item>'
               '%s</spotInstanceRequestSet>' % ours)


ACTIONS = {'RunInstances': run, 'DescribeInstances': describe, 'TerminateInstances': terminate, 'DescribeInstanceTypes': types,
           'DescribeSpotPriceHistory': spot, 'DescribeSpotInstanceRequests': notices}


def target(r, name):
    body = json.loads(r.body)
    page = int(body.get('NextToken') or 0)
    if name.endswith('GetProducts'):
        some = [p for p in PRODUCTS if all(p[0]['attributes'].get(x['Field'], p[0].get(x['Field'])) == x['Value'] for x in body.get('Filters', []))]
        out = {'PriceList': [json.dumps({'product': p, 'terms': {'OnDemand': t}}) for p, t in some[2 * page:2 * page + 2]]}
        if 2 * page + 2 < len(some):
            out['NextToken'] = str(page + 1)
        return js(out)
    if name.endswith('ListServiceQuotas'):
        all_ = [{'QuotaCode': 'L-417A185B', 'QuotaName': 'Running On-Demand P instances', 'Value': 192.0},
                {'QuotaCode': 'L-0263D0A3', 'QuotaName': 'EC2-VPC Elastic IPs', 'Value': 5.0},
                {'QuotaCode': 'L-3819A6DF', 'QuotaName': 'All G and VT Spot Instance Requests', 'Value': 64.0}]
        return js(dict({'Quotas': all_[page:page + 1]}, **({'NextToken': str(page + 1)} if page < 2 else {})))
    return js({'__type': 'UnknownOperationException'}, 400)


def answer(r):
    with lock:
        if r.path == '/count':
            up = [m for m in machines.values() if m['state'] != 'terminated']
            return js({'up': len(up), 'made': len(machines), 'creates': creates, 'tokens': len(tokens)})
        if r.path.endswith('/index.csv'):
            return 200, {'Content-Type': 'text/csv'}, bulk_csv()
        if r.path.endswith('/index.json'):
            return js({'formatVersion': 'v1.0', 'terms': {'OnDemand': {p['sku']: t for p, t in PRODUCTS}}, 'products': {p['sku']: p for p, _ in PRODUCTS}})
        if r.path == '/spot-advisor-data.json':
            return js({'spot_advisor': {'us-east-1': {'Linux': {'g6.xlarge': {'s': 60, 'r': 1}, 'g5.xlarge': {'s': 60, 'r': 4}}}}})
        with open(secrets) as known:
            mine = dict(line.split() for line in known)
        if r.key not in mine or not r.verify(mine[r.key]):
            return refuse(403, 'SignatureDoesNotMatch')
        sent = calendar.timegm(time.strptime(r.headers['x-amz-date'], '%Y%m%dT%H%M%SZ'))
        if abs(sent - time.time() - offset) > 300:
            return refuse(400, 'RequestExpired')
        if 'x-amz-target' in r.headers:
            return target(r, r.headers['x-amz-target'])
        if r.path == '/DescribeSavingsPlansOfferingRates':
            return js({'searchResults': [{'savingsPlanOffering': {'paymentOption': 'All Upfront', 'planType': 'Compute', 'durationSeconds': 94608000,
                                                                 'currency': 'USD'}, 'rate': '0.4', 'unit': 'Hrs', 'properties': [
                {'name': 'region', 'value': 'us-east-1'}, {'name': 'instanceType', 'value': 'g6.xlarge'},
                {'name': 'productDescription', 'value': 'Linux/UNIX'}, {'name': 'tenancy', 'value': 'shared'}]}]})
        f = r.form()
        act = ACTIONS.get(f.get('Action'))
        if act is None:
            return refuse(400, 'InvalidAction')
        if f['Action'] not in throttled:
            throttled.add(f['Action'])
            return refuse(503, 'RequestLimitExceeded')
        return refuse(412, 'DryRunOperation') if f.get('DryRun') == 'true' else act(f)


serve(answer, port)
while True:
    time.sleep(3600)
