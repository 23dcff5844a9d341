"""Clouds for tests/cli/cases.sh, which play the collected cases in the form that each adapter speaks.

  cases_server.py INPUTS FOLDER PLAY...

Each play gets a port of its own; "PLAY PORT" is printed for each, and what a play is asked goes as lines into FOLDER/PLAY.
Ends with stdin.
"""
import csv
import http.server
import json
import os
import random
import sys
import threading
import time
import urllib.parse

INPUTS, FOLDER = sys.argv[1:3]
LOCK = threading.Lock()


def load(name):
    with open(os.path.join(INPUTS, name), encoding='utf-8') as f:
        return json.load(f)


def text(name):
    with open(os.path.join(INPUTS, name), encoding='utf-8') as f:
        return f.read()


def js(value, status=200):
    return status, 'application/json', json.dumps(value)


class Play:
    """A cloud; answer() gives (status, type, body), or None: the line is cut."""

    def __init__(self, name):
        self.name, self.count = name, 0

    def note(self, line):
        with LOCK, open(os.path.join(FOLDER, self.name), 'a', encoding='utf-8') as f:
            f.write(line + '\n')


class Meters(Play):
    """Azure's price list: one page, its rows in any order."""

    def answer(self, r):
        self.count += 1
        page = load('case-037-azure-page.json')
        random.Random(self.count).shuffle(page['Items'])
        self.note(r.path)
        return js(page)


class Pages(Play):
    """Azure's price list over pages, of which one is empty; the last one leads back in the bad chain."""

    def answer(self, r):
        last = 'case-039-page3-loop.json' if 'loop' in self.name else 'case-039-page3.json'
        which = 'case-039-page2-empty.json' if 'skip=2' in r.path else last if 'skip=3' in r.path else 'case-039-page1.json'
        self.note(r.path)
        return 200, 'application/json', text(which).replace('PORT', str(r.server.server_port))


class Skus(Play):
    """Google Cloud: machine types of a table and SKUs in three units."""

    def answer(self, r):
        if 'service-accounts' in r.path:
            return js({'access_token': 't', 'expires_in': 3600, 'token_type': 'Bearer'})
        if 'machineTypes' in r.path:
            types = [{'name': t['machine_type'], 'guestCpus': int(t['vcpus']), 'memoryMb': int(t['memory_gib']) * 1024,
                      'accelerators': [{'guestAcceleratorType': t['gpu'], 'guestAcceleratorCount': int(t['gpus'])}]}
                     for t in csv.DictReader(text('case-043-gcp-types.csv').splitlines())]
            return js({'items': {'zones/us-central1-a': {'machineTypes': types}}})
        if 'acceleratorTypes' in r.path:
            return js({'items': {}})
        skus = load('case-043-gcp-skus.json')
        if self.name != 'skus':      # one of the three parts is not sold
            skus['skus'] = [s for s in skus['skus'] if self.name.split('-')[1] not in s['description']]
        return js(skus)


class Steps(Play):
    """Lambda's price list: the replies of a case, one after the other."""

    def answer(self, r):
        second = os.path.exists(os.path.join(FOLDER, 'second'))      # a passing fault is asked for again within one refresh
        reply = load(self.name + '-server.json')['steps'][int(second)]['reply']
        body = reply['body']
        return reply['status'], reply['headers']['Content-Type'], body if isinstance(body, str) else json.dumps(body)


class Odd(Play):
    """Lambda's price list out of the offers of case 53: a NUL in a name, a price that is no number, an integer of 65 bits."""

    def answer(self, r):
        raw = text('case-053-offers.json')
        names = raw.split('"gpu":"')[1:]
        rows = []
        for i, n in enumerate(names):
            gpu, price = n.split('"')[0], n.split('"price":')[1].split(',')[0].strip('}')
            if self.name == 'odd-none' and i in (1, 2):
                continue
            cents = price if 'e400' in price else str(round(float(price) * 100))
            memory = ' '.join(gpu.split('\\')[0].split('-'))
            rows.append('"t%d": {"instance_type": {"name": "t%d-%s", "description": "1x %s (80 GB)", "gpu_description": "%s (80 GB)", '
                        '"price_cents_per_hour": %s, "specs": {"vcpus": 1, "memory_gib": 1, "storage_gib": 1, "gpus": 1, "id": '
                        '18446744073709548794}}, "regions_with_capacity_available": [{"name": "r", "description": "r"}]}'
                        % (i, i, gpu, memory.split()[0], memory.split()[0], cents))
        return 200, 'application/json', '{"data": {%s}}' % ', '.join(rows)


