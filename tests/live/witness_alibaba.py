"""Alibaba Cloud: berth beside alibabacloud_ecs20140526.

The server verifies each signature, berth's and the client's, with the client's own signer, and answers with bodies that went
through the client's model classes. The client's requests are built by its request classes from what berth asked.
"""
import calendar
import hashlib
import json
import math
import os
import random
import re
import time
import types
import urllib.parse

from alibabacloud_ecs20140526 import models
from alibabacloud_ecs20140526.client import Client
from alibabacloud_tea_openapi import utils_models
from alibabacloud_tea_openapi.utils import Utils
from darabonba.runtime import RuntimeOptions

from witness import Berth, Server, done, machine, ok, own_folder

SEED = int(os.environ.get("WITNESS_SEED", "20261130"))
ID, SECRET, TOKEN = "LTAIwitness000000", "s3cr+t /=", "tok/en+=="
REGIONS = ["cn-hangzhou", "eu-central-1"]
rng = random.Random(SEED)
faults, nonces = [], set()
refuse_with = {}		# action: status and code of the next answer
verified = {"berth": 0, "client": 0}
# What the client signs besides host and x-acs-*: all that it sends, with words of its own and the key's id beside a token.
CLIENTS_OWN = {"x-acs-accesskey-id", "x-acs-credentials-provider", "accept", "user-agent"}


def through(name, value):
    """A body through the client's class: what the class does not know is lost, and told."""
    cls = getattr(models, name + "ResponseBody")
    out = cls().from_map(value).to_map()
    if json.dumps(out, sort_keys=True) != json.dumps(value, sort_keys=True):
        faults.append(f"{name}: {json.dumps(value)[:300]} comes out of the class as {json.dumps(out)[:300]}")
    return out


# --- a cloud -----------------------------------------------------------------------------------------------------------
CARDS = [("ecs.gn6i-c4g1.xlarge", "NVIDIA T4", 1, 16.0), ("ecs.gn6v-c8g1.16xlarge", "NVIDIA V100", 8, 16.0),
         ("ecs.gn7i-c32g1.8xlarge", "NVIDIA A10", 1, 24.0), ("ecs.vgn7i-vws-m8.2xlarge", "NVIDIA A10*1/4", 1, 6.0),
         ("ecs.vgn6i-m4.xlarge", "NVIDIA T4", 1, 4.0), ("ecs.gn7e-c16g1.4xlarge", "NVIDIA A100", 1, 80.0),
         ("ecs.gn8x.8xlarge", "GPU of tomorrow", 4, 96.0), ("ecs.g6.large", "", 0, 0.0)]
ALL_TYPES = [{"InstanceTypeId": n, "GPUSpec": s, "GPUAmount": c, "GPUMemorySize": m, "CpuCoreCount": rng.choice([4, 8, 32]),
              "MemorySize": rng.choice([15.0, 30.5, 188.0]), "InstanceTypeFamily": n.rsplit(".", 1)[0]} for n, s, c, m in CARDS]
STOCK = ["WithStock", "ClosedWithStock", "WithoutStock", "ClosedWithoutStock", None]


def room(region, sale):
    zones = []
    for z in "bc":
        sold = [{"Value": t["InstanceTypeId"], "Status": "Available" if s is None or "Without" not in s else "SoldOut",
                 **({"StatusCategory": s} if s else {})} for t in ALL_TYPES for s in [rng.choice(STOCK)] if rng.random() < 0.7]
        zones.append({"ZoneId": f"{region}-{z}", "RegionId": region, "Status": "Available", "StatusCategory": "WithStock",
                      "AvailableResources": {"AvailableResource": [{"Type": "InstanceType", "SupportedResources": {"SupportedResource": sold}}]}})
    return zones


