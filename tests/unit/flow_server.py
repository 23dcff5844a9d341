"""A server for tests/unit/flow.c and bench/refresh-many: many ports, each a cloud that takes its time.

flow_server.py PORTS LATENCY_S [OFFERS]: prints the ports on one line and serves until stdin closes.
"""
import http.server
import sys
import threading
import time

LATENCY = float(sys.argv[2])
OFFERS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
LOCK = threading.Lock()
COUNT = {}
AHEAD = 600     # how far the clock of /clock is ahead


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, text, *headers, ahead=0):
        body = text.encode()
        self.send_response_only(status)
        self.send_header("Date", self.date_time_string(time.time() + ahead))
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        what = self.path.split("?")[0]
        with LOCK:
            nth = COUNT[what] = COUNT.get(what, 0) + 1
        if what == "/count":
            self.reply(200, "\n".join(f"{k} {v}" for k, v in sorted(COUNT.items())))
        elif what.startswith("/busy"):
            if nth == 1:
                self.reply(429, "slow down", ("Retry-After", "1"))
            else:
                self.reply(200, "a 1\n")
        elif what.startswith("/clock"):
            said = int(self.headers.get("X-Now", "0"))
            if abs(time.time() + AHEAD - said) > 60:
                self.reply(403, "error clock_skew the request is too old", ahead=AHEAD)
            else:
                self.reply(200, "a 1\n", ahead=AHEAD)
        elif what.startswith("/tagged"):
            if self.headers.get("If-None-Match") == '"v1"':
                self.reply(304, "")
            else:
                self.reply(200, "a 1\n", ("ETag", '"v1"'))
        elif what.startswith("/silent"):
            time.sleep(10)
            self.close_connection = True
        else:
            time.sleep(LATENCY)
            self.reply(200, "".join(f"type{i} {1 + i / 1000:.3f}\n" for i in range(OFFERS)))


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


print(*[serve() for _ in range(int(sys.argv[1]))], flush=True)
sys.stdin.read()
