"""A stand-in for slurmrestd's accounting on 127.0.0.1, for tests/cli/record-slurm.sh.  slurmrestd.py JOBS VERSION LOG

JOBS is a file of lines "id submit start end gpus state [elapsed]", VERSION the newest of the API that it has. A job that runs (end 0) is
as long as its last word says. Prints its port, writes what it was asked to LOG, and serves until its standard input ends. The
token is "a.eyJzdW4iOiJhbm4ifQ.b", for ann.
"""
import json
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = 'a.eyJzdW4iOiJhbm4ifQ.b'
jobs_file, newest, log = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], 'a', buffering=1)


def number(version, v):
    if version < 39:
        return v
    return {'set': v is not None, 'infinite': False, 'number': v or 0}


def job(version, line):
    ident, submit, start, end, gpus, state, *elapsed = line.split()
    array, _, task = ident.partition('_')
    gres = [{'type': 'gres', 'name': 'gpu:h100', 'id': 1002, 'count': int(gpus)},
            {'type': 'cpu', 'name': None, 'id': 1, 'count': 8}]
    return {
        'account': 'nlp', 'cluster': 'c1', 'user': 'ann', 'partition': 'gpu', 'qos': 'normal', 'name': 'x|y',
        'job_id': 1000 + int(array) + int(task or 0), 'het': {'job_id': 0, 'job_offset': number(version, None)},
        'array': {'job_id': int(array) if task else 0, 'task_id': number(version, int(task) if task else None), 'task': ''},
        'state': {'current': state if version < 40 else [state], 'reason': 'None'},
        'time': {'submission': int(submit), 'start': int(start), 'end': int(end),
                 'elapsed': int(elapsed[0]) if elapsed else int(end) - int(start), 'limit': number(version, 60)},
        'tres': {'allocated': gres if int(start) else [], 'requested': gres}, 'steps': [],
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def answer(self, status, body):
        data = body.encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(url.query))
        log.write(f'{url.path} {asked.get("start_time")} {asked.get("end_time")} {asked.get("show_duplicates")}\n')
        version = url.path.removeprefix('/slurmdb/v0.0.').removesuffix('/jobs')
        if not version.isdigit() or not 38 <= int(version) <= newest:
            return self.answer(404, 'no such URL')
        version = int(version)
        if (self.headers['X-SLURM-USER-TOKEN'], self.headers['X-SLURM-USER-NAME']) != (TOKEN, 'ann'):
            return self.answer(401, 'Authentication failure')
        if version < 40 and not asked['start_time'].startswith('uts'):
            return self.answer(500, json.dumps({'errors': [{'error': 'Unable to parse time format'}]}))
        with open(jobs_file) as f:
            lines = f.read().splitlines()
        if lines and lines[0] == 'broken':
            return self.answer(500, json.dumps({'errors': [{'error': 'Unable to connect to database'}], 'jobs': []}))
        a, b = (int(asked[k].removeprefix('uts')) for k in ('start_time', 'end_time'))
        found = [job(version, line) for line in lines
                 if int(line.split()[1]) <= b and (line.split()[3] == '0' or int(line.split()[3]) >= a)]
        errors = [] if found else [{'error_number': 9003, 'error': 'Nothing found with query'}]
        self.answer(200, json.dumps({'meta': {}, 'errors': errors, 'warnings': [], 'jobs': found}))


server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