ROOM = {(r, s): room(r, s) for r in REGIONS for s in ("hour", "spot", "ahead")}
PRICES, SPOT = {}, {}
for r in REGIONS:
    for t in ALL_TYPES:
        for unit in ("Hour1", "Month1", "Year1", "Year3"):
            base = rng.randrange(100, 99999) / 100 * (1 if unit == "Hour1" else 500)
            p = {"Currency": "CNY" if r.startswith("cn") else "USD", "OriginalPrice": round(base, 2), "DiscountPrice": 0.0,
                 "TradePrice": round(base * 0.9, 2)}
            if rng.random() < 0.6:
                p["DetailInfos"] = {"DetailInfo": [{"Resource": "systemDisk", "OriginalPrice": 1.0, "TradePrice": 1.0},
                                                   {"Resource": "instanceType", "OriginalPrice": round(base - 1, 2),
                                                    "TradePrice": round(base * 0.8, 2)}]}
            PRICES[r, t["InstanceTypeId"], unit] = p if rng.random() < 0.9 else None
        SPOT[r, t["InstanceTypeId"]] = [
            {"InstanceType": t["InstanceTypeId"], "ZoneId": f"{r}-{z}", "NetworkType": "vpc", "IoOptimized": "optimized",
             "SpotPrice": rng.randrange(1, 9999) / 1000, "OriginPrice": 10.0, "Timestamp": f"2026-11-29T{h:02d}:00:00Z"}
            for h in rng.sample(range(20, 24), 3) for z in "bc"]


ADVICE = {r: [{"ZoneId": f"{r}-{z}", "AvailableSpotResources": {"AvailableSpotResource": [
    {"InstanceType": t["InstanceTypeId"], "InterruptRateDesc": "0-3%", "AverageSpotDiscount": 30,
     **({"InterruptionRate": rng.choice([0.0, 0.5, 3.0, 17.25, 100.0])} if rng.random() < 0.8 else {})}
    for t in ALL_TYPES if rng.random() < 0.8]}} for z in "bc"] for r in REGIONS}


def instance(region, i):
    spot = rng.choice(["NoSpot", "SpotAsPriceGo", "SpotWithPriceLimit"])
    return {"InstanceId": f"i-{region[:2]}{i:04d}", "InstanceName": f"m {i} \u4e91", "InstanceType": rng.choice(CARDS)[0], "RegionId": region,
            "ZoneId": f"{region}-{rng.choice('bc')}", "Status": rng.choice(["Pending", "Starting", "Running", "Stopping", "Stopped"]),
            "SpotStrategy": spot, "CreationTime": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(1795000000 + rng.randrange(10 ** 6))),
            "EipAddress": {"IpAddress": rng.choice(["", f"198.51.100.{i % 250}"])},
            "PublicIpAddress": {"IpAddress": rng.choice([[], [f"192.0.2.{i % 250}"]])},
            "VpcAttributes": {"PrivateIpAddress": {"IpAddress": [f"10.0.0.{i % 250}"]}},
            "OperationLocks": {"LockReason": [{"LockReason": "Recycling"}] if rng.random() < 0.2 else []},
            "Tags": {"Tag": [{"TagKey": "team", "TagValue": "x"},
                             {"TagKey": "berth-installation", "TagValue": rng.choice(["inst"] * 4 + ["other"])},
                             {"TagKey": "berth-token", "TagValue": f"tok-{i}"}]}}


FLEET = {r: [instance(r, i) for i in range(n)] for r, n in zip(REGIONS, (230, 3))}
QUOTAS = {r: {n: str(rng.randrange(900)) for n in ("max-postpaid-instance-vcpu-count", "used-postpaid-instance-vcpu-count",
                                                  "max-spot-instance-vcpu-count", "used-spot-instance-vcpu-count")} for r in REGIONS}


def tags_of(m):
    return {t["TagKey"]: t["TagValue"] for t in m["Tags"]["Tag"]}


