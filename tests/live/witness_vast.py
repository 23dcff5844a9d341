"""Vast.ai: berth beside the official client, vastai.

The server gives contracts that have every field of the client's Instance class, and asks with every field that the client's
search knows; where ssh listens is asked of the client's own command.
"""
import argparse
import contextlib
import dataclasses
import io
import json
import os
import random

import requests
from vastai.api import instances, offers, query
from vastai.api.client import VastClient
from vastai.cli import util
from vastai.cli.commands import misc
from vastai.data.instance import Instance

from witness import Berth, Server, done, machine, ok, own_folder

rng = random.Random(int(os.environ.get("WITNESS_SEED", "20261130")))
KEY = "key-witness/+="
STATUS = [None, "created", "loading", "connecting", "running", "exited", "stopped", "offline"]
STATE = {None: "pending", "created": "pending", "loading": "pending", "connecting": "pending", "running": "ready"}
SHIPS = ["RTX 4090", "H100 SXM", "L40S"]
refuse, faults = {}, []


def value(kind):
    text = str(kind)
    return (rng.choice(["x", "é", "", None]) if "str" in text else rng.randrange(100) if "int" in text else
            rng.random() * 50 if "float" in text else rng.random() < 0.5 if "bool" in text else None)


def contract(i):
    """Every field that the client knows of one, those that berth reads in the ways that they come."""
    row = {f.name: value(f.type) for f in dataclasses.fields(Instance)}
    row.update(id=1000 + i, label=rng.choice(["berth-inst-tok%d" % i] * 4 + [None, "mine", "berth-other-t"]), extra_env=[],
               actual_status=STATUS[i % len(STATUS)], num_gpus=rng.choice([1, 2, 8]), gpu_name=rng.choice(SHIPS), start_date=1795000000.5 + i,
               image_runtype="ssh ssh_direc ssh_proxy", ssh_host=f"ssh{i % 9}.vast.ai", ssh_port=10000 + i, public_ipaddr=f"192.0.2.{1 + i % 250}",
               ports={"22/tcp": [{"HostIp": "0.0.0.0", "HostPort": str(20000 + i)}]} if i % 3 else {}, is_bid=i % 2 == 0)
    return row


FLEET = [contract(i) for i in range(230)]


def ask(i):
    row = {name: value("float") for name in query.offers_fields}
    row.update(id=5000 + i, num_gpus=rng.choice([1, 2, 4, 8]), gpu_name=rng.choice(SHIPS), gpu_ram=rng.choice([24564, 81559, 46068]), rented=False,
               dph_base=rng.randrange(1, 90000) / 1000, min_bid=rng.randrange(1, 90000) / 1000, storage_cost=rng.choice([0, 0.15, 0.3]),
               geolocation=rng.choice(["Texas, US", "Sweden, SE"]), cpu_ram=257000, cpu_cores=64, cpu_cores_effective=16.0)
    return row


ASKS = [ask(i) for i in range(60)]


def app(call):
    if call.headers.get("Authorization") != "Bearer " + KEY:
        return 401, {"success": False, "error": "auth_error", "msg": "Invalid user key"}, {}
    p = call.path
    if refuse:
        return refuse["status"], refuse["body"], {}
    if p == "/api/v0/bundles/" and call.method == "POST":
        faults.extend(f"{call.who}: search by {k}" for k in call.body if k not in query.offers_fields and
                      k not in ("order", "type", "limit", "allocated_storage"))
        return 200, {"offers": ASKS}, {}
    if p == "/api/v1/instances/" and call.method == "GET":
        at, n = int(call.arg("after_token", "0")), int(call.arg("limit"))
        return 200, {"success": True, "instances": FLEET[at:at + n], "next_token": str(at + n) if at + n < len(FLEET) else None}, {}
    if p.startswith("/api/v0/asks/") and call.method == "PUT":
        return 200, {"success": True, "new_contract": 7777}, {}
    row = next((r for r in FLEET if p == f"/api/v0/instances/{r['id']}/"), None)
    if row is None:
        return (200, {"instances": None}, {}) if call.method == "GET" else (404, {"success": False, "error": "no_such_instance", "msg": "x"}, {})
    return 200, {"instances": row} if call.method == "GET" else {"success": True}, {}


folder = own_folder()
server = Server(folder, app, tls=False)		# the client sends without a look at CA files
os.environ["VAST_WITNESS"] = KEY
berth = Berth(server, folder, {"name": "v", "provider": "vast", "api_key": "env:VAST_WITNESS", "image": "cuda:12", "disk_gib": 72,
                               "endpoint": server.base + "/api"})
server.who = "client"
client = VastClient(api_key=KEY, server_url=server.base, retry=1)


def said(body):
    """What a body asks for: the client writes out what it does not want."""
    return {k: v for k, v in (body or {}).items() if v not in (None, False, {}) and k != "client_id"}


def same(name, ours=None, theirs=None, ignore=()):
    a, b = (ours or server.of("berth"))[-1], (theirs or server.of("client"))[-1]
    for field, x, y in (("method", a.method, b.method), ("path", a.path, b.path), ("key", a.headers["Authorization"], b.headers["Authorization"]),
                        ("body", *({k: v for k, v in said(c.body).items() if k not in ignore} for c in (a, b)))):
        ok(x == y, f"{name}: {field}", {"berth": x, "client": y})
    server.clear()


