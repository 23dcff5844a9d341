#!/usr/bin/env python3
"""Small random worlds for `berth plan --starts` with prices of use, against programs that are made here from the man pages, hour
by hour of the sample paths, and solved by GLPK.

	plan_starts.py BERTH DATA NOW [worlds more than one of each kind] [seed] [only: a kind, or kind:seed]

Prints a line for each kind of world, "ok KIND" or "not ok KIND: WHY".
"""
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timezone

from plan_pairs import MONTH_H, OWN, Program, Wrong, history, iso, levels

KINDS = ("plain", "owned", "share", "budget", "quota", "all", "two", "two+quota", "two+budget", "two+bought")


def when(text):
	return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp())


class World:
	def __init__(self, kind, seed, now):
		self.rng = r = random.Random("%s %d" % (kind, seed))
		self.two = "two" in kind
		self.series = ["day", "night"] if self.two else [r.choice(("day", "night"))]
		self.t0 = now - now % 3600
		# terms end inside the horizon of one series; several have all hours of all paths in one program
		self.horizon, self.every, self.paths = (96, 48, 2) if self.two else (35 * 24, r.choice((7, 14)) * 24, 4)
		self.offers, self.owned, self.limits, self.shares, self.budget = [], [], [], [], None
		for provider, n in (("acme", r.choice((2, 4))), ("bold", 1)):
			base = r.uniform(1.8, 2.4) * (1 if provider == "acme" else 1.15)
			self.offer(provider, n, "on_demand", base)
			for k in range(3 if provider == "acme" else 2):
				left = r.choice((0, 0.15, 0.35, 0.6, 1))
				hour = base * r.uniform(0.4, 0.85)
				self.offer(provider, n if k < 2 else 1, "reserved", hour * left, r.choice((1, 1, 12)), r.choice(("none", "partial")),
				    hour * (1 - left) * r.uniform(0.9, 1.4))
		if kind in ("owned", "all", "two"):
			self.add_owned()
		if kind in ("share", "all"):
			self.shares.append(("bold", r.choice((0, 0.2, 0.3)), r.choice((0.6, 0.8, 1))))
		if kind in ("budget", "all", "two+budget"):
			self.budget = r.randint(100, 900) * (1 if self.two else 6)
		if kind in ("quota", "all", "two+quota"):
			self.limits.append({"name": "cards", "provider": "acme", "limit": 4 * r.randint(3, 5), "unit": "gpu"})
		if kind == "two+bought":
			self.limits.append({"name": "bound", "purchase": "reserved", "limit": 4 * r.randint(2, 5), "unit": "gpu"})

	def offer(self, provider, n, purchase, gpu_hour, term="", payment="", use=0.0):
		price, upfront = gpu_hour * n, 0
		if payment == "partial":
			upfront, price = round(price * term * MONTH_H / 2, 2), price / 2
		payment = "none" if payment == "partial" and not upfront else payment	# else a part of the price is not known
		self.offers.append({"provider": provider, "region": "r1", "instance_type": "h%d.%d" % (n, len(self.offers)), "accelerator": OWN, "accelerator_count": n,
			"purchase": purchase, "term_months": term, "payment": payment, "upfront": "%.2f" % upfront if upfront else "",
			"price_per_hour": "%.4f" % price, "usage_price_per_hour": "%.4f" % (use * n) if use else "", "currency": "USD"})

	def add_owned(self):
		r = self.rng
		for k in range(2):
			until = self.t0 + 3600 * r.choice((24, 36, 600, 9999))
			self.owned.append({"provider": r.choice(("acme", "bold")), "region": "r1", "instance_type": "own%d" % k, "accelerator": OWN,
				"accelerator_count": 2, "count": r.choice((1, 2)), "from": "2026-01-01T00:00:00Z", "to": iso(until),
				"usage_price_per_hour": "%.2f" % (2 * r.choice((0, 0.4, 1.3)))})

	def command(self):
		args = ["plan", *self.series, "--max-term", "12", "--list-prices", "--provider", "acme,bold", "--no-spot", "--horizon",
			"%dh" % self.horizon, "--starts", "%dh" % self.every, "--paths", str(self.paths), "--service-level", "0.5", "-o", "json",
			"--write-demand", "demand.csv", "--write-lp", "ours.lp"]
		for p, lo, hi in self.shares:
			args += ["--share", "%s=%g..%g" % (p, lo, hi)]
		return args + (["--budget", str(self.budget)] if self.budget is not None else [])