def answer(action, region, q):
    if action == "DescribeInstanceTypes":
        at = int(q.get("NextToken", "0"))
        return {"InstanceTypes": {"InstanceType": ALL_TYPES[at:at + 3]}, "NextToken": str(at + 3) if at + 3 < len(ALL_TYPES) else ""}
    if action == "DescribeAvailableResource":
        sale = "ahead" if q["InstanceChargeType"] == "PrePaid" else "spot" if "SpotStrategy" in q else "hour"
        return {"AvailableZones": {"AvailableZone": ROOM[region, sale]}}
    if action == "DescribePrice":
        p = PRICES[region, q["InstanceType"], q["PriceUnit"] + q["Period"]]
        return None if p is None else {"PriceInfo": {"Price": p}}
    if action == "DescribeSpotAdvice":
        return {"RegionId": region, "AvailableSpotZones": {"AvailableSpotZone": ADVICE[region]}}
    if action == "DescribeSpotPriceHistory":
        return {"Currency": "CNY" if region.startswith("cn") else "USD", "NextOffset": 0,
                "SpotPrices": {"SpotPriceType": SPOT[region, q["InstanceType"]]}}
    if action == "DescribeAccountAttributes":
        return {"AccountAttributeItems": {"AccountAttributeItem": [
            {"AttributeName": n, "AttributeValues": {"ValueItem": [{"Value": QUOTAS[region][n]}]}}
            for k, n in sorted(q.items()) if k.startswith("AttributeName.")]}}
    if action == "DescribeInstances":
        if "InstanceIds" in q:
            return {"Instances": {"Instance": [m for m in FLEET[region] if m["InstanceId"] in json.loads(q["InstanceIds"])]}, "NextToken": ""}
        found = [m for m in FLEET[region] if tags_of(m).get(q["Tag.1.Key"]) == q["Tag.1.Value"]]
        at, n = int(q.get("NextToken", "0")), int(q["MaxResults"])
        return {"Instances": {"Instance": found[at:at + n]}, "NextToken": str(at + n) if at + n < len(found) else ""}
    if action == "RunInstances":
        return {"InstanceIdSets": {"InstanceIdSet": ["i-new00001"]}}
    return {}


def verify(call):
    """The client's own signer over what came."""
    h = {k.lower(): v for k, v in call.headers.items()}
    named = re.search("SignedHeaders=([^,]*)", h["authorization"]).group(1).split(";")
    digest = hashlib.sha256(call.raw or b"").hexdigest()
    req = types.SimpleNamespace(method=call.method, pathname=call.path, query=dict(call.query), headers={k: h[k] for k in named})
    if not set(named) >= {k for k in h if k.startswith("x-acs-") or k in ("host", "content-type")}:
        return False
    return h.get("x-acs-content-sha256") == digest and \
        h.get("authorization") == Utils.get_authorization(req, "ACS3-HMAC-SHA256", digest, ID, SECRET)


def error(status, code):
    return status, {"Code": code, "Message": f"the words for {code}", "RequestId": "r", "HostId": "h"}, {}


def app(call):
    action, q = call.headers.get("x-acs-action"), dict(call.query)
    region = q.get("RegionId", REGIONS[0] if action == "DescribeInstanceTypes" else None)
    if call.method != "POST" or call.path != "/" or call.headers.get("x-acs-version") != "2014-05-26" or region not in REGIONS:
        faults.append(f"{call.who}: {call.method} {call.path} {action} {region}")
        return error(400, "InvalidParameter")
    if abs(time.time() - calendar.timegm(time.strptime(call.headers["x-acs-date"], "%Y-%m-%dT%H:%M:%SZ"))) > 900:
        return error(400, "InvalidTimeStamp.Expired")
    if not verify(call) or call.headers.get("x-acs-security-token") != TOKEN:
        faults.append(f"{call.who}: the signature of {action} is wrong")
        return error(400, "SignatureDoesNotMatch")
    if call.headers["x-acs-signature-nonce"] in nonces:
        faults.append(f"{call.who}: a nonce came twice")
    nonces.add(call.headers["x-acs-signature-nonce"])
    verified[call.who] += 1
    if action in refuse_with:
        return error(*refuse_with.pop(action))
    if action == "RunInstances" and q.get("DryRun") == "true":
        return error(400, "DryRunOperation")
    out = answer(action, region, q)
    return error(404, "PriceNotFound") if out is None else (200, through(action, {"RequestId": "r", **out}), {})


folder = own_folder()
server = Server(folder, app)
for name, text in (("id", ID), ("secret", SECRET), ("token", TOKEN)):
    with open(os.path.join(folder, name), "w") as f:
        f.write(text + "\n")
section = {"name": "a", "provider": "alibaba", "access_key_id": "file:" + os.path.join(folder, "id"),
           "access_key_secret": "file:" + os.path.join(folder, "secret"), "security_token": "file:" + os.path.join(folder, "token"),
           "regions": REGIONS, "image": "ubuntu_22_04_x64_20G_alibase.vhd", "security_group": "sg-1", "ssh_key": "my key",
           "vswitches": ["cn-hangzhou-b=vsw-b", "cn-hangzhou-c=vsw-c"], "spot_max_price": "12.5", "endpoint": server.base,
           "ca_file": server.cert, "timeout": "20s"}
