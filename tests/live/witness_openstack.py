"""The same calls by openstacksdk and by berth, against one recording server on loopback: field by field the same.

Run by tests/live/witness-openstack.sh. Speaks TAP.
"""
import base64
import http.server
import json
import os
import subprocess
import tempfile
import threading
import urllib.parse

import openstack
from openstack.compute.v2 import flavor as sdk_flavor
from openstack.compute.v2 import server as sdk_server

PROV = os.path.join(os.environ["TOP_BUILDDIR"], "tests/live/prov")
HOME = tempfile.TemporaryDirectory(prefix="berth-sdk-")
FOLDER = HOME.name
SEEN = []
SERVERS = {}
FLAVORS = []
IMAGE, NETWORK, TOKEN = "i" * 8 + "-1111-4111-8111-111111111111", "n-1", "tok-1"
count = 0


def ok(fine, name, *notes):
    global count
    count += 1
    print(f"{'ok' if fine else 'not ok'} {count} - {name}")
    for note in notes if not fine else ():
        print(f"#   {note}")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body=None, headers=()):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def handle_any(self):
        base = f"http://127.0.0.1:{self.server.server_port}"
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urllib.parse.urlsplit(self.path)
        path = url.path.rstrip("/")
        SEEN.append({
            "method": self.command, "path": path, "query": sorted(urllib.parse.parse_qsl(url.query, True)),
            "token": self.headers.get("X-Auth-Token"), "version": self.headers.get("OpenStack-API-Version"),
            "type": self.headers.get("Content-Type"), "body": json.loads(raw) if raw else None,
        })
        if path == "/v3/auth/tokens":
            catalog = [{"type": kind, "name": kind, "id": kind, "endpoints": [
                {"interface": "public", "region": "one", "region_id": "one", "id": kind, "url": base + where}]}
                for kind, where in (("compute", "/compute/v2.1"), ("image", "/image"), ("network", "/network"))]
            self.reply(201, {"token": {
                "methods": ["password"], "expires_at": "2199-01-01T00:00:00.000000Z", "issued_at": "2026-01-01T00:00:00.000000Z",
                "user": {"id": "u", "name": "ann", "domain": {"id": "default", "name": "Default"}}, "roles": [],
                "project": {"id": "p1", "name": "lab", "domain": {"id": "default", "name": "Default"}},
                "catalog": catalog}}, [("X-Subject-Token", TOKEN)])
        elif path in ("/compute", "/compute/v2.1"):
            version = {"id": "v2.1", "status": "CURRENT", "version": "2.61", "min_version": "2.1",
                       "links": [{"rel": "self", "href": base + "/compute/v2.1/"}]}
            self.reply(200, {"version": version} if path.endswith("v2.1") else {"versions": [version]})
        elif path == "/v3":
            self.reply(200, {"version": {"id": "v3.14", "status": "stable", "links": [{"rel": "self", "href": base + "/v3/"}]}})
        elif path in ("/image", "/image/v2"):
            self.reply(300, {"versions": [{"id": "v2.9", "status": "CURRENT", "links": [{"rel": "self", "href": base + "/image/v2/"}]}]})
        elif path in ("/network", "/network/v2.0"):
            self.reply(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": [{"rel": "self", "href": base + "/network/v2.0/"}]}]})
        elif path == "/image/v2/images":
            self.reply(200, {"images": [{"id": IMAGE, "name": "tiny", "status": "active"}]})
        elif path == "/network/v2.0/networks":
            self.reply(200, {"networks": [{"id": NETWORK, "name": "inner"}]})
        elif path.startswith("/compute/v2.1/flavors"):
            self.reply(200, {"flavors": FLAVORS})
        elif path == "/compute/v2.1/limits":
            self.reply(200, {"limits": {"rate": [], "absolute": {
                "maxTotalInstances": 9, "totalInstancesUsed": 2, "maxTotalCores": 64, "totalCoresUsed": 16,
                "maxTotalRAMSize": 4096, "totalRAMUsed": 1024}}})
        elif path == "/compute/v2.1/servers" and self.command == "POST":
            self.reply(202, {"server": {"id": "s-new", "links": [], "adminPass": "x"}})
        elif path == "/compute/v2.1/servers/detail":
            self.reply(200, {"servers": list(SERVERS.values())})
        elif path.startswith("/compute/v2.1/servers/"):
            one = SERVERS.get(path.rsplit("/", 1)[1])
            if self.command == "DELETE":
                self.reply(204)
            elif one:
                self.reply(200, {"server": one})
            else:
                self.reply(404, {"itemNotFound": {"code": 404, "message": "no"}})
        else:
            self.reply(404, {"itemNotFound": {"code": 404, "message": path}})

    do_GET = do_POST = do_DELETE = do_HEAD = handle_any


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}"

