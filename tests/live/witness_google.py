"""Google Cloud: berth beside google-api-python-client and google-auth.

The server checks each request, berth's and the client's, against the discovery documents that the client brings along,
answers with objects that the documents' schemas build, and verifies the token's assertion with google-auth.
"""
import datetime
import json
import os
import random
import re

import google.auth.jwt
import google_auth_httplib2
import googleapiclient.discovery
import httplib2
from google.oauth2 import service_account
from googleapiclient import discovery_cache

from witness import Berth, Server, compare, done, key_pem, machine, new_key, ok, own_folder, public_pem

SEED = int(os.environ.get("WITNESS_SEED", "20261130"))
PROJECT, EMAIL, KID = "proj-1", "berth@proj-1.iam.gserviceaccount.com", "0123456789abcdef"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
DOCS = os.path.join(os.path.dirname(discovery_cache.__file__), "documents")


class Model:
    """One discovery document: which method a request is, what is wrong with it, and objects of its schemas."""

    def __init__(self, name):
        with open(os.path.join(DOCS, name + ".json")) as f:
            self.text = f.read()
        self.doc = json.loads(self.text)
        self.methods = []
        self._collect(self.doc["resources"])

    def _collect(self, resources):
        for r in resources.values():
            for m in r.get("methods", {}).values():
                path = "/" + self.doc["servicePath"] + m.get("flatPath", m["path"])
                self.methods.append((re.compile(re.sub(r"\\\{[^}]*\\\}", "([^/]+)", re.escape(path)) + "$"), m))
            self._collect(r.get("resources", {}))

    def find(self, call):
        for pattern, m in self.methods:
            if m["httpMethod"] == call.method and pattern.match(call.path):
                return m
        return None

    def faults(self, call, m):
        out = []
        known = {k: v for k, v in m.get("parameters", {}).items() if v["location"] == "query"}
        for key, value in call.query:
            spec = known.get(key) or self.doc["parameters"].get(key)
            if spec is None:
                out.append(f"no parameter {key}")
            else:
                out += self.value(value, spec, key, text=True)
        given = dict(call.query)
        out += [f"{k} is required" for k, v in known.items() if v.get("required") and k not in given]
        if call.body is not None and "request" not in m:
            out.append("a body that the method does not take")
        if "request" in m:
            out += self.check(call.body or {}, self.doc["schemas"][m["request"]["$ref"]], "$")
        return out

    def value(self, v, spec, where, text=False):
        kind, form = spec.get("type"), spec.get("format")
        if text and kind in ("integer", "boolean"):
            try:
                v = int(v) if kind == "integer" else {"true": True, "false": False}[v]
            except (ValueError, KeyError):
                return [f"{where}: {v!r} is no {kind}"]
        want = {"string": str, "integer": int, "boolean": bool, "number": (int, float)}.get(kind)
        if want and not isinstance(v, want) or (kind == "integer" and isinstance(v, bool)):
            return [f"{where}: {v!r} is no {kind}"]
        if form in ("int64", "uint64") and kind == "string" and not re.fullmatch(r"-?\d+", v):
            return [f"{where}: {v!r} is no {form}"]
        if "enum" in spec and v not in spec["enum"]:
            return [f"{where}: {v!r} is none of the enumerated"]
        if "pattern" in spec and not re.match(spec["pattern"], v):
            return [f"{where}: {v!r} does not match {spec['pattern']}"]
        return []

    def check(self, v, schema, where):
        if "$ref" in schema:
            schema = self.doc["schemas"][schema["$ref"]]
        if schema.get("type") == "array":
            if not isinstance(v, list):
                return [f"{where} is no array"]
            return [f for i, x in enumerate(v) for f in self.check(x, schema["items"], f"{where}[{i}]")]
        if schema.get("type") != "object":
            return self.value(v, schema, where)
        if not isinstance(v, dict):
            return [f"{where} is no object"]
        out = []
        for k, x in v.items():
            spec = schema.get("properties", {}).get(k, schema.get("additionalProperties"))
            if spec is None:
                out.append(f"{where}.{k} is not in the document")
            elif spec.get("readOnly"):
                out.append(f"{where}.{k} is the server's to set")
            else:
                out += self.check(x, spec, f"{where}.{k}")
        return out

    def build(self, name, rng, given, depth=2):
        """An object of a schema: every plain property, nested ones to a depth, over it what is given."""
        schema = self.doc["schemas"][name] if isinstance(name, str) else name
        out = {}
        for k, spec in schema.get("properties", {}).items():
            v = self._any(spec, rng, depth)
            if v is not None and rng.random() < 0.8:
                out[k] = v
        out.update(given)
        faults = [f for f in self.check(out, schema, name if isinstance(name, str) else "$") if "server's to set" not in f]
        assert not faults, faults
        return out

    def _any(self, spec, rng, depth):
        if "$ref" in spec:
            spec = self.doc["schemas"][spec["$ref"]]
        kind = spec.get("type")
        if kind == "string":
            if "enum" in spec:
                return rng.choice(spec["enum"])
            form = spec.get("format", "")
            if "int64" in form:
                return str(rng.randrange(1, 10**12))
            if form == "google-datetime":
                return "2026-01-02T03:04:05.678Z"
            return None if form or "pattern" in spec else "text " + str(rng.randrange(1000))
        if kind == "integer":
            return rng.randrange(0, 1000)
        if kind == "number":
            return rng.random() * 100
        if kind == "boolean":
            return rng.random() < 0.5
        if kind == "array" and depth > 0:
            item = self._any(spec["items"], rng, depth - 1)
            return [item] if item is not None else None
        if kind == "object" and depth > 0 and "properties" in spec:
            out = {k: self._any(s, rng, depth - 1) for k, s in spec["properties"].items()}
            return {k: v for k, v in out.items() if v is not None}
        return None