berth = Berth(server, folder, section)
server.who = "client"
client = Client(utils_models.Config(access_key_id=ID, access_key_secret=SECRET, security_token=TOKEN, region_id=REGIONS[0],
                                    endpoint=server.base.removeprefix("https://")))
runtime = RuntimeOptions(ca=server.cert, read_timeout=20000)


def nested(pairs):
    """{"Tag.1.Key": k} -> {"Tag": [{"Key": k}]}, {"SystemDisk.Size": n} -> {"SystemDisk": {"Size": n}}."""
    out = {}
    for name, value in pairs:
        head, _, rest = name.partition(".")
        if head in ("SystemDisk",):
            out.setdefault(head, {})[rest] = value
        elif rest:
            at, _, key = rest.partition(".")
            row = out.setdefault(head, [])
            while len(row) < int(at):
                row.append({} if key else None)
            if key:
                row[int(at) - 1][key] = value
            else:
                row[int(at) - 1] = value
        else:
            out[name] = value		# a flag stays the text: Python's client alone would write True
    return out


def ask(call):
    """The same call by the client, from its request class; the answer as its classes read it."""
    action = call.headers["x-acs-action"]
    request = getattr(models, action + "Request")().from_map(nested(call.query))
    method = re.sub(r"(?<!^)(?=[A-Z])", "_", action).lower() + "_with_options"
    return getattr(client, method)(request, runtime).body.to_map()


def signed(call):
    return set(re.search("SignedHeaders=([^,]*)", call.headers["Authorization"]).group(1).split(";")) - CLIENTS_OWN


def seen(call):
    head = {k: call.headers.get(k) for k in ("x-acs-action", "x-acs-version", "x-acs-security-token", "x-acs-content-sha256", "Host",
                                             "Accept", "Content-Type")}
    return {"method": call.method, "path": call.path, "query": call.query, "body": call.raw or b"", "signed": sorted(signed(call)),
            "credential": call.headers["Authorization"].split(",")[0], **head}


def repeat(name):
    """The client asks all that berth asked; each pair is compared field by field. Its answers, None where it was refused."""
    answers = []
    ours = server.of("berth")
    for call in ours:
        try:
            answers.append(ask(call))
        except Exception as e:		# of the client's several classes
            answers.append(getattr(e, "code", None) or str(e))
    theirs = [seen(c) for c in server.of("client")]
    mine = [seen(c) for c in ours]
    ok(len(mine) == len(theirs) > 0 and mine == theirs, f"{name}: the same requests ({len(mine)}), field by field",
       next((repr((a, b)) for a, b in zip(mine, theirs) if a != b), f"{len(mine)} {len(theirs)}"))
    server.clear()
    return list(zip((dict(c.query) for c in ours), (c.headers["x-acs-action"] for c in ours), answers))


# --- offers ----------------------------------------------------------------------------------------------------------
os.environ["PROV_JSON"] = "1"
rc, lines = berth.call("offers")
offers = [json.loads(x) for x in lines] if rc == 0 else []
ok(rc == 0 and offers, "berth lists offers", lines[:3], berth.err)
said = repeat("offers")
TERMS = {"Hour1": 0, "Month1": 1, "Year1": 12, "Year3": 36}
cards, sold, want = {}, {}, []
for q, action, body in said:
    r = q.get("RegionId")
    if action == "DescribeInstanceTypes":
        cards.update({t["InstanceTypeId"]: t for t in body["InstanceTypes"]["InstanceType"] if t["GPUSpec"]})
    elif action == "DescribeAvailableResource":
        sale = "reserved" if q["InstanceChargeType"] == "PrePaid" else "spot" if "SpotStrategy" in q else "on_demand"
        for z in body["AvailableZones"]["AvailableZone"]:
            for s in z["AvailableResources"]["AvailableResource"][0]["SupportedResources"]["SupportedResource"]:
                c = s.get("StatusCategory") or ""
                free = "no" if s["Status"] == "SoldOut" or "Without" in c else "yes" if c else "unknown"
                sold.setdefault((r, s["Value"], sale), []).append((z["ZoneId"], free))
