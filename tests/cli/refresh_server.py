"""A server for tests/cli/refresh.sh: a cloud in Lambda's shape, told how to behave by the first part of the path.

Prints two ports; the second one writes every header that it sees into the file of the first argument. Ends with stdin.
"""
import http.server
import itertools
import json
import os
import sys
import threading
import time

PORTS = []
MACHINES = {"slow": [], "fast": [], "lost-cut": [], "lost-html": [], "lost-500": [], "lost-drop": [], "lost-empty": [], "lost-none": [],
            "lost-odd": [], "late": []}
LOST = set()
NUMBERS = itertools.count(1)
GOOD = json.dumps({"data": {"gpu_1x": {
    "instance_type": {"name": "gpu_1x", "description": "1x H100 (80 GB)", "gpu_description": "H100 (80 GB)",
                      "price_cents_per_hour": 249, "specs": {"vcpus": 26, "memory_gib": 200, "storage_gib": 1, "gpus": 1}},
    "regions_with_capacity_available": [{"name": "us-1", "description": "x"}]}}})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body, kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self):
        if self.server.server_port == PORTS[1]:
            with open(sys.argv[1], "a") as f:
                f.write(self.path + "\n" + str(self.headers))
            self.reply(200, GOOD)
            return
        how = self.path.split("/")[1]
        with open(sys.argv[1] + "." + how, "a") as f:
            f.write(self.path + "\n")
        if how == "twice":
            one = json.loads(GOOD)
            one["data"]["gpu_1x"]["regions_with_capacity_available"] *= 500
            self.reply(200, json.dumps(one))
        elif how == "escape":
            self.reply(200, GOOD.replace("gpu_1x", "g\\u001b[2J\\u009bx\\r\\ny\\u202e").replace("us-1", "u\\u001b]0;t\\u0007s"))
        elif how == "refuse":
            self.reply(400, '{"error": {"code": "c\\u001b[31m", "message": "no\\u001b[2J\\u0007 ' + (self.headers["Authorization"] or "") + '"}}')
        elif how == "html":
            self.reply(200, "<html><body>Sign in</body></html>", "text/html")
        elif how == "error":
            self.reply(200, '{"error": {"code": "later", "message": "try later"}}')
        elif how == "away":
            self.reply(302, "", Location=f"http://127.0.0.1:{PORTS[1]}/seen?x=1")
        elif how == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            try:
                for _ in range(60):
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(1)
            except OSError:
                pass
            self.close_connection = True
        elif how == "down":
            self.reply(503, "")
        elif how == "echo":
            self.reply(401, json.dumps({"error": {"code": "x", "message": f"You sent {self.headers['Authorization']}."}}))
        elif how == "ugly":
            self.reply(400, json.dumps({"error": {"code": "x", "message": "a\x1b[31m\nok    account b: forged\u009b2J\u202e"}}))
        elif how == "key":
            self.reply(401, '{"error": {"code": "global/invalid-api-key", "message": "API key was invalid"}}')
        elif how == "right":
            self.reply(403, '{"error": {"code": "global/account-inactive", "message": "no"}}')
        elif how == "odd":
            self.reply(200, GOOD.replace('"price_cents_per_hour": 249', '"price_cents_per_hour": 1e400').replace(
                '"gpus": 1', '"gpus": 1, "id": 18446744073709548794'))
        elif how in MACHINES and self.path.endswith("/instances"):
            self.reply(200, json.dumps({"data": MACHINES[how]}))
        elif how in MACHINES and "/instances/" in self.path:
            one = [m for m in MACHINES[how] if self.path.endswith(m["id"])]
            self.reply(200 if one else 404, json.dumps({"data": one[0]} if one else
                                                       {"error": {"code": "global/object-does-not-exist", "message": "no"}}))
        elif how == "slow":
            self.reply(200, GOOD.replace('"price_cents_per_hour": 249', '"price_cents_per_hour": 200'))
        elif self.path.endswith("/instances"):
            self.reply(200, '{"data": []}')
        else:
            self.reply(200, GOOD)

    def do_POST(self):
        """Launches and ends: those of "slow" take three seconds each, those of "late" end when they are told to, by a file."""
        how = self.path.split("/")[1]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if how == "slow":
            time.sleep(3)
        if how == "late":
            with open(sys.argv[1] + ".late", "a") as f:
                f.write(self.path + "\n")
            while not os.path.exists(sys.argv[1] + ".go"):
                time.sleep(0.05)
        if self.path.endswith("/launch"):
            new = {"id": f"{how}-{next(NUMBERS)}", "name": body["name"], "ip": "192.0.2.7", "status": "active",
                   "ssh_key_names": body["ssh_key_names"], "region": {"name": "us-1", "description": "x"},
                   "instance_type": {"name": "gpu_1x", "description": "x"}}
            if how.startswith("lost") or how == "late":
                new["status"] = "booting"
            if how != "lost-none" or how in LOST:
                MACHINES[how].append(new)
                self.count(how)
            text = json.dumps({"data": {"instance_ids": [new["id"]]}})
            if not how.startswith("lost") or how in LOST:
                self.reply(200, text)
                return
            LOST.add(how)		# the machine is made, and the answer never comes
            if how in ("lost-drop", "lost-none"):
                self.close_connection = True
            else:
                self.reply(500 if how == "lost-500" else 200, {"lost-cut": text[:30], "lost-html": "<html>hello</html>", "lost-empty": "",
                                                               "lost-500": "oops", "lost-odd": '{"data": {"instance_ids": 7}}'}[how])
            return
        ended = [m for m in MACHINES[how] if m["id"] in body["instance_ids"]]
        MACHINES[how] = [m for m in MACHINES[how] if m not in ended]
        self.count(how)
        self.reply(200, json.dumps({"data": {"terminated_instances": [dict(m, status="terminated") for m in ended]}}))

    @staticmethod
    def count(how):
        """How many machines there are, in a file."""
        name = sys.argv[1] + ".up." + how
        with open(name + ".new", "w") as f:
            print(len(MACHINES[how]), file=f)
        os.rename(name + ".new", name)

    def date_time_string(self, timestamp=None):
        ahead = 600 if "/skew/" in getattr(self, "path", "") else 0
        return super().date_time_string(time.time() + ahead)


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


PORTS += [serve(), serve()]
print(*PORTS, flush=True)
sys.stdin.read()
