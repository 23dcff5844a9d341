#!/usr/bin/env python3
"""Small random worlds in which several series can use what is owned, for `berth plan` at one date and with --starts, against programs
that are made here from the man pages, with the deal of the machines among the series in them, and solved by GLPK.

	plan_shared.py BERTH DATA NOW [worlds more than one of each kind] [seed] [only: a kind, or kind:seed]

Prints a line for each kind of world, "ok KIND" or "not ok KIND: WHY".
"""
import csv
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

import plan_starts
from plan_pairs import OWN, Program, Wrong, history, iso, levels, rates
from plan_starts import near, solve, when

KINDS = ("plain", "use", "ends", "slow", "budget", "share", "bought", "quota", "three")
SLOW = "H100-PCIE-80GB"


class World(plan_starts.World):
	def __init__(self, kind, seed, now):
		self.kind = kind
		super().__init__("two+" + kind, seed, now)
		r = self.rng
		if kind == "three":
			self.series.append("dusk")
		for k in range(r.choice((1, 2, 2))):
			slow = kind == "slow" and (k == 0 or r.choice((False, True)))
			until = self.t0 + 3600 * (r.choice((24, 36, 60)) if kind == "ends" and k == 0 else r.choice((36, 60, 600, 9999)))
			self.owned.append({"provider": r.choice(("acme", "bold")), "region": "r1", "instance_type": "own%d" % k,
				"accelerator": SLOW if slow else OWN, "accelerator_count": r.choice((1, 2, 4, 8)), "count": r.choice((1, 2, 3)),
				"from": "2026-01-01T00:00:00Z", "to": iso(until),
				"usage_price_per_hour": "%.2f" % (r.choice((0.4, 1.3)) if kind == "use" else 0)})
		if kind == "share":
			self.shares.append(("bold", r.choice((0, 0.2, 0.3)), r.choice((0.6, 0.8, 1))))

	def command(self):
		return super().command() + (["--also", SLOW] if self.kind == "slow" else [])