class Drip(Play):
    """A byte a second, or nothing."""

    def answer(self, r):
        if self.name == 'drip':
            r.send_response(200)
            r.send_header('Content-Length', '100000')
            r.end_headers()
        for _ in range(60):
            if self.name == 'drip':
                r.wfile.write(b' ')
                r.wfile.flush()
            time.sleep(1)


class Away(Play):
    """Sends everybody to another name of this machine, on another port."""

    def answer(self, r):
        self.note(str(r.headers))
        return 302, 'Location: http://localhost:%d/steal' % PORTS['steal'], ''


class Steal(Play):
    def answer(self, r):
        self.note(r.path + '\n' + str(r.headers))
        return js({'offers': []})


class Pods(Play):
    """RunPod: the two answers of case 57 to two creates; its list then has what was made."""
    GPUS = [('NVIDIA A100 80GB PCIe', 1.19), ('NVIDIA A100-SXM4-80GB', 1.29)]

    def answer(self, r):
        if 'gpuTypes' in r.query:
            return js({'data': {'gpuTypes': [dict({'id': g, 'displayName': g, 'memoryInGb': 80}, c1={
                'minimumBidPrice': None, 'uninterruptablePrice': p, 'stockStatus': 'High'}) for g, p in self.GPUS]}})
        if 'podFindAndDeployOnDemand' in r.query:
            reply = load('case-057-server.json')['steps'][self.count]['reply']
            self.count += 1
            self.note('POST ' + r.input['gpuTypeId'])
            if self.count == 2:
                self.pod = {'id': 'pod-2b', 'name': r.input['name'], 'desiredStatus': 'RUNNING', 'gpuCount': 1, 'costPerHr': 1.29,
                            'podType': 'RESERVED', 'machine': {'gpuTypeId': r.input['gpuTypeId'], 'location': 'US'}, 'runtime': None}
            return js(reply['body'], reply['status'])
        return js({'data': {'myself': {'pods': [self.pod] if self.count == 2 else []}}})