with open(os.path.join(FOLDER, "berth.yaml"), "w") as f:
    f.write(f"""accounts:
  - {{name: lab, provider: openstack, auth_url: '{URL}/v3', username: ann, password: env:SDK_PASSWORD, project_name: lab,
     image: tiny, network: inner, key_name: k, security_groups: [ssh, web], availability_zone: az1,
     accelerators: {{a100: A100-SXM4-80GB}}}}
  - {{name: auto, provider: openstack, auth_url: '{URL}', username: ann, password: env:SDK_PASSWORD, project_name: lab,
     image: {IMAGE}, network: auto}}
  - {{name: app, provider: openstack, auth_url: '{URL}/v3', application_credential_id: a1,
     application_credential_secret: env:SDK_PASSWORD, image: {IMAGE}}}
""")
os.environ.update(SDK_PASSWORD="geheim", PROV_INSTALLATION="inst")


def berth(account, *call, **env):
    """Output lines of one call, and what went over the wire."""
    SEEN.clear()
    done = subprocess.run([PROV, os.path.join(FOLDER, "berth.yaml"), account, *call], capture_output=True, text=True,
                          env={**os.environ, **env}, timeout=60)
    return done.stdout.splitlines(), list(SEEN)


def sdk(call, **auth):
    """What the client sends for a call, its looking round for versions left out."""
    conn = openstack.connection.Connection(
        region_name="one", compute_default_microversion=None,
        **(auth or {"auth": {"auth_url": URL + "/v3", "username": "ann", "password": "geheim", "project_name": "lab",
                             "user_domain_name": "Default", "project_domain_name": "Default"}}))
    SEEN.clear()
    conn.authorize()
    value = call(conn)
    skip = ("/v3", "/compute", "/compute/v2.1", "/image", "/image/v2", "/network", "/network/v2.0")
    return value, [r for r in SEEN if r["path"] not in skip]


def same(name, ours, theirs, fields=("method", "path", "query", "token", "version", "type", "body")):
    differs = [f"{f}: berth {ours[f]!r}, openstacksdk {theirs[f]!r}" for f in fields if ours[f] != theirs[f]]
    ok(not differs, name, *differs)


def at(seen, method, path):
    found = [r for r in seen if r["method"] == method and r["path"] == path]
    return found[-1] if found else dict.fromkeys(("method", "path", "query", "token", "version", "type", "body"))


def attrs(**more):
    return {"id": "s-1", "status": "ACTIVE", "metadata": {"berth-installation": "inst", "berth-token": "tok"},
            "created_at": "2026-11-30T04:11:10Z", "availability_zone": "az1", "task_state": None,
            "flavor": {"original_name": "gpu.a100.8", "vcpus": 96, "ram": 983040, "disk": 40}, **more}


def wire(cls, **values):
    """The answer's form of an object, as the client's model names its fields."""
    full = cls.new(**values).to_dict(original_names=True, computed=False)
    return {k: v for k, v in full.items() if v is not None and k != "location"}


# ---- requests ------------------------------------------------------------
FLAVORS[:] = [wire(sdk_flavor.Flavor, id="f-1", name="gpu.a100.8", vcpus=96, ram=983040, disk=40, is_disabled=False,
                   extra_specs={"pci_passthrough:alias": "a100:8"})]
_, tokens = sdk(lambda c: None)
_, ours = berth("lab", "list")
same("a token by password", at(ours, "POST", "/v3/auth/tokens"), at(tokens, "POST", "/v3/auth/tokens"),
     ("method", "path", "query", "type", "body"))
_, tokens = sdk(lambda c: None, auth_type="v3applicationcredential", auth={
    "auth_url": URL + "/v3", "application_credential_id": "a1", "application_credential_secret": "geheim"})
_, app = berth("app", "quota")
same("a token by application credential", at(app, "POST", "/v3/auth/tokens"), at(tokens, "POST", "/v3/auth/tokens"),
     ("method", "path", "query", "type", "body"))
_, theirs = sdk(lambda c: list(c.image.images(name="tiny", status="active", sort="created_at:desc", limit=1, paginated=False)))
same("an image by name", at(ours, "GET", "/image/v2/images"), at(theirs, "GET", "/image/v2/images"),
     ("method", "path", "query", "token"))
_, theirs = sdk(lambda c: list(c.network.networks(name="inner")))
same("a network by name", at(ours, "GET", "/network/v2.0/networks"), at(theirs, "GET", "/network/v2.0/networks"),
     ("method", "path", "query", "token"))
_, theirs = sdk(lambda c: list(c.compute.servers(details=True, tags=["berth-inst"], limit=500, paginated=False)))
same("ours, by tag", at(ours, "GET", "/compute/v2.1/servers/detail"), at(theirs, "GET", "/compute/v2.1/servers/detail"),
     ("method", "path", "query", "token", "version"))
