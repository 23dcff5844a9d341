"""slurmrestd v0.0.39 to v0.0.44: berth beside the clients that SchedMD's OpenAPI documents generate.

aind-slurm-rest is made of Slurm 24.05's document (v0.0.39 to v0.0.41), slurmrestapi of 25.11's (v0.0.41 to v0.0.44). The server has
one version at a time, checks each request against its model, and answers with objects that its models build whole.
"""
import inspect
import json
import os
import random
import re
import subprocess
import time

import aind_slurm_rest
import slurmrestapi

from slurm_model import as_field, bare, field, inside, lost, plain, whole, words
from witness import Berth, Server, done, ok, own_folder

VERSIONS = [(39, aind_slurm_rest), (40, aind_slurm_rest), (41, slurmrestapi), (42, slurmrestapi), (43, slurmrestapi),
            (44, slurmrestapi)]
USER, TOKEN = "ann", "a.eyJzdW4iOiJhbm4ifQ.witness"
NOW = int(time.time())
rng = random.Random(int(os.environ.get("WITNESS_SEED", "20261130")))
faults = []

# What each word of a job is beside a base state, and what it makes of a machine.
JOBS = {"PENDING": ("", "pending"), "RUNNING": ("", "ready"), "SUSPENDED": ("", "failed"), "COMPLETED": ("", "gone"),
        "CANCELLED": ("", "gone"), "FAILED": ("", "gone"), "TIMEOUT": ("", "gone"), "NODE_FAIL": ("", "gone"),
        "PREEMPTED": ("", "gone"), "BOOT_FAIL": ("", "gone"), "DEADLINE": ("", "gone"), "OUT_OF_MEMORY": ("", "gone"),
        "LAUNCH_FAILED": ("PENDING", "failed"), "UPDATE_DB": ("RUNNING", "ready"), "REQUEUED": ("PENDING", "failed"),
        "REQUEUE_HOLD": ("PENDING", "failed"), "SPECIAL_EXIT": ("PENDING", "failed"), "RESIZING": ("RUNNING", "ready"),
        "CONFIGURING": ("RUNNING", "pending"), "COMPLETING": ("COMPLETED", "ending"), "STOPPED": ("RUNNING", "failed"),
        "RECONFIG_FAIL": ("PENDING", "failed"), "POWER_UP_NODE": ("RUNNING", "pending"), "REVOKED": ("CANCELLED", "gone"),
        "REQUEUE_FED": ("PENDING", "failed"), "RESV_DEL_HOLD": ("PENDING", "failed"), "SIGNALING": ("RUNNING", "ready"),
        "STAGE_OUT": ("COMPLETED", "ending"), "EXPEDITING": ("PENDING", "failed")}
# Whether a node with the word takes new work.
NODES = dict.fromkeys(("IDLE", "ALLOCATED", "MIXED", "UNDRAIN", "CLOUD", "RESUME", "COMPLETING", "POWERED_DOWN", "POWERING_UP",
                       "POWER_UP", "REBOOT_CANCELED", "DYNAMIC_NORM"), True)
NODES.update(dict.fromkeys(("INVALID", "UNKNOWN", "DOWN", "ERROR", "FUTURE", "RESERVED", "DRAIN", "NOT_RESPONDING", "FAIL", "MAINTENANCE",
                            "REBOOT_REQUESTED", "POWERING_DOWN", "DYNAMIC_FUTURE", "REBOOT_ISSUED", "PLANNED", "INVALID_REG",
                            "POWER_DOWN", "POWER_DRAIN", "EXTERNAL", "BLOCKED"), False))
PARTITIONS = {"UP": True, "DOWN": False, "DRAIN": False, "INACTIVE": False, "UNKNOWN": False}
SERVED = {}		# "GET slurm nodes": model of the answer, and a function of the call that gives its fields