class Model:
	"""Machines by series, line and start; in each stretch between two dates the cheapest use in each hour of each path."""

	def __init__(self, w, told, demand):
		self.w, self.told, self.demand = w, told, demand
		self.lines = [self.line(o) for o in w.offers]
		cuts = {0, w.horizon}
		always = set(range(0, w.horizon, w.every))
		self.own = []
		for o in w.owned:
			until = (when(o["to"]) - w.t0) // 3600
			self.own.append((int(o["count"]) * int(o["accelerator_count"]), until, float(o["usage_price_per_hour"]) /
				int(o["accelerator_count"]), o))
		for _, term, _, _, _ in self.lines:
			if term:
				always |= set(range(term, w.horizon, term))
		self.parts = [self.part(k) for k in range(len(self.own))]
		self.starts = {s: always | {g[1] for g in self.own if g[1] < w.horizon} for s in w.series}
		starts = set().union(*self.starts.values())
		cuts |= starts
		for _, term, _, _, _ in self.lines:
			cuts |= {s + term for s in starts if term and s + term < w.horizon}
		self.cuts = sorted(cuts)

	@staticmethod
	def line(o):
		n = int(o["accelerator_count"])
		hour = float(o["price_per_hour"]) / n
		if o["purchase"] == "on_demand":
			return n, 0, 0, hour, o
		hour += float(o["upfront"] or 0) / (n * o["term_months"] * MONTH_H)
		return n, o["term_months"] * MONTH_H, hour, float(o["usage_price_per_hour"] or 0) / n, o

	def part(self, k):
		"""What each series has of commitment k, as the schedule says."""
		if len(self.w.series) == 1:
			return {self.w.series[0]: self.own[k][0]}
		out = {}
		for t in self.told["series"]:
			for s in t["because"]:
				words = s.split()
				if words[:2] == ["schedule:", "owned:"] and "count here" in s and "own%d" % k in s:
					out[t["name"]] = 2 * int(words[2])
		return out

	def program(self, fixed=None):
		w = self.w
		p = Program()
		x, running = {}, {}
		for s in w.series:
			for i, (n, term, hour, _, o) in enumerate(self.lines):
				for at in sorted(self.starts[s]) if term else ():
					inside = min(term, w.horizon - at)
					x[s, i, at] = p.var(hour * n * inside, whole=True)
					if fixed is not None:
						p.row([(1, x[s, i, at])], "=", fixed.get((s, i, at), 0))
		for a, b in zip(self.cuts, self.cuts[1:]):
			have = {s: [(self.parts[k].get(s, 0), g[2], g[3]) for k, g in enumerate(self.own) if b <= g[1]] for s in w.series}
			for s in w.series:
				for i, (n, term, _, _, o) in enumerate(self.lines):
					running[s, i] = [(n, x[s, i, at]) for at in self.starts[s] if term and at <= a < at + term]
				self.share_rows(p, have[s], {i: running[s, i] for i in range(len(self.lines))})
			for limit in w.limits:
				self.quota_row(p, limit, [], have, running)
			self.hours(p, a, b, have, running)
		if w.budget is not None:
			p.row([(p.cost[v], v) for v in x.values()], "<=", w.budget)
		return p, x

	def share_rows(self, p, have, running):
		for provider, lo, hi in self.w.shares:
			for part, sense in ((lo, ">="), (hi, "<=")):
				terms = [(((self.lines[i][4]["provider"] == provider) - part) * n, v) for i, r in running.items() for n, v in r]
				p.row(terms, sense, -sum(((o["provider"] == provider) - part) * g for g, _, o in have))

	@staticmethod
	def counted(limit, o, purchase):
		return limit.get("provider", o["provider"]) == o["provider"] and limit.get("purchase", purchase) == purchase

	def quota_row(self, p, limit, used, have, running):
		terms = [(n, v) for (s, i), r in running.items() for n, v in r if self.counted(limit, self.lines[i][4], "reserved")]
		terms += [(1, v) for i, v in used if self.counted(limit, self.lines[i][4], "on_demand")]
		held = sum(g for h in have.values() for g, _, o in h if self.counted(limit, o, "reserved"))
		p.row(terms, "<=", max(0, limit["limit"] - held))

	def hours(self, p, a, b, have, running):
		"""The hours of a stretch: of one series its levels, else all."""
		w = self.w
		if len(w.series) == 1:
			each = [((k,), share * (b - a)) for k, share in levels([q[a:b] for q in self.demand[w.series[0]]])]
		else:
			each = [(tuple(self.demand[s][q][h] for s in w.series), 1 / w.paths) for q in range(w.paths) for h in range(a, b)]
		for d, weight in each:
			used = []
			for s, asked in zip(w.series, d):
				terms = []
				for i, (_, term, _, use, _) in enumerate(self.lines):
					v = p.var(weight * use)
					terms.append((1, v))
					if term:
						p.row([(1, v)] + [(-n, y) for n, y in running[s, i]], "<=", 0)
					else:
						used.append((i, v))
				terms += [(1, p.var(weight * use, g)) for g, use, _ in have[s]]
				p.row(terms, ">=", asked)
			for limit in w.limits:
				self.quota_row(p, limit, used, have, running)

	def bought(self):
		out = {}
		for t in self.told["series"]:
			for b in t["schedule"]["buys"]:
				i = [i for i, l in enumerate(self.lines) if l[1] and all(str(l[4][k]) == str(b[k]) for k in
				    ("provider", "instance_type", "term_months", "payment")) and
				    abs(float(l[4]["usage_price_per_hour"] or 0) - (b["usage_price_per_hour"] or 0)) < 1e-6]
				if len(i) != 1:
					raise Wrong("a purchase that is no offer: %s" % b)
				key = t["name"], i[0], (when(b["t"]) - self.w.t0) // 3600
				if key[2] not in self.starts[t["name"]]:
					raise Wrong("a date that is none: %s" % b["t"])
				out[key] = out.get(key, 0) + b["count"]
		return out