class Ec2(Play):
    """EC2 and its price list, with the rules of cases 41 and 87 to 97 by the name of the play."""
    TYPES = {'p4d.24xlarge': ('8', '32.7726', 40960), 'p4de.24xlarge': ('8', '40.9657', 81920)}
    RULES = {'ec2-041': ['p4d.24xlarge'], 'ec2-097': ['p4d.24xlarge'], 'ec2-087': ['p4d.24xlarge'], 'ec2-089': ['p4d.24xlarge', 'p4de.24xlarge'], 'ec2-091': ['p4d.24xlarge'], 'ec2-093': ['p4d.24xlarge'],
             'ec2-095-A': ['p4d.24xlarge'], 'ec2-095-B': ['p4d.24xlarge'], 'ec2-095-C': ['p4d.24xlarge']}
    SPOT = {'ec2-095-A': '12.10', 'ec2-095-B': '13.20', 'ec2-097': '7.67'}
    IDS = {'ec2-087': 'i-0aa', 'ec2-089': 'i-0bb', 'ec2-091': 'i-0dd', 'ec2-095-B': 'i-0ff', 'ec2-097': 'i-0a9'}

    def __init__(self, name):
        super().__init__(name)
        self.machines, self.tokens, self.asked = {}, {}, 0

    def xml(self, action, inside, status=200):
        return status, 'text/xml', '<%sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">%s</%sResponse>' % (action, inside, action)

    def refuse(self, status, code):
        return status, 'text/xml', '<Response><Errors><Error><Code>%s</Code><Message>no</Message></Error></Errors></Response>' % code

    def item(self, m):
        tags = ''.join('<item><key>%s</key><value>%s</value></item>' % t for t in m['tags'])
        spot = '<instanceLifecycle>spot</instanceLifecycle>' if m['spot'] else ''
        return ('<item><instanceId>%s</instanceId><instanceType>%s</instanceType><instanceState><name>%s</name></instanceState><launchTime>%s'
                '</launchTime>%s<placement><availabilityZone>us-east-1a</availabilityZone></placement><privateIpAddress>192.0.2.7'
                '</privateIpAddress><tagSet>%s</tagSet></item>' % (m['id'], m['type'], m['state'], m['launched'], spot, tags))

    def prices(self):
        products, terms = {}, {}
        for kind in self.RULES[self.name]:
            gpus, usd, _ = self.TYPES[kind]
            usd = {'ec2-095-A': '90', 'ec2-095-B': '90', 'ec2-095-C': '27.20', 'ec2-093': '12.8', 'ec2-097': '24.00'}.get(self.name, usd)
            products[kind] = {'sku': kind, 'productFamily': 'Compute Instance', 'attributes': {
                'instanceType': kind, 'regionCode': 'us-east-1', 'tenancy': 'Shared', 'operatingSystem': 'Linux', 'preInstalledSw': 'NA',
                'capacitystatus': 'Used', 'marketoption': 'OnDemand', 'gpu': gpus, 'vcpu': '96', 'memory': '1152 GiB'}}
            terms[kind] = {kind + '.T': {'effectiveDate': '2026-11-01T00:00:00Z', 'priceDimensions': {'d': {
                'unit': 'Hrs', 'beginRange': '0', 'endRange': 'Inf', 'pricePerUnit': {'USD': usd}}}}}
        return js({'offerCode': 'AmazonEC2', 'products': products, 'terms': {'OnDemand': terms}})

    def types(self, r):
        self.note('signed ' + r.headers['Authorization'].split('Signature=')[1])
        return self.xml('DescribeInstanceTypes', '<instanceTypeSet>%s</instanceTypeSet>' % ''.join(
            '<item><instanceType>%s</instanceType><vCpuInfo><defaultVCpus>96</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>1179648</sizeInMiB>'
            '</memoryInfo><gpuInfo><gpus><item><name>A100</name><manufacturer>NVIDIA</manufacturer><count>%s</count><memoryInfo><sizeInMiB>%d'
            '</sizeInMiB></memoryInfo></item></gpus></gpuInfo></item>' % (k, self.TYPES[k][0], self.TYPES[k][2]) for k in self.RULES[self.name]))

    def spot(self, r):
        if self.name == 'ec2-041':   # all of the history, in the order of the case, not what was asked for alone
            return self.xml('DescribeSpotPriceHistory', '<spotPriceHistorySet>%s</spotPriceHistorySet>' % ''.join(
                '<item>%s</item>' % ''.join('<%s>%s</%s>' % (k[0].lower() + k[1:], v, k[0].lower() + k[1:]) for k, v in row.items())
                for row in load('case-041-spot-history.json')['SpotPriceHistory']))
        price = self.SPOT.get(self.name)
        return self.xml('DescribeSpotPriceHistory', '<spotPriceHistorySet>%s</spotPriceHistorySet>' % ('' if price is None else (
            '<item><instanceType>p4d.24xlarge</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>%s</spotPrice>'
            '<timestamp>2026-11-29T00:00:00.000Z</timestamp><availabilityZone>us-east-1a</availabilityZone></item>' % price)))

    def run(self, r):
        f = r.form
        token, kind = f['ClientToken'], f['InstanceType']
        self.note('RunInstances %s %s' % (kind, token))
        same = {k: v for k, v in f.items() if k != 'ClientToken'}
        if token in self.tokens:
            was, mid = self.tokens[token]
            if was != same:
                self.note('mismatch')
                return self.refuse(400, 'IdempotentParameterMismatch')
            return self.xml('RunInstances', '<instancesSet>%s</instancesSet>' % self.item(self.machines[mid]))
        if self.name == 'ec2-093':  # nobody knows what was made
            with open(os.path.join(FOLDER, 'token'), 'w', encoding='utf-8') as out:
                out.write(token)
            return None
        out = self.name == 'ec2-089' and kind == 'p4d.24xlarge' or self.name == 'ec2-095-A'
        if out or self.name.startswith('ec2-095') and os.path.exists(os.path.join(FOLDER, 'all-out')):
            self.tokens[token] = (same, None)
            return self.refuse(500, 'InsufficientInstanceCapacity')
        mid = '%s%d' % (self.IDS[self.name], len(self.machines) + 1)
        tags = [(f['TagSpecification.1.Tag.%d.Key' % i], f['TagSpecification.1.Tag.%d.Value' % i]) for i in range(1, 9)
                if 'TagSpecification.1.Tag.%d.Key' % i in f]
        m = {'id': mid, 'type': kind, 'state': 'pending', 'launched': r.clock, 'tags': tags, 'spot': 'InstanceMarketOptions.MarketType' in f}
        if self.name == 'ec2-097':   # asked for as spot, and given as what it is not
            body = load('case-097-server.json')['steps'][0]['reply']['body']
            m['id'] = mid = body['id']
            m['spot'] = body['InstanceLifecycle'] == 'spot'
        self.machines[mid], self.tokens[token] = m, (same, mid)
        self.note('made ' + mid)
        if self.name == 'ec2-087':
            return None             # the machine is there, its answer is lost
        return self.xml('RunInstances', '<instancesSet>%s</instancesSet>' % self.item(m))

    def describe(self, r):
        self.asked += 1
        self.note('DescribeInstances ' + r.form.get('InstanceId.1', 'all'))
        if self.name == 'ec2-091' and self.machines and self.asked <= 4:        # not yet known by its list, nor by its id
            return self.refuse(400, 'InvalidInstanceID.NotFound') if 'InstanceId.1' in r.form else \
                self.xml('DescribeInstances', '<reservationSet/>')
        for m in self.machines.values():
            m['state'] = 'running' if m['state'] == 'pending' and self.asked > 5 else m['state']
        found = list(self.machines.values())
        if os.path.exists(os.path.join(FOLDER, 'token')) and self.name == 'ec2-093':
            found = self.listed(r.form['Filter.1.Value.1'])
        return self.xml('DescribeInstances', '<reservationSet>%s</reservationSet>' % ''.join(
            '<item><instancesSet>%s</instancesSet></item>' % self.item(m) for m in found))

    def listed(self, own):
        """The list of case 93: tags of ours in place of its own, and nothing left out by whose they are."""
        with open(os.path.join(FOLDER, 'token'), encoding='utf-8') as f:
            plans = {'nightly-42': f.read().strip()}
        out = []
        for one in load('case-093-provider-list.json')['instances']:
            tags = [('berth-installation', own if v == 'u-1111' else 'somebody') if k == 'gpub_install' else ('berth-token', plans.get(v, v))
                    for k, v in one['tags'].items()]
            out.append({'id': one['id'], 'type': 'p4d.24xlarge', 'state': one['state'], 'launched': one['launched'], 'tags': tags,
                        'spot': False})
        return out

    def terminate(self, r):
        self.note('TerminateInstances ' + r.form['InstanceId.1'])
        if r.form['InstanceId.1'] in self.machines:
            self.machines[r.form['InstanceId.1']]['state'] = 'terminated'
        return self.xml('TerminateInstances', '<instancesSet><item><instanceId>%s</instanceId><currentState><name>shutting-down</name>'
                        '</currentState></item></instancesSet>' % r.form['InstanceId.1'])

    def answer(self, r):
        with LOCK_EC2:
            if r.path.endswith('/index.json'):
                return self.prices()
            act = r.form.get('Action')
            todo = {'DescribeInstanceTypes': self.types, 'DescribeSpotPriceHistory': self.spot, 'RunInstances': self.run,
                    'DescribeInstances': self.describe, 'TerminateInstances': self.terminate}
            if act in todo:
                return todo[act](r)
            return self.xml(act, '') if act else js({})