class Version:
    """One version's calls, by the names that its client has for them."""

    NAMES = {"submit": ("submit_job", "post_job_submit"), "cancel": ("cancel_job", "delete_job")}

    def __init__(self, number, lib):
        self.number, self.lib = number, lib
        conf = lib.Configuration(host=server.base)
        conf.api_key = {"user": USER, "token": TOKEN}
        api = lib.ApiClient(conf)
        self.api = lib.SlurmApi(api), lib.SlurmdbApi(api)

    def method(self, group, what):
        names = [f"{group}_v00{self.number}_{name}" for name in self.NAMES.get(what, ("get_" + what,))]
        return next((getattr(api, n) for api in self.api for n in names if hasattr(api, n)), None)

    def answer(self, group, what):
        return inspect.signature(self.method(group, what)).return_annotation

    def takes(self):
        """The model of a body of a submission."""
        return bare(next(iter(inspect.signature(self.method("slurm", "submit")).parameters.values())).annotation)

    def ask(self, group, what, *args, **kw):
        return self.method(group, what)(*args, **kw)


def refuse(status, number, text):
    return status, {"errors": [{"error_number": number, "error": text, "description": "words of it", "source": "here"}], "warnings": [],
                    "meta": {}}, {}


refusals = {}		# "POST": (status, number, text) of all answers


def app(call):
    m = re.fullmatch(r"/(slurm|slurmdb)/v0\.0\.(\d+)/(.*?)/?", call.path)
    if m is None or int(m.group(2)) != now.number:
        return 404, None, {}
    if call.headers.get("X-SLURM-USER-NAME") != USER or call.headers.get("X-SLURM-USER-TOKEN") != TOKEN:
        faults.append(f"{call.who}: {call.path} without its user and token")
        return refuse(401, 1007, "Protocol authentication error")
    if call.method in refusals:
        return refuse(*refusals[call.method])
    what = f"{call.method} {m.group(1)} {re.sub(r'[0-9]+$', 'N', m.group(3))}"
    if what not in SERVED:
        faults.append(f"{call.who}: nothing serves {what}")
        return 404, None, {}
    if call.method == "POST":
        faults.extend(f"{call.who}: v0.0.{now.number} {x}" for x in lost(now.takes(), call.body))
    model, given = SERVED[what]
    answer = whole(model, rng, errors=[], **given(call))
    faults.extend(f"server: v0.0.{now.number} {what} {x}" for x in lost(model, answer))
    return 200, answer, {}


folder = own_folder()
server = Server(folder, app, tls=False)
server.who = "client"
with open(os.path.join(folder, "token"), "w") as f:
    f.write(TOKEN + "\n")
berth = Berth(server, folder, {
    "name": "t", "provider": "slurm", "url": server.base, "user": USER, "token": "file:" + os.path.join(folder, "token"),
    "account": "ml", "spot_qos": "spot", "qos": "high", "constraint": "nvme&ib", "reservation": "own", "time_limit": "5430s",
    "queue_wait": "1h", "notice": "300s"})
os.environ["PROV_NOW"] = str(NOW)


def berth_lines(*args):
    os.environ["PROV_JSON"] = "1"
    rc, lines = berth.call(*args)
    del os.environ["PROV_JSON"]
    return [json.loads(x) for x in lines] if rc == 0 else lines


def same(name, last=1):
    """berth's last request beside the client's: how, where, for whom, and what is asked."""
    pick = [[c for c in server.of(w) if not c.path.endswith("/ping")][-last:] for w in ("berth", "client")]
    a, b = ([{"method": c.method, "path": c.path.rstrip("/"), "query": c.query, "user": c.headers.get("X-SLURM-USER-NAME"),
              "token": c.headers.get("X-SLURM-USER-TOKEN"), "accept": c.headers.get("Accept"),
              "kind": c.kind or None, "body": c.body} for c in calls] for calls in pick)
    ok(a == b and len(a) == last, f"{name}: the same request", {"berth": a, "client": b})
    server.clear()