compute, billing, tpu, resources = (Model(n) for n in ("compute.v1", "cloudbilling.v1", "tpu.v2", "cloudresourcemanager.v1"))
rng = random.Random(SEED)
key = new_key()
faults = []
tokens = []


def link(kind, zone, name):
    return f"https://www.googleapis.com/compute/v1/projects/{PROJECT}/zones/{zone}/{kind}/{name}"


def sku(description, group, usage, unit, region, price):
    nanos = round(price * 10**9)
    money = billing.build("Money", rng, {"currencyCode": "USD", "units": str(nanos // 10**9), "nanos": nanos % 10**9})
    tier = billing.build("TierRate", rng, {"startUsageAmount": 0, "unitPrice": money})
    expression = billing.build("PricingExpression", rng, {"usageUnit": unit, "tieredRates": [tier]})
    info = billing.build("PricingInfo", rng, {"pricingExpression": expression})
    category = billing.build("Category", rng, {"resourceFamily": "Compute", "resourceGroup": group, "usageType": usage})
    return billing.build("Sku", rng, {"description": description, "category": category, "serviceRegions": [region],
                                      "pricingInfo": [info]})


REGIONS = {"us-central1": 1.0, "europe-west4": 1.1, "asia-southeast1": 1.27}
PARTS = {("A2", "c"): 0.031611, ("A2", "r"): 0.004237, ("G2", "c"): 0.024988, ("G2", "r"): 0.002927,
         ("N1 Predefined", "c"): 0.031611, ("N1 Predefined", "r"): 0.004237, ("Nvidia Tesla A100 GPU", "g"): 2.933908,
         ("Nvidia L4 GPU", "g"): 0.56004, ("Nvidia Tesla T4 GPU", "g"): 0.35, ("TpuV6e", "t"): 2.7}
HOST = {"a2-highgpu": ("A2", "Nvidia Tesla A100 GPU"), "g2-standard": ("G2", "Nvidia L4 GPU"),
        "n1-standard": ("N1 Predefined", "Nvidia Tesla T4 GPU")}


def all_skus():
    out = []
    for region, factor in REGIONS.items():
        for (name, kind), price in PARTS.items():
            group = {"c": "CPU", "r": "RAM", "g": "GPU", "t": "TPU"}[kind]
            unit = "GiBy.h" if kind == "r" else "h"
            part = {"c": " Instance Core", "r": " Instance Ram"}.get(kind, "")
            out.append(sku(f"{name}{part} running in Somewhere", group, "OnDemand", unit, region, round(price * factor, 6)))
            spot = f"Spot Preemptible {name}{part} running in X" if part else \
                f"{name} attached to Spot Preemptible VMs running in X"
            out.append(sku(spot, group, "Preemptible", unit, region, round(price * factor * 0.4, 6)))
            if region != "europe-west4" and kind != "t":
                commit = {"c": "Cpu", "r": "Ram"}.get(kind)
                what = name if commit is None else commit if name.startswith("N1") else f"{name} {commit}"
                out.append(sku(f"Commitment v1: {what} in X for 1 Year", group, "Commit1Yr", unit, region,
                               round(price * factor * 0.63, 6)))
    rng.shuffle(out)
    return out


def all_types():
    out = {}
    for region in REGIONS:
        for z in "ab":
            zone = f"{region}-{z}"
            rows = [("a2-highgpu-1g", 12, 87040, "nvidia-tesla-a100", 1), ("a2-highgpu-8g", 96, 696320, "nvidia-tesla-a100", 8),
                    ("g2-standard-4", 4, 16384, "nvidia-l4", 1), ("n1-standard-8", 8, 30720, None, 0),
                    ("e2-medium", 2, 4096, None, 0)]
            types = []
            for name, cpus, mib, card, n in rows:
                if z == "b" and name.startswith("a2-"):
                    continue
                given = {"name": name, "guestCpus": cpus, "memoryMb": mib, "zone": zone, "kind": "compute#machineType"}
                if n:
                    given["accelerators"] = [{"guestAcceleratorType": card, "guestAcceleratorCount": n}]
                m = compute.build("MachineType", rng, given)
                if not n:
                    m.pop("accelerators", None)
                m.pop("deprecated", None)
                types.append(m)
            out[f"zones/{zone}"] = {"machineTypes": types}
    return out


SKUS, TYPES = all_skus(), all_types()
OLD_SKUS = [sku("Tpu-v3 USA", "TPU", "OnDemand", "h", "us-central1", 8.8), sku("Tpu-v3 Pod USA", "TPU", "OnDemand", "h", "us-central1", 8.0),
            sku("Preemptible Tpu-v3 USA", "TPU", "OnDemand", "h", "us-central1", 2.64)]
CARDS = {"zones/us-central1-b": {"acceleratorTypes": [compute.build("AcceleratorType", rng, {"name": "nvidia-tesla-t4"})]}}
CARDS["zones/us-central1-b"]["acceleratorTypes"][0].pop("deprecated", None)


def all_instances():
    out = []
    statuses = compute.doc["schemas"]["Instance"]["properties"]["status"]["enum"]
    for i in range(3 * len(statuses)):
        zone = rng.choice(["us-central1-a", "europe-west4-b"])
        kind = rng.choice(["a2-highgpu-1g", "g2-standard-4", "n1-standard-8"])
        given = {"name": f"berth-inst-t{i}", "zone": link("zones", zone, "")[:-1].rsplit("/", 1)[0] + "/" + zone,
                 "status": statuses[i % len(statuses)], "machineType": link("machineTypes", zone, kind),
                 "creationTimestamp": f"2026-11-2{i % 10}T0{i % 9}:00:00.123-08:00",
                 "lastStartTimestamp": "2026-11-29T01:00:00.000-08:00",
                 "labels": {"berth-installation": rng.choice(["inst", "inst", "other"]), "berth-token": f"t{i}"},
                 "guestAccelerators": [{"acceleratorType": link("acceleratorTypes", zone, "nvidia-tesla-t4"),
                                        "acceleratorCount": rng.choice([1, 2])}],
                 "networkInterfaces": [{"networkIP": f"10.0.0.{i}"} if i % 3 == 0 else
                                       {"networkIP": "10.0.0.1", "accessConfigs": [{"natIP": f"192.0.2.{i}"}]}]}
        m = compute.build("Instance", rng, given)
        m["scheduling"] = compute.build("Scheduling", rng, {"provisioningModel": rng.choice(
            compute.doc["schemas"]["Scheduling"]["properties"]["provisioningModel"]["enum"])})
        out.append(m)
    return out


INSTANCES = all_instances()
FAILED = compute.build("Operation", rng, {
    "name": "operation-9", "operationType": "insert", "status": "DONE", "targetLink": link("instances", "us-central1-a",
    "berth-inst-lost"), "zone": "x/us-central1-a", "error": {"errors": [{"code": "ZONE_RESOURCE_POOL_EXHAUSTED",
                                                                        "message": "none left"}]},
    "httpErrorStatusCode": 503})
REGION_LIST = [compute.build("Region", rng, {"name": r, "quotas": [
    compute.build("Quota", rng, {"metric": m, "limit": float(n), "usage": float(n // 2)}) for n, m in
    enumerate(compute.doc["schemas"]["Quota"]["properties"]["metric"]["enum"])]}) for r in REGIONS]


def paged(call, token, first, second):
    return first if call.arg("pageToken") is None else second if call.arg("pageToken") == token else None


def compute_answer(call, m):
    halves = list(TYPES.items())
    if m["id"] == "compute.machineTypes.aggregatedList":
        items = paged(call, "t/2+", dict(halves[:3]), dict(halves[3:]))
        return {"kind": "compute#machineTypeAggregatedList", "items": items,
                **({"nextPageToken": "t/2+"} if call.arg("pageToken") is None else {})}
    if m["id"] == "compute.acceleratorTypes.aggregatedList":
        return {"kind": "compute#acceleratorTypeAggregatedList", "items": CARDS}
    if m["id"] == "compute.regions.list":
        return {"kind": "compute#regionList", "items": paged(call, "r2", REGION_LIST[:2], REGION_LIST[2:]),
                **({"nextPageToken": "r2"} if call.arg("pageToken") is None else {})}
    if m["id"] == "compute.projects.get":
        return compute.build("Project", rng, {"name": PROJECT, "quotas": [
            compute.build("Quota", rng, {"metric": "GPUS_ALL_REGIONS", "limit": 16.0, "usage": 3.0})]})
    if m["id"] == "compute.instances.aggregatedList":
        want = re.fullmatch(r'labels\.berth-installation = "(\w+)"', call.arg("filter", ""))
        items = {}
        for i in INSTANCES:
            if want and i["labels"]["berth-installation"] == want.group(1):
                items.setdefault("zones/" + i["zone"].rsplit("/", 1)[1], {"instances": []})["instances"].append(i)
        return {"kind": "compute#instanceAggregatedList", "items": items}
    if m["id"] == "compute.globalOperations.aggregatedList":
        op = dict(FAILED, insertTime=now_text())
        return {"kind": "compute#operationAggregatedList", "items": {"zones/us-central1-a": {"operations": [op]}}}
    if m["id"] == "compute.zoneOperations.list":
        return {"kind": "compute#operationList", "items": [dict(FAILED, insertTime=now_text())]}
    if m["id"] == "compute.instances.insert":
        zone = call.path.split("/zones/")[1].split("/")[0]
        return operation("insert", zone, call.body["name"])
    if m["id"] == "compute.instances.delete":
        zone, name = re.search(r"/zones/([^/]+)/instances/([^/]+)", call.path).groups()
        return operation("delete", zone, name)
    if m["id"] == "compute.instances.get":
        return next((i for i in INSTANCES if call.path.endswith("/" + i["name"])), None)
    return None


def operation(kind, zone, name):
    op = compute.build("Operation", rng, {"kind": "compute#operation", "name": "operation-1", "operationType": kind,
                                          "status": "RUNNING", "targetLink": link("instances", zone, name)})
    op.pop("error", None)
    return op


def now_text():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


QUEUED = [tpu.build("QueuedResource", rng, {
    "name": f"projects/{PROJECT}/locations/us-central1-b/queuedResources/berth-inst-q{i}", "createTime": "2026-11-29T01:02:03Z",
    "state": {"state": s}, "tpu": {"nodeSpec": [{"node": {"acceleratorType": "v6e-8", "labels": {
        "berth-installation": "inst", "berth-token": f"q{i}"}}}]}}) for i, s in
    enumerate(tpu.doc["schemas"]["QueuedResourceState"]["properties"]["state"]["enum"])]
for i, q in enumerate(QUEUED):
    q.pop("spot", None)
    if i % 2:
        q["spot"] = {}


def tpu_answer(call, m):
    leaf = m["id"].rsplit(".", 2)[1:]
    if leaf == ["acceleratorTypes", "list"]:
        return {"acceleratorTypes": [tpu.build("AcceleratorType", rng, {"type": t, "acceleratorConfigs": [
            {"type": t.split("-")[0].upper(), "topology": size}]}) for t, size in (("v6e-8", "2x4"), ("v3-8", "2x2"))]}
    if leaf == ["nodes", "list"]:
        return {"nodes": [tpu.build("Node", rng, {
            "name": f"projects/{PROJECT}/locations/us-central1-b/nodes/berth-inst-q6", "state": "READY", "acceleratorType": "v6e-8",
            "createTime": "2026-11-29T01:02:03Z", "labels": {"berth-installation": "inst", "berth-token": "q6"},
            "schedulingConfig": {"spot": True}, "networkEndpoints": [{"ipAddress": "10.1.1.1",
                                                                    "accessConfig": {"externalIp": "192.0.2.200"}}]})]}
    if leaf == ["queuedResources", "list"]:
        return {"queuedResources": QUEUED}
    if leaf == ["queuedResources", "get"]:
        return next((q for q in QUEUED if call.path.endswith("/" + q["name"].rsplit("/", 1)[1])), None)
    if leaf in (["queuedResources", "create"], ["queuedResources", "delete"]):
        return {"name": f"projects/{PROJECT}/locations/us-central1-b/operations/op-1", "done": False}
    return None


def resources_answer(call, m):
    """Half of what was asked for is granted."""
    return resources.build("TestIamPermissionsResponse", rng, {"permissions": call.body["permissions"][::2]})


def token_answer(call):
    form = call.body
    tokens.append((call.who, form))
    claims = google.auth.jwt.decode(form["assertion"], certs=public_pem(key), audience="https://oauth2.googleapis.com/token")
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" and claims["iss"] == EMAIL
    return {"access_token": "ya29.witness", "expires_in": 3599, "token_type": "Bearer"}


def app(call):
    if call.path == "/token":
        return 200, token_answer(call), {}
    if call.path.startswith("/quotas/"):		# the client brings no document of this API
        return 403, {"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "not on"}}, {}
    for model, answer in ((compute, compute_answer), (billing, None), (tpu, tpu_answer), (resources, resources_answer)):
        m = model.find(call)
        if m is None:
            continue
        wrong = model.faults(call, m)
        faults.extend(f"{call.who}: {m['id']}: {f}" for f in wrong)
        if call.headers.get("Authorization") != "Bearer ya29.witness":
            return 401, {"error": {"code": 401, "message": "no"}}, {}
        if wrong:
            return 400, {"error": {"code": 400, "message": "; ".join(wrong), "errors": [{"reason": "invalid"}]}}, {}
        if model is billing and "E000-3F24-B8AA" in call.path:
            out = {"skus": OLD_SKUS}
        elif model is billing:
            out = {"skus": paged(call, "s2=", SKUS[:20], SKUS[20:]), **({"nextPageToken": "s2="} if not call.arg("pageToken") else {})}
        else:
            out = answer(call, m)
        if out is None:
            return 404, {"error": {"code": 404, "message": "not found", "errors": [{"reason": "notFound"}]}}, {}
        return 200, out, {}
    faults.append(f"{call.who}: no method is {call.method} {call.path}")
    return 404, {"error": {"code": 404, "message": "no such method"}}, {}


folder = own_folder()
server = Server(folder, app)
info = {"type": "service_account", "project_id": PROJECT, "private_key_id": KID, "private_key": key_pem(key),
        "client_email": EMAIL, "token_uri": server.base + "/token"}
with open(os.path.join(folder, "key.json"), "w") as f:
    json.dump(info, f)
SSH = "me:ssh-ed25519 AAAA me"
berth = Berth(server, folder, {
    "name": "g", "provider": "gcp", "project": PROJECT, "credentials": "file:" + os.path.join(folder, "key.json"), "image": "projects/p/global/images/family/f",
    "ssh_key": SSH, "endpoint": server.base, "billing_endpoint": server.base, "tpu_endpoint": server.base, "resources_endpoint": server.base, "quotas_endpoint": server.base + "/quotas", "ca_file": server.cert,
    "tpu_zones": ["us-central1-b"], "timeout": "20s"})

credentials = service_account.Credentials.from_service_account_info(info, scopes=[SCOPE])
http = google_auth_httplib2.AuthorizedHttp(credentials, http=httplib2.Http(ca_certs=server.cert))


def client(model):
    return googleapiclient.discovery.build_from_document(model.text, http=http, client_options={
        "api_endpoint": server.base + "/" + model.doc["servicePath"]})


server.who = "client"
gce, bill, tpus, manager = client(compute), client(billing), client(tpu), client(resources)


def every(method, **args):
    """All pages, as the client walks them."""
    request = method(**args)
    pages = []
    while request is not None:
        pages.append(request.execute())
        token = pages[-1].get("nextPageToken")
        request = method(**args, pageToken=token) if token else None
    return pages


# --- offers -------------------------------------------------------------------------------------------------------
rc, lines = berth.call("offers")
ok(rc == 0, "berth lists offers", berth.err, "\n".join(lines[:5]))
types = every(gce.machineTypes().aggregatedList, project=PROJECT, maxResults=500)
cards = every(gce.acceleratorTypes().aggregatedList, project=PROJECT, maxResults=500)
chips = every(tpus.projects().locations().acceleratorTypes().list, parent=f"projects/{PROJECT}/locations/us-central1-b", pageSize=100)
old = every(bill.services().skus().list, parent="services/E000-3F24-B8AA", currencyCode="USD", pageSize=5000)
skus = every(bill.services().skus().list, parent="services/6F81-5844-456A", currencyCode="USD", pageSize=5000)
for name, path in (("machine types", "aggregated/machineTypes"), ("cards", "aggregated/acceleratorTypes"),
                   ("TPU types", "locations/us-central1-b/acceleratorTypes"), ("prices of TPUs up to v4", "E000-3F24-B8AA/skus"),
                   ("prices", "6F81-5844-456A/skus")):
    compare(server, name, "GET", path, ignore=("alt",), last=False)
    compare(server, name + ", last page", "GET", path, ignore=("alt",))

price = {}
for s in (s for p in skus for s in p["skus"]):
    rate = s["pricingInfo"][0]["pricingExpression"]["tieredRates"][-1]["unitPrice"]
    for region in s["serviceRegions"]:
        price[region, s["category"]["usageType"], re.sub(r" (running )?in .*", "", s["description"])] = \
            int(rate["units"]) + rate["nanos"] / 1e9


def part(region, buy, host, kind):
    if buy == "Commit1Yr":
        word = {"c": "Cpu", "r": "Ram"}[kind]
        return price.get((region, buy, "Commitment v1: " + (word if host.startswith("N1") else f"{host} {word}")))
    return price.get((region, buy, ("Spot Preemptible " if buy == "Preemptible" else "") + host +
                      {"c": " Instance Core", "r": " Instance Ram"}[kind]))


def card_price(region, buy, name):
    return price.get((region, buy, ("Commitment v1: " if buy == "Commit1Yr" else "") + name +
                      (" attached to Spot Preemptible VMs" if buy == "Preemptible" else "")))


want = set()
with_t4 = {z for p in cards for z, s in p["items"].items() if any(a["name"] == "nvidia-tesla-t4" for a in s.get("acceleratorTypes", []))}
for zone, t in ((z, t) for p in types for z, s in p["items"].items() for t in s.get("machineTypes", [])):
    family, zone_name = t["name"].rsplit("-", 1)[0], zone.split("/")[1]
    region = zone_name.rsplit("-", 1)[0]
    if family not in HOST:
        continue
    host, card = HOST[family]
    counts = [t["accelerators"][0]["guestAcceleratorCount"]] if "accelerators" in t else [1, 2, 4] if zone in with_t4 else []
    for n in counts:
        kind = t["name"] if "accelerators" in t else f"{t['name']}+{n}xnvidia-tesla-t4"
        for buy, word in (("OnDemand", "on_demand"), ("Preemptible", "spot"), ("Commit1Yr", "reserved")):
            parts = part(region, buy, host, "c"), part(region, buy, host, "r"), card_price(region, buy, card)
            if None not in parts:
                usd = t["guestCpus"] * parts[0] + t["memoryMb"] / 1024 * parts[1] + n * parts[2]
                want.add((region, "-" if word == "reserved" else zone_name, kind, n, word, f"{usd:.4f}"))
for t in (t for p in chips for t in p["acceleratorTypes"]):
    for buy, word in (("OnDemand", "on_demand"), ("Preemptible", "spot")):
        if t["type"] == "v3-8":
            rate = next(s for s in old[0]["skus"] if ("Preemptible" in s["description"]) == (word == "spot") and "Pod" not in s["description"])
            rate = rate["pricingInfo"][0]["pricingExpression"]["tieredRates"][-1]["unitPrice"]
            want.add(("us-central1", "us-central1-b", "v3-8", 4, word, f"{int(rate['units']) + rate['nanos'] / 1e9:.4f}"))
            continue
        want.add(("us-central1", "us-central1-b", t["type"], 8, word, f"{8 * card_price('us-central1', buy, 'TpuV6e'):.4f}"))
have = set()
for line in lines:
    f = line.split()
    n = next(i for i, w in enumerate(f) if re.fullmatch(r"x\d+", w))
    have.add((f[0], f[1], f[2], int(f[n][1:]), f[n + 1], f[n + 2]))
ok(have == want and len(lines) == len(have), f"{len(want)} offers, as what the client read adds up to",
   {"only berth": sorted(map(str, have - want))[:10], "only client": sorted(map(str, want - have))[:10]})

# --- quotas -------------------------------------------------------------------------------------------------------
rc, lines = berth.call("quota")
regions = every(gce.regions().list, project=PROJECT, maxResults=500)
project = gce.projects().get(project=PROJECT).execute()
compare(server, "regions", "GET", "/regions", ignore=("alt",), last=False)
compare(server, "project", "GET", f"/compute/v1/projects/{PROJECT}", ignore=("alt",))
want = {(r["name"], q["metric"], float(q["limit"]), float(q["usage"])) for p in regions for r in p["items"] for q in r["quotas"]
        if q["metric"].endswith(("_GPUS", "CPUS")) or "TPU_" in q["metric"] or q["metric"].endswith("ALL_REGIONS")}
want |= {("-", q["metric"], float(q["limit"]), float(q["usage"])) for q in project["quotas"]}
have = {(f[0], f[1], float(f[3]), float(f[4])) for f in (line.split("|") for line in lines)}
ok(rc == 0 and have == want, f"{len(want)} quotas of cards and cores", sorted(map(str, have ^ want))[:10])

# --- machines -----------------------------------------------------------------------------------------------------
STATES = {"RUNNING": "ready", "STOPPING": "ending", "PENDING_STOP": "ending", "DEPROVISIONING": "ending",
          **dict.fromkeys(["PENDING", "PROVISIONING", "STAGING", "REPAIRING"], "pending"),
          **dict.fromkeys(["SUSPENDING", "SUSPENDED", "STOPPED", "TERMINATED"], "failed")}
server.clear()
rc, lines = berth.call("list")
found = every(gce.instances().aggregatedList, project=PROJECT, maxResults=500, filter='labels.berth-installation = "inst"')
ops = every(gce.globalOperations().aggregatedList, project=PROJECT, maxResults=500,
            filter='(operationType = "insert") OR (operationType = "compute.instances.preempted")')
nodes = every(tpus.projects().locations().nodes().list, parent=f"projects/{PROJECT}/locations/us-central1-b", pageSize=100)
queued = every(tpus.projects().locations().queuedResources().list, parent=f"projects/{PROJECT}/locations/us-central1-b", pageSize=100)
for name, path in (("machines", "aggregated/instances"), ("operations", "aggregated/operations"), ("nodes", "/nodes"),
                   ("queued resources", "/queuedResources")):
    compare(server, name, "GET", path, ignore=("alt",))
have = {}
for line in lines:
    have.setdefault(machine(line)["ref"], machine(line))
want = {}
for i in (i for p in found for s in p["items"].values() for i in s.get("instances", [])):
    zone, kind = i["zone"].rsplit("/", 1)[1], i["machineType"].rsplit("/", 1)[1]
    nic, g = i["networkInterfaces"][0], i["guestAccelerators"][0]
    spot = i["scheduling"]["provisioningModel"] == "SPOT"
    state = STATES[i["status"]]
    want[f"{zone}/{i['name']}"] = {
        "token": i["labels"]["berth-token"], "state": state, "zone": zone, "purchase": "spot" if spot else "on_demand",
        "type": f"{kind}+{g['acceleratorCount']}xnvidia-tesla-t4" if kind.startswith("n1-") else kind,
        "address": nic["accessConfigs"][0]["natIP"] if "accessConfigs" in nic else nic["networkIP"],
        "preempted": spot and state == "failed"}
got = {ref: {k: m[k] for k in next(iter(want.values()))} for ref, m in have.items() if ref in want}
ok(rc == 0 and got == want, f"{len(want)} machines in every state that the document has, as the client read them",
   {k: [got.get(k), want[k]] for k in list(want)[:40] if got.get(k) != want[k]})
lost = have.get("us-central1-a/berth-inst-lost", {})
ok(lost.get("state") == "failed" and lost.get("why") == "no_capacity", "an insert that was accepted and failed", lost)
QSTATES = {"ACTIVE": "ready", "DELETING": "ending", **dict.fromkeys(["FAILED", "SUSPENDING", "SUSPENDED"], "failed")}
for q in (q for p in queued for q in p["queuedResources"]):
    name = q["name"].rsplit("/", 1)[1]
    m = have.get(f"tpu:us-central1-b/{name}", {})
    node = next((n for p in nodes for n in p["nodes"] if n["name"].endswith("/" + name)), None)
    state = "ready" if node else QSTATES.get(q["state"]["state"], "pending")
    ok(m.get("state") == state and m.get("purchase") == ("spot" if "spot" in q or node else "on_demand") and m.get("type") == "v6e-8" and
       (not node or m.get("address") == "192.0.2.200"), f"a TPU that is {q['state']['state']}", m)

# --- one machine's life -------------------------------------------------------------------------------------------
token = "0123456789abcdef0123456789abcdef"
name, uuid = f"berth-inst-{token}", "01234567-89ab-cdef-0123-456789abcdef"
for kind, zone, purchase in (("g2-standard-4", "us-central1-a", "spot"), ("n1-standard-8+2xnvidia-tesla-t4", "us-central1-b", "on_demand")):
    server.clear()
    rc, lines = berth.call("create", token, zone, kind, purchase)
    ok(rc == 0 and lines and machine(lines[0])["ref"] == f"{zone}/{name}" and machine(lines[0])["state"] == "pending",
       f"berth makes a {kind}", lines, berth.err)
    body = {"name": name, "machineType": f"zones/{zone}/machineTypes/{kind.split('+')[0]}",
            "labels": {"berth-installation": "inst", "berth-token": token},
            "disks": [{"boot": True, "autoDelete": True, "initializeParams": {
                "sourceImage": "projects/p/global/images/family/f", "diskSizeGb": "100", "diskType": f"zones/{zone}/diskTypes/pd-balanced"}}],
            "networkInterfaces": [{"network": "global/networks/default",
                                   "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]}],
            "scheduling": {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE", "automaticRestart": False},
            "metadata": {"items": [{"key": "ssh-keys", "value": SSH}]}}
    if purchase == "spot":
        body["scheduling"].update(provisioningModel="SPOT", instanceTerminationAction="DELETE")
    if "+" in kind:
        body["guestAccelerators"] = [{"acceleratorType": f"projects/{PROJECT}/zones/{zone}/acceleratorTypes/nvidia-tesla-t4",
                                      "acceleratorCount": 2}]
    gce.instances().insert(project=PROJECT, zone=zone, requestId=uuid, body=body).execute()
    compare(server, f"insert of {kind}", "POST", "/instances", ignore=("alt",))
server.clear()
one = next(i for i in INSTANCES if i["status"] == "RUNNING" and i["labels"]["berth-installation"] == "inst")
where = one["zone"].rsplit("/", 1)[1]
rc, lines = berth.call("status", f"{where}/{one['name']}")
gce.instances().get(project=PROJECT, zone=where, instance=one["name"]).execute()
ok(rc == 0 and lines and machine(lines[0])["state"] == "ready", "status of one", lines)
compare(server, "get", "GET", "/instances/", ignore=("alt",))
rc, lines = berth.call("status", "us-central1-a/berth-inst-lost")
ended = gce.zoneOperations().list(project=PROJECT, zone="us-central1-a", maxResults=500,
                                  filter='(operationType = "insert") OR (operationType = "compute.instances.preempted")').execute()
m = machine(lines[0]) if rc == 0 and lines else {}
ok(m.get("state") == "failed" and m.get("why") == "no_capacity" and
   ended["items"][0]["error"]["errors"][0]["code"] == "ZONE_RESOURCE_POOL_EXHAUSTED", "status of one that was accepted and failed", lines)
compare(server, "operations of a zone", "GET", "/zones/us-central1-a/operations", ignore=("alt",))
rc, lines = berth.call("destroy", f"{where}/{one['name']}")
gce.instances().delete(project=PROJECT, zone=where, instance=one["name"]).execute()
ok(rc == 0 and lines and machine(lines[0])["state"] == "ending", "its end", lines)
compare(server, "delete", "DELETE", "/instances/", ignore=("alt",))

server.clear()
parent = f"projects/{PROJECT}/locations/us-central1-b"
rc, lines = berth.call("create", token, "us-central1-b", "v6e-8", "spot")
ok(rc == 0 and lines and machine(lines[0])["ref"] == f"tpu:us-central1-b/{name}", "berth queues for a TPU", lines, berth.err)
tpus.projects().locations().queuedResources().create(parent=parent, queuedResourceId=name, requestId=uuid, body={
    "spot": {}, "tpu": {"nodeSpec": [{"parent": parent, "nodeId": name, "node": {
        "acceleratorType": "v6e-8", "runtimeVersion": "v2-alpha-tpuv6e", "labels": {"berth-installation": "inst", "berth-token": token},
        "networkConfig": {"enableExternalIps": True}, "metadata": {"ssh-keys": SSH}}}]}}).execute()
compare(server, "queued resource", "POST", "/queuedResources", ignore=("alt",))
rc, lines = berth.call("status", "tpu:us-central1-b/berth-inst-q1")
tpus.projects().locations().queuedResources().get(name=parent + "/queuedResources/berth-inst-q1").execute()
compare(server, "get of a queued resource", "GET", "/queuedResources/", ignore=("alt",))
rc, lines = berth.call("destroy", "tpu:us-central1-b/berth-inst-q1")
tpus.projects().locations().queuedResources().delete(name=parent + "/queuedResources/berth-inst-q1", force=True).execute()
compare(server, "delete of a queued resource", "DELETE", "/queuedResources/", ignore=("alt",))

server.clear()
rc, lines = berth.call("check")
asked = server.of("berth", "POST", "testIamPermissions")[0].body["permissions"]
granted = manager.projects().testIamPermissions(resource=PROJECT, body={"permissions": asked}).execute()["permissions"]
compare(server, "permissions", "POST", "testIamPermissions", ignore=("alt",))
missing = [p for p in asked if p not in granted]
ok(rc == 0 and lines and lines[0].startswith("permissions|auth|missing: " + ", ".join(missing[:4])), "what is missing", lines, missing)

# --- tokens, and the documents' verdict -----------------------------------------------------------------------------
ours, theirs = ([form for who, form in tokens if who == w] for w in ("berth", "client"))
ok(ours and theirs and all(set(f) == set(theirs[0]) for f in ours), "the token's form has the client's fields")
head = [google.auth.jwt.decode_header(f[0]["assertion"]) for f in (ours, theirs)]
claims = [google.auth.jwt.decode(f[0]["assertion"], verify=False) for f in (ours, theirs)]
ok(head[0] == head[1], "header of the assertion", head)
ok({k: v for k, v in claims[0].items() if k not in ("iat", "exp")} == {k: v for k, v in claims[1].items() if k not in ("iat", "exp")},
   "claims of the assertion", claims)
ok(claims[0]["exp"] - claims[0]["iat"] == claims[1]["exp"] - claims[1]["iat"] == 3600, "and its life", claims)
ok(len(ours) > 5, f"google-auth verified each of berth's {len(ours)} assertions")
ok(not faults, "no request, berth's or the client's, is against the documents", "\n".join(faults))
done()