for q, action, body in said:
    r, name = q.get("RegionId"), q.get("InstanceType")
    if action == "DescribePrice" and isinstance(body, dict):
        p = body["PriceInfo"]["Price"]
        paid = next((d["TradePrice"] for d in p.get("DetailInfos", {}).get("DetailInfo", []) if d["Resource"] == "instanceType"), p["TradePrice"])
        months = TERMS[q["PriceUnit"] + q["Period"]]
        sale = "reserved" if months else "on_demand"
        for zone, free in sold[r, name, sale]:
            want.append((r, zone, name, free, sale, months, paid if months else 0.0, 0.0 if months else paid, p["Currency"]))
    elif action == "DescribeSpotPriceHistory":
        for zone, free in sold[r, name, "spot"]:
            newest = max((s for s in body["SpotPrices"]["SpotPriceType"] if s["ZoneId"] == zone), key=lambda s: s["Timestamp"])
            want.append((r, zone, name, free, "spot", 0, 0.0, newest["SpotPrice"], body["Currency"]))
got = [(o["region"], o["zone"], o["instance_type"], o["available"], o["purchase"], o["term_months"], float(o["upfront"]),
        None if o["price"] is None else float(o["price"]), o["currency"]) for o in offers]
ok(sorted(got, key=repr) == sorted(want, key=repr) and len(want) > 30, f"{len(want)} offers: places, room, terms, prices and currencies "
   "as the client reads them", [x for x in got if x not in want][:5], [x for x in want if x not in got][:5])
ok(all(o["vcpus"] == cards[o["instance_type"]]["CpuCoreCount"] and
       o["memory_gib"] == cards[o["instance_type"]]["MemorySize"] for o in offers), "cores and memory")
names = {o["instance_type"]: (o["accelerator"], o["count"]) for o in offers}
expect = {"ecs.gn6i-c4g1.xlarge": ("T4", 1), "ecs.vgn7i-vws-m8.2xlarge": ("A10-6Q", 1), "ecs.vgn6i-m4.xlarge": ("T4-4Q", 1),
          "ecs.gn7i-c32g1.8xlarge": ("A10", 1), "ecs.gn8x.8xlarge": ("GPU of tomorrow", 4)}
ok(all(names.get(k, v) == v for k, v in expect.items()) and names.get("ecs.gn6v-c8g1.16xlarge", (0, 8))[1] == 8,
   "parts and whole cards by name", names)

rates = {(q["RegionId"], z["ZoneId"], s["InstanceType"]): s.get("InterruptionRate") for q, action, body in said if action == "DescribeSpotAdvice"
         for z in body["AvailableSpotZones"]["AvailableSpotZone"] for s in z["AvailableSpotResources"]["AvailableSpotResource"]}
bad = []
for o in offers:
    share = rates.get((o["region"], o["zone"], o["instance_type"])) if o["purchase"] == "spot" else None
    hourly = None if share is None else -math.log1p(-min(share / 100, 0.99)) / 720
    if (o["interruption_rate"] is None) != (hourly is None) or hourly is not None and abs(o["interruption_rate"] - hourly) > 1e-9:
        bad.append((o, share, hourly))
ok(not bad and sum(o["interruption_rate"] is not None for o in offers) > 5, "spot offers are taken back as often as the client reads", bad[:2])

# --- quota -----------------------------------------------------------------------------------------------------------
rc, lines = berth.call("quota")
want = []
for q, action, body in repeat("quota"):
    v = {i["AttributeName"]: i["AttributeValues"]["ValueItem"][0]["Value"] for i in body["AccountAttributeItems"]["AccountAttributeItem"]}
    want += [f"{q['RegionId']}|max-{k}-instance-vcpu-count|vcpu|{v[f'max-{k}-instance-vcpu-count']}|{v[f'used-{k}-instance-vcpu-count']}"
             for k in ("postpaid", "spot")]
ok(rc == 0 and lines == want, "quotas as the client reads them", lines, want)

# --- machines --------------------------------------------------------------------------------------------------------
STATE = {"Pending": "pending", "Starting": "pending", "Running": "ready", "Stopped": "failed", "Stopping": "ending"}


def read(m, region):
    spot, state = m["SpotStrategy"] != "NoSpot", STATE[m["Status"]]
    going = spot and bool(m["OperationLocks"]["LockReason"])
    return {"ref": f"{region}/{m['InstanceId']}", "token": tags_of(m)["berth-token"], "installation": tags_of(m)["berth-installation"],
            "state": "noticed" if going and state == "ready" else state, "instance_type": m["InstanceType"], "region": region,
            "zone": m["ZoneId"], "address": (m["EipAddress"]["IpAddress"] or (m["PublicIpAddress"]["IpAddress"] or
                                                                              m["VpcAttributes"]["PrivateIpAddress"]["IpAddress"])[0]),
            "created": calendar.timegm(time.strptime(m["CreationTime"], "%Y-%m-%dT%H:%MZ")), "purchase": "spot" if spot else "on_demand",
            "preempted": going and state in ("failed", "ending")}


