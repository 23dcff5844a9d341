"""A small server for tests/unit/http.c: two plain listeners and one with TLS, told apart by host and port.

Prints "PORT1 PORT2 PORT3" and serves until stdin closes. Every request's headers are kept and told by /seen.
"""
import http.server
import ssl
import sys
import threading
import time

SEEN = []
PORTS = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body=b"", headers=()):
        self.send_response_only(status)
        if not any(name == "Date" for name, _ in headers):
            self.send_header("Date", self.date_time_string())
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        path = self.path.split("?")[0]
        if path == "/seen":
            self.reply(200, "\n".join(SEEN).encode())
            SEEN.clear()
            return
        SEEN.append(f"{self.server.server_port} {self.command} {self.path} "
                    + " ".join(f"{k.lower()}={v}" for k, v in self.headers.items()) + " body=" + body.decode())
        other = f"http://127.0.0.1:{PORTS[1]}"
        if path == "/hello":
            self.reply(200, b"hello", [("Retry-After", "7"), ("X-One", " two ")])
        elif path in ("/many", "/manyaway"):
            self.reply(302 if path == "/manyaway" else 503, b"busy", [(f"X-{i}", str(i)) for i in range(60)] + [
                ("Date", "Mon, 30 Nov 2026 12:00:00 GMT"), ("Retry-After", "9"), ("ETag", '"t"'), ("opc-next-page", "p2")]
                + ([("Location", "/hello")] if path == "/manyaway" else []) + [(f"Y-{i}", str(i)) for i in range(40)])
        elif path == "/who":
            mine = self.connection.getpeercert() or {}
            self.reply(200, ",".join(v for part in mine.get("subject", ()) for _, v in part).encode())
        elif path == "/nul":
            self.reply(200, b"a\0b")
        elif path in ("/90000", "/99999999999999999999", "/-5", "/soon"):
            self.reply(503, b"busy", [("Retry-After", path[1:])])
        elif path == "/later":
            self.reply(503, b"busy", [("Retry-After", "Mon, 30 Nov 2026 12:00:30 GMT"),
                                      ("Date", "Mon, 30 Nov 2026 12:00:00 GMT")])
        elif path == "/same":
            self.reply(302, b"", [("Location", "/hello")])
        elif path == "/away":
            self.reply(302, b"", [("Location", other + "/hello")])
        elif path == "/back":
            self.reply(307, b"", [("Location", f"http://127.0.0.1:{PORTS[1]}/home")])
        elif path == "/home":
            self.reply(307, b"", [("Location", f"http://127.0.0.1:{PORTS[0]}/hello")])
        elif path == "/loop":
            self.reply(302, b"", [("Location", "/loop")])
        elif path == "/file":
            self.reply(302, b"", [("Location", "file:///etc/passwd")])
        elif path == "/user":
            self.reply(302, b"", [("Location", "http://u:p@127.0.0.1/")])
        elif path == "/down":
            self.reply(302, b"", [("Location", f"http://127.0.0.1:{PORTS[0]}/hello")])
        elif path == "/big":
            self.reply(200, b"x" * 300000)
        elif path == "/drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            try:
                for _ in range(100):
                    self.wfile.write(b"x")
                    self.wfile.flush()
                    time.sleep(0.2)
            except OSError:
                pass
            self.close_connection = True
        elif path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"half")
            self.close_connection = True
        elif path == "/wait":
            time.sleep(0.3)
            self.reply(200, b"waited")
        elif path == "/list":
            self.reply(200, b"0123456789abcdef" * 65536)
        elif path == "/refuse":
            self.reply(403, b"no, not you")
        elif path == "/silent":
            time.sleep(20)
            self.close_connection = True
        else:
            self.reply(404, b"no")

    do_GET = do_POST = do_DELETE = do_HEAD = handle_any


def serve(context=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


PORTS.append(serve())
PORTS.append(serve())
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(sys.argv[1], sys.argv[2])
tls.load_verify_locations(sys.argv[1])
tls.verify_mode = ssl.CERT_OPTIONAL
PORTS.append(serve(tls))
print(*PORTS, flush=True)
sys.stdin.read()