_, ours = berth("lab", "offers")
_, theirs = sdk(lambda c: list(c.compute.flavors(details=True, limit=500, paginated=False)))
same("flavours", at(ours, "GET", "/compute/v2.1/flavors/detail"), at(theirs, "GET", "/compute/v2.1/flavors/detail"),
     ("method", "path", "query", "token", "version"))
_, theirs = sdk(lambda c: c.compute.get_limits())
same("limits", at(app, "GET", "/compute/v2.1/limits"), at(theirs, "GET", "/compute/v2.1/limits"),
     ("method", "path", "query", "token", "version"))
for name, account, zone, networks in (("network by id", "lab", "az1", [{"uuid": NETWORK}]), ("network auto", "auto", "-", "auto")):
    lines, ours = berth(account, "create", "tok-1", zone, "gpu.a100.8", "on_demand", PROV_USER_DATA="#!/bin/sh\ntrue\n")
    more = {"availability_zone": "az1", "key_name": "k", "security_groups": [{"name": "ssh"}, {"name": "web"}]} if account == "lab" else {}
    _, theirs = sdk(lambda c: c.compute.create_server(
        name="berth-tok-1", flavor_id="f-1", image_id=IMAGE, networks=networks, tags=["berth-inst"],
        metadata={"berth-installation": "inst", "berth-token": "tok-1"},
        user_data=base64.b64encode(b"#!/bin/sh\ntrue\n").decode(), **more))
    same(f"a create, {name}", at(ours, "POST", "/compute/v2.1/servers"), at(theirs, "POST", "/compute/v2.1/servers"))
    ok(lines and lines[0].startswith("s-new tok-1 pending "), "and what was made", *lines)
SERVERS["s-1"] = wire(sdk_server.Server, **attrs())
_, ours = berth("lab", "status", "s-1")
_, theirs = sdk(lambda c: c.compute.get_server("s-1"))
same("one server", at(ours, "GET", "/compute/v2.1/servers/s-1"), at(theirs, "GET", "/compute/v2.1/servers/s-1"),
     ("method", "path", "query", "token", "version"))
_, ours = berth("lab", "destroy", "s-1")
_, theirs = sdk(lambda c: c.compute.delete_server("s-1"))
same("a delete", at(ours, "DELETE", "/compute/v2.1/servers/s-1"), at(theirs, "DELETE", "/compute/v2.1/servers/s-1"),
     ("method", "path", "query", "token", "version"))

# ---- answers that the client's model builds --------------------------------
SHOWN = {"ACTIVE": "ready", "BUILD": "pending", "ERROR": "failed", "DELETED": "gone", "SHUTOFF": "failed", "REBOOT": "ready"}
for status, state in SHOWN.items():
    SERVERS["s-1"] = wire(sdk_server.Server, **attrs(
        status=status, addresses={"net": [{"addr": "10.0.0.5", "version": 4, "OS-EXT-IPS:type": "fixed"},
                                          {"addr": "192.0.2.5", "version": 4, "OS-EXT-IPS:type": "floating"}]},
        fault={"code": 500, "message": "No valid host was found."} if status == "ERROR" else None))
    one, _ = sdk(lambda c: c.compute.get_server("s-1"))
    lines, _ = berth("lab", "status", "s-1")
    address = "192.0.2.5" if state == "ready" else "-"
    want = [one.id, one.metadata["berth-token"], state, {"ERROR": "no_capacity", "SHUTOFF": "failed"}.get(status, "ok"), one.availability_zone,
            one.flavor.original_name, "on_demand", address]
    ok(lines and lines[0].split(" |")[0].split(" ")[:8] == want, f"{status} is read as the client reads it", f"berth {lines}", f"want {want}")
flavor, _ = sdk(lambda c: list(c.compute.flavors(details=True, limit=500, paginated=False))[0])
lines, _ = berth("lab", "offers")
want = f"one az1 {flavor.name} A100-SXM4-80GB x{flavor.extra_specs['pci_passthrough:alias'].split(':')[1]} on_demand - unknown " \
       f"{flavor.vcpus} {flavor.ram / 1024:g}"
ok(lines == [want], "a flavour is read as the client reads it", f"berth {lines}", f"want {want}")
limits, _ = sdk(lambda c: c.compute.get_limits().absolute)
lines, _ = berth("lab", "quota")
want = [f"one|maxTotalInstances|machine|{limits.instances}|{limits.instances_used}",
        f"one|maxTotalCores|vcpu|{limits.total_cores}|{limits.total_cores_used}",
        f"one|maxTotalRAMSize|mib|{limits.total_ram}|{limits.total_ram_used}"]
ok(lines == want, "limits are read as the client reads them", f"berth {lines}", f"want {want}")
print(f"1..{count}")