# --- offers ----------------------------------------------------------------------------------------------------------
def offers(v):
    node, part = inside(v.answer("slurm", "nodes"), "nodes"), inside(v.answer("slurm", "partitions"), "partitions")
    states = words(inside(part, "partition"), "state") if field(part, "partition") else []
    ok(set(words(node, "state")) <= set(NODES), f"{v.number}: every word of a node is known here", sorted(set(words(node, "state")) - set(NODES)))
    ok(set(states) <= set(PARTITIONS), f"{v.number}: every word of a partition is known here", states)
    rows = []
    for i, w in enumerate(words(node, "state")):		# each word by itself or beside IDLE, each in a partition of its own
        base = w in ("IDLE", "ALLOCATED", "MIXED", "DOWN", "UNKNOWN", "ERROR", "FUTURE", "INVALID", "EXTERNAL")
        rows.append((f"n-{w.lower()}", [w] if base else ["IDLE", w], [f"p-{w.lower()}"], "gpu:a100:4(S:0-1)", "gpu:a100:0(IDX:N/A)", 64, 0))
    for w in states:
        rows.append((f"u-{w.lower()}", ["IDLE"], [f"s-{w.lower()}"], "gpu:a100:4(S:0-1)", "gpu:a100:0(IDX:N/A)", 64, 0))
    rows.append(("half", ["MIXED"], ["gpu", "all"], "gpu:h100:8(S:0-1),shard:64", "gpu:h100:5(IDX:0-4),shard:0", 128, 70))
    rows.append(("plain", ["IDLE"], ["gpu"], "gpu:2", "gpu:0", 32, 0))
    nodes = [whole(node, rng, name=n, state=as_field(node, "state", s), partitions=p, gres=g, gres_used=u, cpus=c, alloc_cpus=used,
                   real_memory=c * 4096, alloc_memory=used * 4096, features=as_field(node, "features", ["ib", "l40s" if n == "plain" else "ssd"]))
             for n, s, p, g, u, c, used in rows]
    names = sorted({p for r in rows for p in r[2]})
    parts = []
    for n in names:
        more = {}
        if states:
            more["partition"] = {"state": [n[2:].upper() if n.startswith("s-") else "UP"]}
        parts.append(whole(part, rng, name=n, **more))
    SERVED["GET slurm nodes"] = v.answer("slurm", "nodes"), lambda call: {"nodes": nodes}
    SERVED["GET slurm partitions"] = v.answer("slurm", "partitions"), lambda call: {"partitions": parts}

    got = berth_lines("offers")
    up = {p.name: PARTITIONS[p.partition.state[0]] if states else True for p in v.ask("slurm", "partitions").partitions}
    want = []
    for n in v.ask("slurm", "nodes").nodes:
        kind, count = re.match(r"gpu:(?:(\w+):)?(\d+)", n.gres).groups()
        used = int(re.match(r"gpu:(?:\w+:)?(\d+)", n.gres_used).group(1))
        good = all(NODES[w] for w in n.state)
        for p in n.partitions:
            for k in sorted({1, 2, 4, 8, int(count)}):
                if k > int(count):
                    continue
                cpus, mib = n.cpus * k // int(count), n.real_memory * k // int(count)
                free = good and up[p] and int(count) - used >= k and n.cpus - n.alloc_cpus >= cpus and n.real_memory - n.alloc_memory >= mib
                for purchase in ("on_demand", "spot"):
                    want.append((p, f"gpu:{kind}:{k}" if kind else f"gpu:{k}", k, float(cpus), mib / 1024, purchase,
                                 "yes" if free or p == "p-reserved" else "no"))		# the account has a reservation
    mine = [(o["zone"], o["instance_type"], o["count"], o["vcpus"], o["memory_gib"], o["purchase"], o["available"]) for o in got
            if isinstance(o, dict)]
    ok(sorted(mine) == sorted(want) and len(want) > 100, f"{v.number}: {len(want)} offers as the client reads nodes and partitions",
       [x for x in mine if x not in want][:6], [x for x in want if x not in mine][:6], got[:1])
    same(f"{v.number} offers", 2)


# --- limits ----------------------------------------------------------------------------------------------------------
def quotas(v):
    qos, top = inside(v.answer("slurmdb", "qos"), "qos"), inside(v.answer("slurmdb", "qos"), "qos", "limits", "max", "tres")
    tres = inside(top, "total")

    def limits(n):
        return [whole(tres, rng, type="gres", name="gpu", count=n), whole(tres, rng, type="cpu", name="", count=9),
                whole(tres, rng, type="gres", name="gpu:a100", count=n + 1), whole(tres, rng, type="gres", name="nic", count=3)]

    def one(name, n):
        q = whole(qos, rng, name=name)
        q["limits"]["max"]["tres"]["total"] = limits(n)
        for i, key in enumerate(("account", "job", "user")):
            q["limits"]["max"]["tres"]["per"][key] = limits(n + 10 * (i + 1))
        return q

    rows = [one("normal", 100), one("spot", 200)]
    SERVED["GET slurmdb qos"] = v.answer("slurmdb", "qos"), lambda call: {"qos": rows}
    rc, got = berth.call("quota")
    want = []
    for q in v.ask("slurmdb", "qos").qos:
        t = q.limits.max.tres
        for word, held in (("GrpTRES", t.total), ("MaxTRESPerUser", t.per.user), ("MaxTRESPerAccount", t.per.account),
                           ("MaxTRESPerJob", t.per.job)):
            want += [f"own|qos {q.name} {word} gres/{x.name}|gpu|{x.count}|nan" for x in held if x.type == "gres" and x.name.startswith("gpu")]
    ok(rc == 0 and got == want and len(want) == 16, f"{v.number}: limits as the client reads them", got, want)
    same(f"{v.number} limits")