def near(a, b):
	return abs(a - b) <= 2e-5 + 1e-9 * abs(b)


def solve(path):
	subprocess.run(["timeout", "60", "glpsol", "--lp", path, "--mipgap", "0", "-w", "ours.sol"], stdout=subprocess.DEVNULL,
	    stderr=subprocess.DEVNULL, check=False)
	if not os.path.exists("ours.sol"):
		return None
	with open("ours.sol") as f:
		for line in f:
			word = line.split()
			if word[0] == "s":
				return float(word[-1]) if word[4] == "o" else None
	return None


def check(berth, data, now, base, kind, seed, count):
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
			out = csv.DictWriter(f, list((rows or [{"none": 0}])[0]))
			out.writeheader()
			out.writerows(rows)
	os.makedirs(".config/berth", exist_ok=True)
	with open(".config/berth/berth.yaml", "w") as f:
		f.write("schema: berth.config/1\n" + ("limits:\n" + "".join("  - {%s}\n" % ", ".join("%s: %s" % kv for kv in x.items())
		    for x in w.limits) if w.limits else ""))
	run("prices", "import", "offers.csv")
	if w.owned:
		run("commitments", "import", "own.csv")
	p = run(*w.command(), ok=(0, 3))
	if p.returncode == 3:
		count["refused"] += 1
		return
	told = json.loads(p.stdout)
	demand = {s: [] for s in w.series}
	with open("demand.csv", newline="") as f:
		for row in csv.DictReader(f):
			of = demand[row["series"]]
			while len(of) < int(row["path"]):
				of.append([])
			of[int(row["path"]) - 1].append(float(row["gpus"]))
	model = Model(w, told, demand)
	cost = sum(t["schedule"]["expected_cost"] for t in told["series"])
	lower = sum(t["schedule"]["lower_bound"] for t in told["series"])
	x = model.bought()
	count["bought"] += sum(x.values())
	count["used"] += sum(n for (_, i, _), n in x.items() if model.lines[i][3] > 0)
	got = model.program(x)[0].solve()
	if got is None:
		raise Wrong("the schedule %s breaks a rule" % x)
	if not near(got[0], cost):
		raise Wrong("the schedule %s costs %.6f, it says %.6f" % (x, got[0], cost))
	proven = all(t["schedule"]["optimal"] for t in told["series"])
	count["plans"] += 1
	count["proven"] += proven
	best = model.program()[0].solve()
	if best is not None:
		if lower > best[0] * (1 + 1e-9) + 2e-5:
			raise Wrong("a bound of %.6f, and there is a schedule of %.6f" % (lower, best[0]))
		if proven and not near(cost, best[0]):
			raise Wrong("proven at %.6f, but the best costs %.6f" % (cost, best[0]))
		count["solved"] += 1
	ours = solve("ours.lp")
	if ours is not None:
		if proven and not near(ours, cost):
			raise Wrong("the program that is written has %.6f, the schedule %.6f" % (ours, cost))
		count["written"] += 1
	os.chdir("/")
	if not os.environ.get("STARTS_KEEP"):
		shutil.rmtree(home)


def main():
	berth, data, now = sys.argv[1], sys.argv[2], when(sys.argv[3])
	more = int(sys.argv[4]) if len(sys.argv) > 4 else 0
	first = int(sys.argv[5]) if len(sys.argv) > 5 else 1
	only, at = (sys.argv[6].split(":") + [""])[:2] if len(sys.argv) > 6 else ("", "")
	top = tempfile.mkdtemp(prefix="berth-starts.")
	base = os.path.join(top, "base")
	os.makedirs(base)
	os.chdir(base)
	with open("use.csv", "w") as f:
		f.write(history(now, random.Random(7)))
	subprocess.run([berth, "--now", iso(now), "record", "csv", "use.csv"], env=dict(os.environ, HOME=base, BERTH_DATA=data),
	    stdout=subprocess.DEVNULL, check=True)
	count = dict.fromkeys(("plans", "refused", "proven", "solved", "written", "bought", "used"), 0)
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
	print("# %s" % ", ".join("%d %s" % (n, k) for k, n in count.items()))
	os.chdir("/")
	if os.environ.get("STARTS_KEEP"):
		print("# kept in", top)
	else:
		shutil.rmtree(top)


if __name__ == "__main__":
	main()
