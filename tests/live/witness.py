"""A recording server on loopback with a certificate of its own, and what the witness tests share. TAP on stdout."""
import atexit
import datetime
import http.server
import ipaddress
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import traceback
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

_count = 0
_failed = 0


def ok(fine, name, *detail):
    global _count, _failed
    _count += 1
    print(f"{'ok' if fine else 'not ok'} {_count} - {name}", flush=True)
    if not fine:
        _failed += 1
        for d in detail:
            for line in (d if isinstance(d, str) else json.dumps(d, indent=1, sort_keys=True)).splitlines()[:60]:
                print("# " + line)
    return fine


def done():
    print(f"1..{_count}")
    sys.exit(1 if _failed else 0)


def own_folder():
    folder = tempfile.mkdtemp(prefix="berth-witness-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def new_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def key_pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption()).decode()


def public_pem(key):
    return key.public_key().public_bytes(serialization.Encoding.PEM,
                                         serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def certificate(folder):
    """A certificate for localhost that signs itself; returns the paths of certificate and key."""
    key = new_key()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    cert = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"),
                                                        x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
            .sign(key, hashes.SHA256()))
    paths = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    with open(paths[0], "wb") as f:
        f.write(cert.public_bytes(serialization.Encoding.PEM))
    with open(paths[1], "w") as f:
        f.write(key_pem(key))
    return paths


class Call:
    """One request as it came: query as a sorted list of pairs, body as JSON, as a form, or None."""

    def __init__(self, who, method, target, headers, body):
        url = urllib.parse.urlsplit(target)
        self.who, self.method, self.headers, self.raw = who, method, headers, body
        self.path = urllib.parse.unquote(url.path)
        self.query = sorted(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.kind = headers.get("Content-Type", "").split(";")[0]
        self.body = None
        if body and self.kind == "application/json":
            self.body = json.loads(body)
        elif body:
            self.body = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))

    def arg(self, name, default=None):
        return dict(self.query).get(name, default)

    def seen(self, ignore=()):
        """What is compared: method, path, query, kind of body, body, whose it is."""
        return {"method": self.method, "path": self.path, "query": [q for q in self.query if q[0] not in ignore],
                "kind": self.kind if self.body is not None else None, "body": self.body,
                "authorization": self.headers.get("Authorization")}


class Server:
    """app(call) gives (status, object or None, headers). who says whose requests come now."""

    def __init__(self, folder, app, tls=True):
        self.calls, self.who = [], "?"
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                call = Call(outer.who, self.command, self.path, self.headers, body)
                outer.calls.append(call)
                try:
                    status, answer, headers = app(call)
                except Exception:
                    traceback.print_exc()
                    status, answer, headers = 500, {"error": "the server itself"}, {}
                text = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                headers = {"Content-Type": "application/json; charset=utf-8", **headers}
                self.send_header("Content-Length", str(len(text)))
                for k, v in headers.items():
                    self.send_header(k, v)
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        if tls:
            self.cert, key = certificate(folder)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.cert, key)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.base = f"{'https' if tls else 'http'}://localhost:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def of(self, who, method=None, path=None):
        return [c for c in self.calls if c.who == who and (method is None or c.method == method) and
                (path is None or path in c.path)]

    def clear(self):
        self.calls.clear()


class Berth:
    """Calls of the provider core, one process each."""

    def __init__(self, server, folder, section):
        self.server, self.folder = server, folder
        self.config = os.path.join(folder, "berth.yaml")
        with open(self.config, "w") as f:
            json.dump({"accounts": [section]}, f)		# JSON is YAML
        self.account = section["name"]

    def call(self, *args):
        who, self.server.who = self.server.who, "berth"
        env = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
        p = subprocess.run([os.path.join(os.environ["TOP_BUILDDIR"], "tests/live/prov"), self.config, self.account, *args],
                           capture_output=True, text=True, timeout=60, env=env, stdin=subprocess.DEVNULL)
        self.server.who = who
        self.err = p.stderr
        return p.returncode, p.stdout.splitlines()


def machine(line):
    """A line of prov about a machine."""
    left, _, detail = line.partition("| ")
    f = left.split()
    keys = ["ref", "token", "state", "why", "zone", "type", "purchase", "address"]
    out = dict(zip(keys, f))
    out["preempted"] = "preempted" in f[8:]
    out["detail"] = detail
    return out


def compare(server, name, method, path, ignore=(), last=True):
    """berth's request and the client's, field by field."""
    ours, theirs = server.of("berth", method, path), server.of("client", method, path)
    if not ok(bool(ours) and bool(theirs), f"{name}: both asked", {"berth": len(ours), "client": len(theirs)}):
        return
    pick = -1 if last else 0
    a, b = ours[pick].seen(ignore), theirs[pick].seen(ignore)
    for field in a:
        ok(a[field] == b[field], f"{name}: {field}", {"berth": a[field], "client": b[field]})