# --- machines --------------------------------------------------------------------------------------------------------
def job_rows(v, job):
    listed = words(job, "job_state")
    ok(set(listed) <= set(JOBS), f"{v.number}: every word of a job is known here", sorted(set(listed) - set(JOBS)))
    rows = [((JOBS[w][0], w) if JOBS[w][0] else (w,), w, {}) for w in listed or [w for w in JOBS if not JOBS[w][0]]]
    rows += [(("RUNNING",), "near its end", {"end_time": NOW + 100}), (("RUNNING",), "preempted", {"end_time": NOW + 30, "preempt_time": NOW - 5}),
             (("PENDING",), "a limit", {"state_reason": "QOSMaxGRESPerUser"}), (("PENDING",), "again", {"restart_cnt": 2}),
             (("RUNNING",), "of another", {"user_name": "bob"}), (("RUNNING",), "not ours", {"comment": "berth? no"}),
             (("RUNNING",), "without end", {"end_time": None}), (("RUNNING",), "of another installation", {"comment": "berth other t gpu:a100:2"})]
    return rows


def jobs(v):
    job = inside(v.answer("slurm", "jobs"), "jobs")
    all_jobs = []
    for i, (state, name, more) in enumerate(job_rows(v, job)):
        facts = {"job_id": 1000 + i, "job_state": list(state), "state_reason": "None", "comment": f"berth inst tok-{i} gpu:a100:2",
                 "user_name": USER, "partition": "gpu", "qos": rng.choice(["spot", "high"]), "batch_host": f"n{i}", "nodes": f"n{i}",
                 "submit_time": NOW - 900 + i, "start_time": NOW - 600 if "PENDING" not in state else None, "end_time": NOW + 7200,
                 "preempt_time": None, "restart_cnt": 0, **more}
        all_jobs.append(whole(job, rng, **{k: as_field(job, k, x) for k, x in facts.items()}))
    answer = v.answer("slurm", "jobs")
    SERVED["GET slurm jobs"] = answer, lambda call: {"jobs": all_jobs}
    SERVED["GET slurm job/N"] = v.answer("slurm", "job"), lambda call: {
        "jobs": [j for j in all_jobs if j["job_id"] == int(call.path.rsplit("/", 1)[1])]}

    def read(j):
        state = j.job_state if isinstance(j.job_state, list) else [j.job_state]
        flag = next((w for w in state if JOBS[w][0]), state[0])
        kind, end, cut = JOBS[flag][1], plain(j.end_time), plain(j.preempt_time)
        preempted = "PREEMPTED" in state or "REQUEUED" in state or j.restart_cnt > 0
        if kind == "ready" and end:
            preempted = preempted or bool(cut)
            kind = "noticed" if cut or end - NOW <= 300 else "ready"
        if kind == "pending" and (j.restart_cnt > 0 or j.state_reason != "None"):
            kind = "failed"
        why = "" if kind != "failed" else "quota" if j.state_reason.startswith("QOS") else "failed"
        _, installation, token, instance_type = j.comment.split(" ")
        return {"ref": str(j.job_id), "token": token, "installation": installation, "state": kind, "instance_type": instance_type,
                "region": "own", "zone": j.partition, "address": j.batch_host if kind in ("ready", "noticed") else "",
                "purchase": "spot" if j.qos == "spot" else "on_demand", "created": plain(j.submit_time), "why": why, "preempted": preempted,
                "reclaim_at": end if kind == "noticed" else 0}

    got = berth_lines("list")
    ours = [j for j in v.ask("slurm", "jobs").jobs if j.comment.startswith("berth inst ") and j.user_name == USER]
    want = [read(j) for j in ours]
    mine = [{k: m[k] for k in want[0]} if isinstance(m, dict) else m for m in got]
    ok(mine == want, f"{v.number}: {len(want)} machines, every word of a job, as the client reads them",
       next(({"berth": a, "client": b} for a, b in zip(mine, want) if a != b), got[:2]))
    same(f"{v.number} list")
    got = berth_lines("notices")
    ok([m["ref"] for m in got if isinstance(m, dict)] == [m["ref"] for m in want if m["state"] == "noticed" or m["preempted"] and m["state"] != "gone"],
       f"{v.number}: notices are those that end soon or were preempted", got)
    server.clear()
    got = berth_lines("status", want[1]["ref"])
    j = v.ask("slurm", "job", want[1]["ref"]).jobs[0]
    ok({k: got[0][k] for k in want[0]} == read(j), f"{v.number}: one of them", got)
    same(f"{v.number} status")


