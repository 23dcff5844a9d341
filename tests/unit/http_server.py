"""A small server for tests/unit/http.c: two plain listeners and one with TLS, told apart by host and port.

Prints "PORT1 PORT2 PORT3" and serves until stdin closes. Every request's headers are kept and told by /seen.
"""
import gzip
import http.server
import ssl
import sys
import threading
import time

SEEN = []
PORTS = []


OK = b"HTTP/1.1 200 OK\r\n"


def loris():
    yield OK
    for i in range(100):
        yield b"X-%d: a\r\n" % i
        yield 0.2


def endless():
    yield OK + b"Transfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"10000\r\n" + b"x" * 65536 + b"\r\n"


def heads():
    yield OK
    while True:
        yield b"X-Long: " + b"a" * 8000 + b"\r\n"


def storm():
    for _ in range(2000):
        yield b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\nRetry-After: 77\r\n\r\n"
    yield OK + b"Content-Length: 5\r\n\r\nhello"


def storm_endless():
    while True:
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * 500


def squeezed(body, kind=b"gzip"):
    return OK + b"Content-Encoding: " + kind + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def gz(data, times=1):
    for _ in range(times):
        data = gzip.compress(data)
    return data


RAW = {
    "/loris": loris, "/endless": endless, "/heads": heads, "/storm": storm, "/storm-endless": storm_endless,
    "/bomb": lambda: [squeezed(gz(bytes(16 << 20)))],
    "/bomb-twice": lambda: [squeezed(gz(bytes(16 << 20), 2), b"gzip, gzip")],
    "/gzip-lie": lambda: [squeezed(b"hello, this is plain")],
    "/longer": lambda: [OK + b"Content-Length: 5\r\n\r\nhello and more that nobody announced"],
    "/lengths": lambda: [OK + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\nhello, you"],
    "/minus": lambda: [OK + b"Content-Length: -5\r\n\r\nhello"],
    "/huge": lambda: [OK + b"Content-Length: 99999999999999999999999\r\n\r\nhello"],
    "/chunk": lambda: [OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello"],
    "/chunk-cut": lambda: [OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel"],
    "/no-status": lambda: [b"\x00\xff\x16\x03\x01 no HTTP at all\r\n\r\n"],
    "/odd-status": lambda: [b"HTTP/1.1 999999 Odd\r\n\r\nx"],
    "/nothing-said": lambda: [],
    "/cookie": lambda: [OK + b"Set-Cookie: berth=tok-COOKIE; Path=/\r\nContent-Length: 0\r\n\r\n"],
    "/old-date": lambda: [OK + b"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n"],
    "/far-date": lambda: [OK + b"Date: Fri, 31 Dec 9999 23:59:59 GMT\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n"],
    "/no-date": lambda: [OK + b"Date: yesterday\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n"],
    "/folded": lambda: [OK + b"X-One: a\r\n b\r\nContent-Length: 0\r\n\r\n"],
    "/location": lambda: [b"HTTP/1.1 302 Found\r\nLocation: /" + b"x" * 60000 + b"\r\nContent-Length: 0\r\n\r\n"],
    "/location-odd": lambda: [b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d@evil.example/\r\nContent-Length: 0\r\n\r\n" % PORTS[0]],
    "/location-break": lambda: [b"HTTP/1.1 302 Found\r\nLocation: /hello%0d%0aX-Bad:%201\r\nContent-Length: 0\r\n\r\n"],
    "/location-slashes": lambda: [b"HTTP/1.1 302 Found\r\nLocation: //127.0.0.1:%d/hello\r\nContent-Length: 0\r\n\r\n" % PORTS[1]],
    "/location-none": lambda: [b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"],
    "/location-gopher": lambda: [b"HTTP/1.1 302 Found\r\nLocation: gopher://127.0.0.1:%d/_x\r\nContent-Length: 0\r\n\r\n" % PORTS[0]],
}


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

    def raw(self, pieces):
        """Bytes as they are, with pauses of so many seconds; then the connection ends."""
        try:
            for piece in pieces():
                if isinstance(piece, bytes):
                    self.wfile.write(piece)
                    self.wfile.flush()
                else:
                    time.sleep(piece)
        except OSError:
            pass
        self.close_connection = True

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
        elif path in RAW:
            self.raw(RAW[path])
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
