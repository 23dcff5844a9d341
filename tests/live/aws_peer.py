"""What the AWS tests share: the check of a signature with botocore's own signer, and a small HTTP server."""
import datetime
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

AUTH = re.compile(r'AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$')


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        self.path = urlsplit(target).path
        self.query = parse_qsl(urlsplit(target).query, keep_blank_values=True)
        m = AUTH.match(headers.get('authorization', ''))
        self.key, self.region, self.service = (m.group(1), m.group(3), m.group(4)) if m else (None, None, None)
        self.signed = m.group(5).split(';') if m else []
        self.signature = m.group(6) if m else None

    def form(self):
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))

    def verify(self, secret):
        """Whether botocore signs the same request, headers and clock taken from it, in the same way."""
        if self.signature is None:
            return False
        req = AWSRequest(method=self.method, url='http://%s%s' % (self.headers['host'], self.target), data=self.body,
                         headers={k: self.headers[k] for k in self.signed if k not in ('host', 'x-amz-date', 'x-amz-security-token')})
        clock = datetime.datetime.strptime(self.headers['x-amz-date'], '%Y%m%dT%H%M%SZ')
        with mock.patch.object(botocore.auth, 'get_current_datetime', lambda **kw: clock):
            botocore.auth.SigV4Auth(Credentials(self.key, secret, self.headers.get('x-amz-security-token')), self.service,
                                    self.region).add_auth(req)
        m = AUTH.match(req.headers['Authorization'])
        return m.group(6) == self.signature and m.group(5).split(';') == self.signed


def serve(answer, port=0):
    """A server in a thread; answer(Request) gives (status, headers, body) or None: the connection is dropped."""
    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'
        wbufsize = 1 << 16      # headers and body in one segment
        disable_nagle_algorithm = True

        def do_any(self):
            body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
            try:
                got = answer(Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            except Exception as e:      # a fault of the test's own is seen, not hidden in a cut connection
                print('# server: %r' % e, file=sys.stderr)
                got = (500, {}, b'')
            if got is None:
                self.close_connection = True
                self.connection.shutdown(2)
                return
            status, headers, out = got
            self.send_response_only(status)
            for k, v in headers.items():
                self.send_header(k, v)
            if 'Date' not in headers:
                self.send_header('Date', self.date_time_string())
            self.send_header('Content-Length', str(len(out)))
            self.end_headers()
            self.wfile.write(out)

        do_GET = do_POST = do_PUT = do_any

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(('127.0.0.1', port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
