#!/usr/bin/env python3
"""Serves one file as /metrics on 127.0.0.1, as an exporter does; @SECONDS@ in it is the time, @FAST@ twenty times that.  exporter.py PORT FILE"""
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        with open(sys.argv[2], 'rb') as f:
            body = f.read().replace(b'@SECONDS@', str(time.time()).encode()).replace(b'@FAST@', str(20 * time.time()).encode())
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