def fields(line, like):
    m = json.loads(line)
    return {k: m[k] for k in like}


rc, lines = berth.call("list")
want = [read(m, q["RegionId"]) for q, _, body in repeat("list, page by page") for m in body["Instances"]["Instance"]]
got = [fields(x, want[0]) for x in lines] if rc == 0 else []
ok(got == want and len(want) > 100 and any(m["state"] == "noticed" for m in want), f"{len(want)} machines of ours as the client reads them",
   next(({"berth": a, "client": b} for a, b in zip(got, want) if a != b), lines[:3]), berth.err)
one = next(m for m in FLEET["cn-hangzhou"] if tags_of(m)["berth-installation"] == "inst")
rc, lines = berth.call("status", "cn-hangzhou/" + one["InstanceId"])
body = repeat("status")[0][2]
ok(rc == 0 and fields(lines[0], want[0]) == read(body["Instances"]["Instance"][0], "cn-hangzhou"), "status of one", lines)
rc, lines = berth.call("status", "cn-hangzhou/i-nobody")
ok("error not_found" in lines[0], "one that is gone", lines)
server.clear()
rc, lines = berth.call("destroy", "cn-hangzhou/" + one["InstanceId"])
ok(rc == 0 and json.loads(lines[0])["state"] == "ending", "its end", lines)
repeat("end")
del os.environ["PROV_JSON"]

for purchase in ("on_demand", "spot"):
    os.environ["PROV_USER_DATA"] = "#!/bin/sh\necho '+/~*'\n"
    rc, lines = berth.call("launch", "tok-9", "cn-hangzhou", "cn-hangzhou-c", "ecs.gn6i-c4g1.xlarge", purchase)
    del os.environ["PROV_USER_DATA"]
    q, _, body = repeat(f"create, {purchase}")[0]
    ok(rc == 0 and machine(lines[0])["ref"] == "cn-hangzhou/" + body["InstanceIdSets"]["InstanceIdSet"][0], f"a machine, {purchase}", lines)
    ok(q["ClientToken"] == "tok-9" and q["Tag.2.Value"] == "tok-9" and q["Amount"] == "1" and q["VSwitchId"] == "vsw-c" and
       (q.get("SpotStrategy"), q.get("SpotPriceLimit")) == (("SpotWithPriceLimit", "12.5") if purchase == "spot" else (None, None)),
       f"asked for with its token, tags and network, {purchase}", q)
rc, lines = berth.call("check")
q, _, body = repeat("dry run")[0]
ok(rc == 0 and lines == ["ecs:RunInstances|ok|"] and q["DryRun"] == "true" and body == "DryRunOperation", "doctor asks by a dry run", lines, body)

# --- refusals --------------------------------------------------------------------------------------------------------
for status, code, word in ((403, "OperationDenied.NoStock", "no_capacity"), (403, "QuotaExceed.ElasticQuota", "quota"),
                           (403, "Forbidden.RAM", "auth"), (400, "InvalidParameter", "permanent")):
    refuse_with["RunInstances"] = status, code
    rc, lines = berth.call("launch", "tok-9", "cn-hangzhou", "cn-hangzhou-c", "ecs.gn6i-c4g1.xlarge", "on_demand")
    refuse_with["RunInstances"] = status, code
    theirs = repeat(f"create, refused with {code}")[0][2]
    ok(lines[0].startswith(f"error {word} ") and code in lines[0] and theirs == code, f"{code} is {word}", lines, theirs)
os.environ["PROV_NOW"] = str(int(time.time()) - 1200)
rc, lines = berth.call("quota")
del os.environ["PROV_NOW"]
ok(rc == 0 and len(server.of("berth")) == 1 + len(REGIONS), "a clock 20 minutes off is corrected once", lines)
ok(verified["berth"] > 40 and verified["client"] > 40, f"the client's signer verified {verified['berth']} signatures of berth's")
ok(not faults, "no request is against the documents, no answer against the client's classes, no nonce used twice", "\n".join(faults))
done()