def numbers(model, facts):
    return {k: as_field(model, k, x) if isinstance(x, int) and not isinstance(x, bool) else x for k, x in facts.items()}


def leases(v):
    model = v.takes()
    desc = inside(model, "job")
    SERVED["POST slurm job/submit"] = v.answer("slurm", "submit"), lambda call: {"job_id": 4711}
    ended = v.answer("slurm", "cancel")
    each = field(ended, "status") is not None		# what became of each job, from v0.0.42 on
    SERVED["DELETE slurm job/N"] = ended, lambda call: {"status": []} if each else {}
    for purchase, qos in (("on_demand", "high"), ("spot", "spot")):
        os.environ["PROV_JSON"] = "1"
        rc, got = berth.call("create", "tok-9", "gpu", "gpu:h100:4", purchase)
        del os.environ["PROV_JSON"]
        facts = {"name": "berth-tok-9", "comment": "berth inst tok-9 gpu:h100:4", "partition": "gpu", "account": "ml", "qos": qos,
                 "reservation": "own", "constraints": "nvme&ib", "tasks": 1, "cpus_per_task": 64, "memory_per_node": 64 * 4096,
                 "time_limit": 91, "requeue": False, "current_working_directory": "/tmp", "standard_output": "/dev/null",
                 "tres_per_node": "gres:gpu:h100:4" if v.number == 39 else "gres/gpu:h100=4",
                 "environment": ["PATH=/usr/local/bin:/usr/bin:/bin", "BERTH_TOKEN=tok-9"]}
        body = {"job": numbers(desc, facts)}
        (body if v.number == 39 else body["job"])["script"] = "#!/bin/sh\nexec sleep infinity\n"
        wrong = lost(model, body)
        ok(not wrong, f"{v.number}: the body of the client is of its model", "\n".join(wrong))
        sent = v.ask("slurm", "submit", model.from_dict(body))
        ok(rc == 0 and json.loads(got[0])["ref"] == str(sent.job_id) == "4711", f"{v.number}: a machine, {purchase}", got)
        same(f"{v.number} create, {purchase}")
    got = berth_lines("destroy", "1001")
    whose = v.ask("slurm", "job", "1001").jobs[0]		# before it is ended
    v.ask("slurm", "cancel", str(whose.job_id))
    ok(isinstance(got[0], dict) and got[0]["state"] == "ending", f"{v.number}: its end", got)
    same(f"{v.number} end", 2)
    if each:
        one = whole(inside(ended, "status"), rng)
        one["error"] = {"string": "Access/permission denied", "code": 2002, "message": "words of it"}
        SERVED["DELETE slurm job/N"] = ended, lambda call: {"status": [one]}
        rc, got = berth.call("destroy", "1001")
        theirs = v.ask("slurm", "cancel", "1001").status[0].error.code
        ok(got[0].startswith("error auth ") and theirs == 2002, f"{v.number}: a refusal beside its job alone", got, theirs)
        server.clear()


def errors(v):
    for status, number, text, word in ((500, 2014, "Requested node configuration is not available", "no_capacity"),
                                       (500, 2050, "Job violates accounting/QOS policy", "quota"),
                                       (401, 1007, "Protocol authentication error", "auth"),
                                       (500, 2000, "Invalid partition name specified", "permanent")):
        for who in ("berth", "client"):
            refusals["POST"] = status, number, text
            if who == "berth":
                rc, got = berth.call("create", "tok-9", "gpu", "gpu:h100:4", "on_demand")
                continue
            try:
                v.ask("slurm", "submit", v.takes().from_dict({"job": {"environment": ["A=1"]}}))
                theirs = None
            except v.lib.ApiException as e:
                theirs = json.loads(e.body)["errors"][0]["error_number"]
        ok(got[0].startswith(f"error {word} ") and text in got[0] and theirs == number, f"{v.number}: {number} is {word}", got, theirs)
        refusals.clear()
    server.clear()


