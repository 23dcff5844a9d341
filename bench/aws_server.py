"""aws_server.py FILE: serves FILE as EC2's price list of any region, and EC2 itself as a region that describes no types; for bench/aws-prices.

Prints its port and serves until stdin closes.
"""
import http.server
import os
import sys
import threading

EMPTY = b"<DescribeInstanceTypesResponse xmlns='http://ec2.amazonaws.com/doc/2016-11-15/'><instanceTypeSet/></DescribeInstanceTypesResponse>"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def head(self, kind, size):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def do_GET(self):
        with open(sys.argv[1], "rb") as f:
            size = os.fstat(f.fileno()).st_size
            self.head("application/json", size)
            self.wfile.flush()
            sent = 0
            while sent < size:
                sent += os.sendfile(self.connection.fileno(), f.fileno(), sent, 1 << 20)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.head("text/xml", len(EMPTY))
        self.wfile.write(EMPTY)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