def ssh_url(i):
    """The client's own word on where a contract's ssh listens."""
    out, kept, misc.get_client = io.StringIO(), misc.get_client, lambda args: client
    util.DIRS["temp"] = folder
    with contextlib.redirect_stdout(out):
        misc._ssh_url(argparse.Namespace(id=i), "ssh://")
    misc.get_client = kept
    return out.getvalue().strip()


# --- the market ------------------------------------------------------------------------------------------------------
os.environ["PROV_JSON"] = "1"
rc, lines = berth.call("offers")
asked = server.of("berth")
ok(rc == 0 and len(asked) == 2, "two searches", berth.err)
want = []
for purchase, kind, field in (("on_demand", "on-demand", "dph_base"), ("spot", "bid", "min_bid")):
    found = offers.search_offers(client, {"rentable": {"eq": True}, "verified": {"eq": True}, "disk_space": {"gte": 72}}, kind,
                                 order=[["dph_total", "asc"]], limit=2000, storage=72, no_default=True)
    want += [(f"{o['num_gpus']}x{o['gpu_name']}/{o['id']}", purchase, o["geolocation"].split(", ")[1], o["num_gpus"],
              o[field] + 72 * o["storage_cost"] / 720) for o in found]
    mine = asked[len(want) // len(ASKS) - 1]
    # the interface's document calls it ondemand, the client on-demand; what is allocated only moves the client's total
    mine.body["type"] = mine.body["type"].replace("ondemand", "on-demand")
    same(f"search, {purchase}", [mine], ignore=("allocated_storage",))
got = [json.loads(x) for x in lines]
ok(len(got) == len(want) and all((g["instance_type"], g["purchase"], g["region"], g["count"]) == w[:4] and abs(float(g["price"]) - w[4]) < 1e-6
                                 for g, w in zip(got, want)), f"{len(want)} offers as the client reads them", got[:1], want[:1])

# --- machines --------------------------------------------------------------------------------------------------------


def read(r):
    failed = r["actual_status"] in ("exited", "stopped", "offline")
    return {"ref": str(r["id"]), "token": r["label"][11:], "installation": "inst", "state": STATE.get(r["actual_status"], "failed"),
            "instance_type": f"{r['num_gpus']}x{r['gpu_name']}", "purchase": "spot" if r["is_bid"] else "on_demand", "created": int(r["start_date"]),
            "preempted": failed and r["is_bid"]}


rc, lines = berth.call("list")
pages = server.of("berth")
rows = instances.show_instances(client)
want = [read(r) for r in rows if (r["label"] or "").startswith("berth-inst-")]
got = [{k: json.loads(x)[k] for k in want[0]} for x in lines]
ok(rc == 0 and len(want) > 100 and len(pages) == 3 and got == want, f"{len(want)} machines of ours as the client reads them",
   next(({"berth": a, "client": b} for a, b in zip(got, want) if a != b), lines[:2]), berth.err)
same("list", pages)
for r in FLEET[:12]:
    rc, lines = berth.call("status", str(r["id"]))
    mine = server.of("berth")
    theirs = ssh_url(r["id"])
    ok(rc == 0 and json.loads(lines[0])["address"] == theirs, f"ssh of a machine {'straight' if r['ports'] else 'by the proxy'}", lines, theirs)
    server.clear()
one = next(r for r in FLEET if (r["label"] or "").startswith("berth-inst-"))["id"]
berth.call("status", str(one))
instances.show_instance(client, one)
same("status")
rc, lines = berth.call("status", "99")
ok(instances.show_instance(client, 99) is None and "error not_found" in lines[0], "one that is gone", lines)
server.clear()
berth.call("destroy", str(one))
instances.destroy_instance(client, one)
same("destroy")
del os.environ["PROV_JSON"]

first = ASKS[1]
kind = f"{first['num_gpus']}x{first['gpu_name']}/{first['id']}"
for purchase, bid in (("on_demand", None), ("spot", round(first["min_bid"] + 72 * first["storage_cost"] / 720, 6))):
    os.environ["PROV_USER_DATA"] = "#!/bin/sh\n"
    rc, lines = berth.call("create", "tok", "-", kind, purchase)
    server.calls[:] = [c for c in server.calls if "/asks/" in c.path]
    answer = instances.create_instance(client, first["id"], image="cuda:12", disk=72, label="berth-inst-tok", onstart_cmd="#!/bin/sh\n", ssh=True,
                                       direct=True, cancel_unavail=True, price=bid)
    ok(rc == 0 and machine(lines[0])["ref"] == str(answer["new_contract"]), f"a machine, {purchase}", lines, berth.err)
    same(f"create, {purchase}")

for status, body, word in ((410, {"success": False, "error": "no_such_ask", "msg": "gone"}, "no_capacity"),
                           (400, {"success": False, "error": "insufficient_credit", "msg": "lacks credit"}, "quota"),
                           (403, {"success": False, "error": "auth_error", "msg": "no"}, "auth")):
    refuse.update(status=status, body=body)
    rc, lines = berth.call("launch", "tok", "US", "-", "1xL40S/5001", "on_demand")
    try:
        instances.create_instance(client, 5001, image="cuda:12", ssh=True)
        theirs = None
    except requests.HTTPError as e:
        theirs = e.response.status_code
    ok(lines[0].startswith(f"error {word} ") and theirs == status, f"{body['error']} is {word}", lines, theirs)
ok(not faults, "every search is by fields that the client knows", "\n".join(faults))
done()