class Model(plan_starts.Model):
	"""Each machine that is owned is with one series for as long as it holds, or with none."""

	def __init__(self, w, told, demand, rate):
		self.w, self.told, self.demand = w, told, demand
		self.lines = [self.line(o) for o in w.offers]
		self.own = [(int(o["count"]), int(o["accelerator_count"]), rate[o["accelerator"]] / rate[OWN], (when(o["to"]) - w.t0) // 3600, o)
		    for o in w.owned]
		starts = set(range(0, w.horizon, w.every)) | {g[3] for g in self.own if g[3] < w.horizon}
		cuts = {0, w.horizon}
		for _, term, _, _, _ in self.lines:
			if term:
				starts |= set(range(term, w.horizon, term))
		cuts |= starts
		for _, term, _, _, _ in self.lines:
			cuts |= {s + term for s in starts if term and s + term < w.horizon}
		self.at_dates = sorted(starts), sorted(cuts)
		self.quotas_on_demand = any("purchase" not in x for x in w.limits)

	def deal(self, p, whole, told):
		"""GPUs of each commitment by series, as terms: a choice among its machines."""
		out = {}
		for k, (count, gpus, rate, _, _) in enumerate(self.own):
			used = []
			for s in self.w.series:
				pick = [p.var(0, 1, whole=True) for _ in range(count + 1)]
				p.row([(1, v) for v in pick], "=", 1)
				each = [m * gpus * rate for m in range(count + 1)]
				if whole:
					each = [math.floor(g + 1e-9) for g in each]
				out[k, s] = [(g, v) for g, v in zip(each, pick) if g > 0]
				used += [(m, v) for m, v in enumerate(pick) if m > 0]
				if told is not None:
					p.row([(m, v) for m, v in enumerate(pick) if m > 0], "=", told[k, s])
			p.row(used, "<=", count)
		return out

	def plan(self, dates, told=None, fixed=None):
		"""The program at dates, or that of buying all now; told: with the deal that the plan has."""
		w = self.w
		starts, cuts = self.at_dates if dates else ([0], [0, w.horizon])
		p = Program()
		dealt = self.deal(p, dates, told)
		x = {}
		for s in w.series:
			for i, (n, term, hour, _, _) in enumerate(self.lines):
				for at in starts if term else ():
					inside = min(term, w.horizon - at) if dates else w.horizon
					x[s, i, at] = p.var(hour * n * inside, whole=True)
					if fixed is not None:
						p.row([(1, x[s, i, at])], "=", fixed.get((s, i, at), 0))
		for a, b in zip(cuts, cuts[1:]):
			holds = [k for k, g in enumerate(self.own) if (b <= g[3] if dates else 2 * g[3] >= w.horizon)]
			running = {(s, i): [(n, x[s, i, at]) for at in starts if term and at <= a and (not dates or a < at + term)]
			    for s in w.series for i, (n, term, _, _, _) in enumerate(self.lines)}
			have = {s: [(dealt[k, s], float(self.own[k][4]["usage_price_per_hour"]) / self.own[k][1] / self.own[k][2], self.own[k][4])
			    for k in holds] for s in w.series}
			for s in w.series:
				self.shared_rows(p, have[s], {i: running[s, i] for i in range(len(self.lines))})
			held = [(self.own[k][0] * self.own[k][1], self.own[k][4]) for k in holds]
			for limit in w.limits:
				self.limit_row(p, limit, [], held, running)
			self.use(p, a, b, have, held, running)
		if w.budget is not None:
			p.row([(p.cost[v], v) for v in x.values()], "<=", w.budget)
		return p

	def shared_rows(self, p, have, running):
		for provider, lo, hi in self.w.shares:
			for part, sense in ((lo, ">="), (hi, "<=")):
				terms = [(((self.lines[i][4]["provider"] == provider) - part) * n, v) for i, r in running.items() for n, v in r]
				terms += [(((o["provider"] == provider) - part) * g, v) for deal, _, o in have for g, v in deal]
				p.row(terms, sense, 0)

	def limit_row(self, p, limit, used, held, running):
		terms = [(n, v) for (s, i), r in running.items() for n, v in r if self.counted(limit, self.lines[i][4], "reserved")]
		terms += [(1, v) for i, v in used if self.counted(limit, self.lines[i][4], "on_demand")]
		p.row(terms, "<=", max(0, limit["limit"] - sum(g for g, o in held if self.counted(limit, o, "reserved"))))

	def use(self, p, a, b, have, held, running):
		"""What serves: hour by hour where a quota reaches on demand, else each series by its levels."""
		w = self.w
		if self.quotas_on_demand:
			each = [({s: self.demand[s][q][h] for s in w.series}, 1 / w.paths) for q in range(w.paths) for h in range(a, b)]
		else:
			each = [({s: k}, share * (b - a)) for s in w.series for k, share in levels([q[a:b] for q in self.demand[s]])]
		for asked, weight in each:
			used = []
			for s, d in asked.items():
				terms = []
				for i, (_, term, _, use, _) in enumerate(self.lines):
					v = p.var(weight * use)
					terms.append((1, v))
					if term:
						p.row([(1, v)] + [(-n, y) for n, y in running[s, i]], "<=", 0)
					else:
						used.append((i, v))
				for deal, use, _ in have[s]:
					v = p.var(weight * use)
					terms.append((1, v))
					p.row([(1, v)] + [(-g, y) for g, y in deal], "<=", 0)
				p.row(terms, ">=", d)
			for limit in w.limits:
				if "purchase" not in limit:
					self.limit_row(p, limit, used, held, running)

	def parts(self, dates):
		"""Machines of each commitment by series, as the reasons have them."""
		out = {}
		for t in self.told["series"]:
			for k in range(len(self.own)):
				out[k, t["name"]] = 0
				for s in t["because"]:
					words = s.split()
					head = ["schedule:", "owned:"] if dates else ["owned:"]
					if words[:len(head)] == head and "count here" in s and "own%d" % k in s:
						out[k, t["name"]] = int(words[len(head)])
		return out


def world(berth, data, now, base, kind, seed):
	"""A plan, and its model."""
	w = World(kind, seed, now)
	home = tempfile.mkdtemp(dir=os.path.dirname(base))
	shutil.rmtree(home)
	shutil.copytree(base, home)
	os.chdir(home)
	env = dict(os.environ, BERTH_DATA=data, HOME=home, LC_ALL="C", TERM="dumb")

	def run(*args, ok=(0,)):
		p = subprocess.run([berth, "--now", iso(now), *args], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
		if p.returncode not in ok:
			raise Wrong("%s: exit %d: %s" % (" ".join(args), p.returncode, p.stderr.strip()))
		return p

	for name, rows in (("offers.csv", w.offers), ("own.csv", w.owned)):
		with open(name, "w", newline="") as f:
			out = csv.DictWriter(f, list(rows[0]))
			out.writeheader()
			out.writerows(rows)
	os.makedirs(".config/berth", exist_ok=True)
	with open(".config/berth/berth.yaml", "w") as f:
		f.write("schema: berth.config/1\n" + ("limits:\n" + "".join("  - {%s}\n" % ", ".join("%s: %s" % kv for kv in x.items())
		    for x in w.limits) if w.limits else ""))
	run("prices", "import", "offers.csv")
	run("commitments", "import", "own.csv")
	p = run(*w.command(), ok=(0, 3))
	if p.returncode == 3:
		return home, None
	demand = {s: [] for s in w.series}
	with open("demand.csv", newline="") as f:
		for row in csv.DictReader(f):
			of = demand[row["series"]]
			while len(of) < int(row["path"]):
				of.append([])
			of[int(row["path"]) - 1].append(float(row["gpus"]))
	told = json.loads(p.stdout)
	args = [a for a in w.command() if a not in ("--starts", "%dh" % w.every)]
	args[args.index("ours.lp")] = "now.lp"
	now_told = json.loads(run(*args).stdout)
	if kind != "slow" and not near(now_told["totals"]["expected_cost"], told["totals"]["expected_cost"]):
		raise Wrong("without --starts the plan at one date costs %s, with it %s" % (now_told["totals"]["expected_cost"],
		    told["totals"]["expected_cost"]))
	return home, Model(w, told, demand, rates(data))


def check(berth, data, now, base, kind, seed, count):
	home, model = world(berth, data, now, base, kind, seed)
	if model is None:
		count["refused"] += 1
		return
	told = model.told["series"]
	wrong = []
	for dates in (False, True):
		what = "schedule" if dates else "plan at one date"
		of = [t["schedule"] for t in told] if dates else told
		cost, lower = sum(t["expected_cost"] for t in of), sum(t["lower_bound"] for t in of)
		proven = near(cost, lower)
		count["plans"] += 1
		count["proven"] += proven
		best = model.plan(dates).solve()
		if best is None:
			continue
		count["solved"] += 1
		count["over"] += not near(cost, best[0])
		if not near(cost, best[0]):
			count["most"] = max(count["most"], cost / best[0] - 1)
		if proven and not near(cost, best[0]):
			wrong.append("the %s is proven at %.6f, but the best costs %.6f" % (what, cost, best[0]))
		if lower > best[0] * (1 + 1e-9) + 2e-5:
			wrong.append("the %s has a bound of %.6f, and the best costs %.6f" % (what, lower, best[0]))
		got = model.plan(dates, model.parts(dates)).solve()
		if got is None or got[0] > cost * (1 + 1e-9) + 2e-5:
			wrong.append("with the machines that the reasons of the %s have, the best costs %s, not %.6f" % (what, got and got[0], cost))
	ours = solve("now.lp") if kind != "slow" else None	# parts of GPUs are used by levels in the plan, by hours in the program
	if ours is not None:
		count["written"] += 1
		cost = sum(t["expected_cost"] for t in told)
		if not near(ours, cost):
			wrong.append("the program of one date that is written has %.6f, the plan %.6f" % (ours, cost))
	ours = solve("ours.lp")
	cost = sum(t["schedule"]["expected_cost"] for t in told)
	if ours is not None:
		count["written"] += 1
		if not near(ours, cost) and all(t["schedule"]["optimal"] for t in told):
			wrong.append("the program that is written has %.6f, the schedule %.6f" % (ours, cost))
	if wrong:
		raise Wrong("; ".join(wrong))
	os.chdir("/")
	if not os.environ.get("SHARED_KEEP"):
		shutil.rmtree(home)


def main():
	berth, data, now = sys.argv[1], sys.argv[2], when(sys.argv[3])
	more = int(sys.argv[4]) if len(sys.argv) > 4 else 0
	first = int(sys.argv[5]) if len(sys.argv) > 5 else 1
	only, at = (sys.argv[6].split(":") + [""])[:2] if len(sys.argv) > 6 else ("", "")
	top = tempfile.mkdtemp(prefix="berth-shared.")
	base = os.path.join(top, "base")
	os.makedirs(base)
	os.chdir(base)
	rng = random.Random(7)
	rows = history(now, rng)
	with open("use.csv", "w") as f:
		f.write(rows)
		for line in rows.splitlines()[2::2]:	# those of "night", half as high and later
			t, gpus, _, accel = line.split(",")
			f.write("%s,%.3f,dusk,%s\n" % (t, float(gpus) / 2 + rng.choice((0, 0, 2)), accel))
	subprocess.run([berth, "--now", iso(now), "record", "csv", "use.csv"], env=dict(os.environ, HOME=base, BERTH_DATA=data),
	    stdout=subprocess.DEVNULL, check=True)
	count = dict.fromkeys(("plans", "refused", "proven", "solved", "over", "written"), 0)
	count["most"] = 0.0
	for kind in KINDS:
		if only and kind != only:
			continue
		right = True
		for k in range(1 + more):
			seed = int(at) if at else first * 1000 + k
			try:
				check(berth, data, now, base, kind, seed, count)
			except Wrong as e:
				right = False
				print("not ok %s: %s [seed %d]" % (kind, str(e).replace("\n", " "), seed), flush=True)
		if right:
			print("ok %s" % kind, flush=True)
	print("# %s" % ", ".join("%.6g %s" % (n, k) for k, n in count.items()))
	os.chdir("/")
	if os.environ.get("SHARED_KEEP"):
		print("# kept in", top)
	else:
		shutil.rmtree(top)


if __name__ == "__main__":
	main()
