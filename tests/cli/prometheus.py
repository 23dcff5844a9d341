"""A stand-in for Prometheus on 127.0.0.1, for tests/cli/record-prometheus.sh.  prometheus.py LOG

What it answers goes by the query: "flat" is 4 all the time, "stale" ends at 10:00, "holes" is NaN, infinite and absurd by turns,
"reset" a counter that begins again, "many" has 300 series; "refused", "broken", "busy", "garbled", "cut" and "warned" do what they
say; "secret" wants the token "open sesame", "basic" the password of ann. More than 11000 points a series are refused, as by the real
one. Prints its port and serves until its standard input ends.
"""
import base64
import json
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

log = open(sys.argv[1], 'a', buffering=1)
TEN = 1796032800        # 2026-11-30T10:00:00Z


def value(query, t):
    if query == 'holes':
        return ('NaN', '+Inf', '-Inf', '4294967295', '50')[t // 60 % 5]
    if query == 'reset':
        return str(t % 3600 * 1000)     # grows by 1000 a second, and begins again each hour
    return '4'


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def answer(self, status, body, length=None):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        if status == 429:
            self.send_header('Retry-After', '7')
        self.send_header('Content-Length', str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        q = dict(urllib.parse.parse_qsl(url.query))
        query, start, end, step = q['query'], int(q['start']), int(q['end']), int(q['step'])
        log.write(f'{query} {start} {end} {step}\n')
        bad = {'status': 'error', 'errorType': 'bad_data'}
        want = {'secret': 'Bearer open sesame', 'basic': 'Basic ' + base64.b64encode(b'ann:pass:word').decode()}.get(query)
        if want and self.headers['Authorization'] != want:
            return self.answer(401, b'Unauthorized\n')
        if (end - start) // step + 1 > 11000:
            return self.answer(400, {**bad, 'error': 'exceeded maximum resolution of 11,000 points per timeseries.'})
        if query == 'refused':
            return self.answer(422, {**bad, 'errorType': 'execution', 'error': 'query timed out in expression evaluation'})
        if query == 'broken':
            return self.answer(503, b'upstream is gone')
        if query == 'busy':
            return self.answer(429, b'slow down')
        if query == 'garbled':
            return self.answer(200, b'<html>login</html>')
        times = [t for t in range(start, end + 1, step) if query != 'stale' or t < TEN]
        name = {'holes': 'DCGM_FI_DEV_GPU_UTIL', 'reset': 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION'}.get(query, '')
        series = [{'metric': {k: v for k, v in (('__name__', name), ('UUID', 'GPU-1' if name else ''),
                                                ('pool', f'p{i}' if query == 'many' else '')) if v},
                   'values': [[t, value(query, t)] for t in times]} for i in range(300 if query == 'many' else 1)]
        result = {'status': 'success', 'data': {'resultType': 'matrix', 'result': series if times else []}}
        if query == 'warned':
            result['warnings'] = ['store of eu-west-1 does not answer']
        data = json.dumps(result).encode()
        if query == 'cut':
            self.answer(200, data[:len(data) // 2], len(data))
            self.close_connection = True
            return None
        return self.answer(200, data)


server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