LOCK_EC2 = threading.Lock()
PORTS = {}
KINDS = {'meters': Meters, 'pages': Pages, 'pages-loop': Pages, 'skus': Skus, 'skus-Core': Skus, 'skus-Ram': Skus, 'skus-GPU': Skus,
         'case-055': Steps, 'odd': Odd, 'odd-none': Odd, 'drip': Drip, 'silent': Drip, 'away': Away, 'steal': Steal, 'pods': Pods}


def handler(play):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def log_message(self, *args):
            pass

        def do_any(self):
            body = self.rfile.read(int(self.headers.get('Content-Length') or 0)).decode()
            form = self.headers.get('Content-Type', '').startswith('application/x-www-form-urlencoded')
            self.form = dict(urllib.parse.parse_qsl(body, keep_blank_values=True)) if form else {}
            if self.headers.get('Content-Type', '').startswith('application/json') and body:
                asked = json.loads(body)
                self.query, self.input = asked.get('query', ''), (asked.get('variables') or {}).get('input', {})
            stamp = self.headers.get('X-Amz-Date')
            self.clock = time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.strptime(stamp, '%Y%m%dT%H%M%SZ') if stamp else time.gmtime())
            try:
                got = play.answer(self)
            except OSError:
                got = None
            if got is None:
                self.close_connection = True
                return
            status, kind, out = got
            self.send_response_only(status)
            if kind.startswith('Location: '):
                self.send_header('Location', kind[10:])
            else:
                self.send_header('Content-Type', kind)
            self.send_header('Content-Length', str(len(out.encode())))
            self.end_headers()
            self.wfile.write(out.encode())

        do_GET = do_POST = do_PUT = do_DELETE = do_any

    return Handler


for name in sys.argv[3:]:
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler(KINDS.get(name, Ec2)(name)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    PORTS[name] = server.server_port
    print(name, server.server_port)
print('ready 1', flush=True)
sys.stdin.read()