# --- history ---------------------------------------------------------------------------------------------------------
def history(v):
    job = inside(v.answer("slurmdb", "jobs"), "jobs")
    tres = inside(job, "tres", "allocated")
    rows = []
    for i in range(24):
        start = NOW - 40 * 3600 + i * 600
        ended = i % 6 != 5
        gpus = [whole(tres, rng, type="gres", name="gpu", count=1 + i % 4), whole(tres, rng, type="gres", name="gpu:h100", count=1 + i % 4),
                whole(tres, rng, type="cpu", name="", count=8)]
        j = whole(job, rng, job_id=100 + i, cluster="c1", user=f"u{i % 3}", account="ml", partition="gpu", qos="normal", steps=[])
        for key, facts in (("time", {"submission": start - 60, "start": start, "end": start + 3600 + i if ended else 0,
                                     "elapsed": 3600 + i if ended else 1800, "limit": 120}),
                           ("array", {"job_id": 7 if i % 5 == 4 else 0, "task_id": i if i % 5 == 4 else None, "task": ""}),
                           ("het", {"job_id": 0, "job_offset": None}),
                           ("state", {"current": ["COMPLETED" if ended else "RUNNING"], "reason": "None"})):
            j[key].update({k: as_field(inside(job, key), k, x) for k, x in facts.items()})
        j["tres"] = {"allocated": gpus, "requested": gpus}
        rows.append(j)

    def within(call):
        a, b = (int(call.arg(k, "").removeprefix("uts")) for k in ("start_time", "end_time"))
        return {"jobs": [j for j in rows if j["time"]["start"] < b and (j["time"]["end"] or NOW) >= a]}

    SERVED["GET slurmdb jobs"] = v.answer("slurmdb", "jobs"), within
    server.who = "berth"
    store = os.path.join(folder, f"v{v.number}.db")
    p = subprocess.run([os.environ["BERTH"], "--store", store, "record", "slurm", "--url", server.base, "--token-file",
                        os.path.join(folder, "token"), "--from", str(NOW - 48 * 3600), "-o", "json"], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, timeout=60)
    server.who = "client"
    asked = server.of("berth", "GET", "/jobs")[-1:]
    if not ok(p.returncode == 0 and asked, f"{v.number}: berth record slurm --url", p.stderr):
        return
    asked = asked[0]
    known = inspect.signature(v.method("slurmdb", "jobs")).parameters
    ok(asked.query and all(k in known for k, _ in asked.query), f"{v.number}: history asks with the document's own parameters", asked.query)
    held = v.ask("slurmdb", "jobs", **dict(asked.query)).jobs
    same(f"{v.number} history")
    told = json.loads(p.stdout) if p.returncode == 0 else {}
    want = sum(x.count * j.time.elapsed for j in v.ask("slurmdb", "jobs", start_time=f"uts{NOW - 90 * 3600}" if v.number == 39 else str(NOW - 90 * 3600),
               end_time=f"uts{NOW}" if v.number == 39 else str(NOW)).jobs for x in j.tres.allocated if x.name == "gpu" and x.type == "gres")
    ok(told.get("gpu_seconds") == want and told.get("jobs") == len(rows) and told.get("rows_refused") == 0 and len(held) > 0,
       f"{v.number}: {want} GPU-seconds of {len(rows)} jobs as the client reads them", {k: x for k, x in told.items() if k != "series"}, p.stderr)
    server.clear()


for number, lib in VERSIONS:
    SERVED.clear()
    now = Version(number, lib)
    ping = now.method("slurm", "ping")
    SERVED["GET slurm ping"] = (now.answer("slurm", "ping") if ping else now.answer("slurm", "nodes"), lambda call: {})
    for part in (offers, quotas, jobs, leases, errors, history):
        part(now)
ok(not faults, "no request, berth's or the client's, and no answer is against the models", "\n".join(sorted(set(faults))))
done()
