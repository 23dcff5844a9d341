#!/usr/bin/env python3
"""Small random worlds for `berth plan`: every feature of commitments beside every other, against programs that are made here
from the man pages and solved by GLPK.

	plan_pairs.py BERTH DATA NOW [worlds more than one of each pair] [seed] [only: a pair, as owned+quota, or pair:seed]

Prints a line for each pair, "ok PAIR" or "not ok PAIR: WHY".
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
from datetime import datetime, timedelta, timezone

FEATURES = ("ladder", "events", "reclaim", "classes", "owned", "spot", "peak", "quota", "share", "budget", "two", "parts")
OWN = "H100-SXM5-80GB"
OTHERS = ("A100-SXM4-80GB", "B200-180GB", "L4", "H200-SXM-141GB")
MONTH_H = 730
HISTORY_H = 28 * 24
TINY = 1e-6


class Wrong(Exception):
	pass


# -- linear programs ----------------------------------------------------------------------------------------------------------

class Program:
	"""min cost x, rows, by glpsol."""

	def __init__(self):
		self.cost, self.upper, self.whole, self.rows = [], [], [], []

	def var(self, cost, upper=math.inf, whole=False):
		self.cost.append(cost)
		self.upper.append(upper)
		self.whole.append(whole)
		return len(self.cost) - 1

	def row(self, terms, sense, rhs):
		terms = [(a, v) for a, v in terms if a != 0]
		if terms:
			self.rows.append((terms, sense, rhs))
		elif (sense == "<=" and rhs < -TINY) or (sense == ">=" and rhs > TINY):
			self.rows.append(([(1, self.var(0, 0))], sense, rhs))

	def solve(self, relaxed=False):
		"""Cost and values; None: infeasible."""
		def sum_of(terms):
			return "".join("\n %+.17g x%d" % t for t in terms)

		text = ["Minimize\n o:", sum_of((c, i) for i, c in enumerate(self.cost)), "\nSubject To\n"]
		for n, (terms, sense, rhs) in enumerate(self.rows):
			text.append(" r%d:%s %s %.17g\n" % (n, sum_of(terms), sense, rhs))
		if not self.rows:
			text.append(" r0: x0 >= 0\n")
		text.append("Bounds\n")
		for i, u in enumerate(self.upper):
			if u < math.inf:
				text.append(" x%d <= %.17g\n" % (i, u))
		whole = [i for i, w in enumerate(self.whole) if w and not relaxed]
		if whole:
			text.append("General\n" + "".join(" x%d\n" % i for i in whole))
		text.append("End\n")
		with open("oracle.lp", "w") as f:
			f.write("".join(text))
		if os.path.exists("oracle.sol"):
			os.unlink("oracle.sol")
		subprocess.run(["glpsol", "--lp", "oracle.lp", "--mipgap", "0", "--tmlim", "20", "-w", "oracle.sol"],
		    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
		cost, values, kind = None, [0.0] * len(self.cost), ""
		with open("oracle.sol") as f:
			for line in f:
				w = line.split()
				if w[0] == "s":
					kind = " ".join(w[4:-1])
					cost = float(w[-1])
				elif w[0] == "j":
					values[int(w[1]) - 1] = float(w[2] if whole else w[3])
		if kind not in ("o", "f f"):
			return None
		return cost, values


# -- worlds -------------------------------------------------------------------------------------------------------------------

def iso(t):
	return datetime.fromtimestamp(t, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def rates(data):
	out = {}
	with open(os.path.join(data, "accelerators.csv"), newline="") as f:
		for row in csv.DictReader(f):
			if row["kind"] == "product" and row["bf16"]:
				out[row["name"]] = float(row["bf16"])
	return out


def history(now, rng):
	"""Two series of four weeks: a day's rhythm, and steps."""
	end = now - now % 3600
	rows = ["timestamp,gpus,series,accelerator"]
	for h in range(HISTORY_H):
		t = end - 3600 * (HISTORY_H - h)
		day = 14 + 7 * math.sin(6.2831853 * h / 24) + rng.choice((-2, -1, 0, 0, 1, 2))
		night = (9 if h // 24 % 7 < 5 else 4) + 3 * math.cos(6.2831853 * h / 24) + rng.choice((0, 0, 1))
		rows.append("%d,%.3f,day,%s" % (t, day, OWN))
		rows.append("%d,%.3f,night,%s" % (t, night, OWN))
	return "\n".join(rows) + "\n"


class World:
	def __init__(self, rng, features, rate, now):
		self.rng, self.features, self.rate, self.now = rng, features, rate, now
		self.series = ["day", "night"] if "two" in features else [rng.choice(("day", "night"))]
		self.limits, self.owned, self.shares, self.args = [], [], [], []
		self.event = None
		self.idle = 0
		self.make_offers()
		for f in features:
			getattr(self, "add_" + f)()

	def offer(self, provider, accel, count, purchase, per_gpu, term=0, payment=""):
		n = count
		upfront = 0
		price = per_gpu * n
		if purchase == "reserved" and payment == "all":
			upfront, price = round(price * term * MONTH_H, 2), 0
		elif purchase == "reserved" and payment == "partial":
			upfront, price = round(price * term * MONTH_H / 2, 2), price / 2
		self.offers.append({"provider": provider, "region": "r1", "instance_type": "%s%d" % (accel[:4].lower(), count),
			"accelerator": accel, "accelerator_count": n, "vcpus": n * self.rng.choice((12, 20, 24)), "purchase": purchase,
			"term_months": term or "", "payment": payment, "upfront": "%.2f" % upfront if upfront else "",
			"price_per_hour": "%.4f" % price, "usage_price_per_hour": "", "currency": "USD"})

	def make_offers(self):
		r = self.rng
		self.offers = []
		for provider in ("acme", "bold", "calm"):
			base = r.uniform(1.8, 2.6)
			sizes = r.sample((1, 2, 4, 8), 2)
			for n in sizes[:1 if provider != "acme" else 2]:
				if provider != "calm":
					self.offer(provider, OWN, n, "on_demand", round(base * r.uniform(0.97, 1.05), 3))
				for term in r.sample((1, 6, 12, 36), 2 if provider == "acme" else 1):
					self.offer(provider, OWN, n, "reserved", round(base * r.uniform(0.4, 0.85), 3), term,
					    r.choice(("none", "partial", "all")))

	def add_classes(self):
		r = self.rng
		self.also = r.sample(OTHERS, 2)
		for a in self.also:
			worth = self.rate[a] / self.rate[OWN]
			for n in r.sample((1, 2, 4, 8), 2):
				p = r.choice(("acme", "bold", "cedar"))
				self.offer(p, a, n, "reserved", round(1.9 * worth * r.uniform(0.4, 0.85), 4), r.choice((1, 12)), "none")
				if r.random() < 0.5:
					self.offer(p, a, n, "on_demand", round(2.1 * worth * r.uniform(0.85, 1.2), 4))
		self.args += ["--also", ",".join(self.also)]

	def add_spot(self):
		for provider in self.rng.sample(("acme", "bold", "calm"), self.rng.choice((1, 2, 3))):
			self.offer(provider, OWN, self.rng.choice((1, 2, 4)), "spot", round(self.rng.uniform(0.5, 1.6), 3))
		self.args += ["--spot-share", str(self.rng.choice((0.2, 0.35, 0.6)))]

	def add_owned(self):
		r = self.rng
		for k in range(r.choice((1, 2))):
			a = r.choice(self.also) if hasattr(self, "also") and r.random() < 0.5 else OWN
			n = r.choice((1, 2, 4))
			self.owned.append({"provider": r.choice(("acme", "bold", "dusk")), "region": "r1", "instance_type": "own%d" % k,
				"accelerator": a, "accelerator_count": n, "count": r.choice((1, 2, 3)), "from": "2026-01-01", "to": "2028-01-01"})

	def add_quota(self):
		r = self.rng
		for k in range(r.choice((1, 2, 3))):
			unit = r.choice(("gpu", "gpu", "machine", "vcpu"))
			limit = {"name": "q%d" % k, "unit": unit, "limit": {"gpu": r.randint(6, 26), "machine": r.randint(2, 12),
				"vcpu": r.randint(120, 520)}[unit]}
			if r.random() < 0.75:
				limit["provider"] = r.choice(("acme", "acme", "bold"))
			elif unit != "vcpu":
				limit["purchase"] = "reserved"
			if r.random() < 0.4:
				limit["purchase"] = r.choice(("reserved", "on_demand", "spot"))
			if r.random() < 0.4:
				limit["accelerator"] = OWN
			self.limits.append(limit)

	def add_share(self):
		r = self.rng
		for p in r.sample(("acme", "bold", "calm"), r.choice((1, 2))):
			lo = r.choice((0, 0, 0.1, 0.25))
			hi = r.choice((0.4, 0.55, 1)) if lo == 0 else r.choice((0.6, 1))
			self.shares.append((p, lo, hi))
			self.args += ["--share", "%s=%g..%g" % (p, lo, hi)]

	def add_peak(self):
		self.on_demand = self.rng.randint(8, 24)
		self.args += ["--on-demand-limit", str(self.on_demand)]

	def add_budget(self):
		self.budget = self.rng.randint(150, 2200) * (2 if "two" in self.features else 1)
		if "two" in self.features:
			self.budget //= 5
		self.args += ["--budget", str(self.budget)]

	def add_ladder(self):
		self.rungs = self.rng.choice((2, 3, 4))
		self.args += ["--ladder", str(self.rungs), "--ladder-every", "1d"]

	def add_events(self):
		r = self.rng
		at = self.now - self.now % 86400 + 86400 * r.choice((2, 3))
		if "two" in self.features:
			at = self.now - self.now % 3600 + 3600 * 6
		self.event = {"start": at, "gpus": r.choice((3, 5)), "factor": 1} if r.random() < 0.5 else \
		    {"start": at, "gpus": 0, "factor": r.choice((0.5, 1.25, 1.5))}

	def add_reclaim(self):
		self.idle = self.rng.choice((1, 2, 3))

	def add_two(self):
		pass

	def add_parts(self):
		"""Most of what is reserved asks for its use too, and less for the rest."""
		r = self.rng
		for o in list(self.offers):
			if o["purchase"] != "reserved" or r.random() < 0.3:
				continue
			if r.random() < 0.4:
				self.offers.append(dict(o))	# plain beside it
			hour = float(o["price_per_hour"]) + float(o["upfront"] or 0) / (o["term_months"] * MONTH_H)
			left = r.uniform(0.15, 0.85)
			o["price_per_hour"] = "%.4f" % (float(o["price_per_hour"]) * left)
			o["upfront"] = "%.2f" % (float(o["upfront"]) * left) if o["upfront"] else ""
			o["usage_price_per_hour"] = "%.4f" % (hour * (1 - left) * r.uniform(0.9, 1.5))
		for o in self.owned:
			o["usage_price_per_hour"] = "%.4f" % (o["accelerator_count"] * r.choice((0, 0.3, 1.1, 2.9)))

	def command(self, events=True):
		two = "two" in self.features
		# a short horizon where the program of several series has all hours of all paths
		return ["plan", *self.series, "--max-term", "36", "--list-prices", "--horizon", "12h" if two else "5d", "--paths",
			"6" if two else "20", "--service-level", "0.8", *([] if "spot" in self.features else ["--no-spot"]), *self.args,
			*(["--events", "road.yaml"] if events and self.event else []), "-o", "json"]

	def write(self):
		with open("offers.csv", "w", newline="") as f:
			w = csv.DictWriter(f, list(self.offers[0]))
			w.writeheader()
			w.writerows(self.offers)
		conf = "schema: berth.config/1\n"
		if self.limits:
			conf += "limits:\n" + "".join("  - {%s}\n" % ", ".join("%s: %s" % kv for kv in x.items()) for x in self.limits)
		os.makedirs(".config/berth", exist_ok=True)
		with open(".config/berth/berth.yaml", "w") as f:
			f.write(conf)
		if self.owned:
			with open("own.csv", "w", newline="") as f:
				w = csv.DictWriter(f, list(self.owned[0]))
				w.writeheader()
				w.writerows(self.owned)
		if self.event:
			e = self.event
			with open("road.yaml", "w") as f:
				f.write("schema: berth.roadmap/1\nevents:\n  - {name: launch, series: %s, start: %s, %s}\n" % (self.series[0],
				    iso(e["start"]), "gpus: %d" % e["gpus"] if e["gpus"] else "factor: %g" % e["factor"]))
		if self.idle:
			end = self.now - self.now % 3600
			with open("idle.csv", "w") as f:
				f.write("timestamp,gpus,series,accelerator\n" + "".join("%d,%d,idle,%s\n" % (end - 3600 * h, self.idle, OWN)
				    for h in range(1, 337)))


# -- the model, from the man pages --------------------------------------------------------------------------------------------

def lambert(x):
	"""W0 for -1/e <= x < 0, by bisection."""
	lo, hi = -1.0, 0.0
	for _ in range(200):
		mid = (lo + hi) / 2
		if mid * math.exp(mid) < x:
			lo = mid
		else:
			hi = mid
	return (lo + hi) / 2


def spot_useful(hazard_h=0.1, write_s=120.0, restart_s=600.0):
	lam = hazard_h / 3600
	tau = (1 + lambert(-math.exp(-lam * write_s - 1))) / lam
	return tau / ((1 / lam + restart_s) * (math.exp(lam * (tau + write_s)) - 1))


class Line:
	"""What serves: kind, USD fixed an hour of one purchase, USD of a GPU-hour, GPUs of one machine, what of it there is."""

	def __init__(self, world, row, kind):
		speed = world.rate[row["accelerator"]] / world.rate[OWN]
		if abs(speed - 1) < 1e-12:
			speed = 1
		self.row, self.kind = row, kind
		self.gpus = speed * int(row["accelerator_count"])
		self.count = int(row.get("count", 0))
		hour = float(row.get("price_per_hour") or 0)
		if kind == "reserved":
			hour += float(row["upfront"] or 0) / (int(row["term_months"]) * MONTH_H)
		self.hour = hour
		self.usage = (hour if kind in ("on_demand", "spot") else float(row.get("usage_price_per_hour") or 0)) / self.gpus
		self.max = self.cap = math.inf

	def weight(self, limit):
		"""Of one machine."""
		for key in ("provider", "accelerator"):
			if limit.get(key, self.row[key]) != self.row[key]:
				return 0
		if "purchase" in limit and limit["purchase"] != ("reserved" if self.kind == "owned" else self.kind):
			return 0
		return {"gpu": int(self.row["accelerator_count"]), "machine": 1, "vcpu": int(self.row.get("vcpus", 0) or 0)}[limit["unit"]]


def speed_of(world, line):
	return line.gpus / int(line.row["accelerator_count"])


def levels(paths):
	"""Demand of all hours of all paths as whole GPUs and shares of time: 3.2 are 3 GPUs, and a fourth in a fifth of the time."""
	weight = {}
	for p in paths:
		for v in p:
			lo = math.floor(v)
			weight[lo] = weight.get(lo, 0) + (1 - (v - lo))
			if v > lo:
				weight[lo + 1] = weight.get(lo + 1, 0) + (v - lo)
	n = sum(len(p) for p in paths)
	return sorted((k, w / n) for k, w in weight.items())


class Model:
	def __init__(self, world, told, demand):
		self.w, self.told = world, told
		self.demand = demand		# {series: (use [paths][steps], peaks)}
		self.hours = len(demand[world.series[0]][0][0])
		self.limits = [dict(x) for x in world.limits]
		usable = {q["limit"]: float(q["usable"]) for q in told["quotas"]}
		for x in self.limits:
			x["usable"] = usable.get(x["name"], x["limit"])
		if hasattr(world, "on_demand"):
			self.limits.append({"name": "--on-demand-limit", "purchase": "on_demand", "unit": "gpu", "limit": world.on_demand,
				"usable": usable.get("--on-demand-limit", world.on_demand)})
		self.spot_cap = {}
		self.lines = {s: self.make_lines(s, t) for s, t in zip(world.series, told["series"])}
		for i, x in enumerate(x for x in self.lines[world.series[0]] if x.kind == "owned"):
			has = sum(self.lines[s][i].count for s in world.series)
			expect(has == x.all, "%d machines of %d are dealt", has, x.all)
		self.peak = {s: self.quantile([max(p) for p in demand[s][1]], 0.8) for s in world.series}

	@staticmethod
	def quantile(values, q):
		v = sorted(values)
		return v[max(0, math.ceil(q * len(v) * (1 - 1e-12)) - 1)]

	def make_lines(self, s, told):
		w = self.w
		out = [Line(w, c, "owned") for c in w.owned]
		known = {OWN} | set(getattr(w, "also", ()))
		out = [x for x in out if x.row["accelerator"] in known]
		for x in out:	# each machine serves one series
			x.all = x.count
			said = [b for b in told["because"] if b.startswith("owned: ") and " %s " % x.row["instance_type"] in b]
			if len(w.series) > 1:
				expect(len(said) == 1, "%s: who has %s is not said", s, x.row["instance_type"])
				x.count = int(said[0].split()[1])
		market = [Line(w, x, x["purchase"]) for x in w.offers if x["accelerator"] in known]
		od = min((x.usage for x in market if x.kind == "on_demand"), default=math.inf)
		out += [x for x in market if x.kind == "reserved"]
		if "spot" in w.features:
			self.spot_cap[s] = math.floor(float(w.args[w.args.index("--spot-share") + 1]) *
			    self.quantile([max(p) for p in self.demand[s][1]], 0.5) + 1e-9)
			for x in market:
				if x.kind == "spot":
					x.usage = 0.8 * x.usage / spot_useful() + 0.2 * od
					out.append(x)
		hourly = sorted((x for x in market if x.kind == "on_demand"), key=lambda x: x.usage)
		# what a quota leaves of one machine is no part of a larger one that is nothing but several of it, and dearer
		out += [x for n, x in enumerate(hourly) if not any(abs(x.gpus / y.gpus - round(x.gpus / y.gpus)) < 1e-9 and
		    all(y.weight(q) * x.gpus <= x.weight(q) * y.gpus + 1e-9 for q in self.limits) for y in hourly[:n])]
		self.dearest = 10 * hourly[-1].usage
		for x in out:
			for limit in self.limits:
				if x.kind != "owned" and x.weight(limit) > 0:
					if limit["name"] == "--on-demand-limit":
						x.cap = min(x.cap, math.floor(limit["limit"] * speed_of(w, x) + 1e-9))
						continue
					x.max = min(x.max, limit["limit"] // x.weight(limit))
					x.cap = min(x.cap, math.floor(x.max * x.gpus + 1e-9))
		return out

	def unserved(self, s):
		return self.dearest

	def atoms(self, scale=1, part=None):
		"""Hours that differ: (demand by series, share of time)."""
		w = self.w
		use = {s: [[v * scale for v in (p if part is None else p[part[0]:part[1]])] for p in self.demand[s][0]] for s in w.series}
		if len(w.series) == 1:
			return [((k,), share) for k, share in levels(use[w.series[0]])]
		if not self.limits:	# nothing but money is shared
			return [(tuple(k if t == s else None for t in w.series), share) for s in w.series for k, share in levels(use[s])]
		n = len(use[w.series[0]]) * len(use[w.series[0]][0])
		return [(tuple(use[s][p][t] for s in w.series), 1 / n) for p in range(len(use[w.series[0]]))
			for t in range(len(use[w.series[0]][0]))]

	def program(self, atoms, hours, fixed=None, peak=True, buy=True, spot=True, budget=True, less=None, shares=True):
		"""fixed: counts {(series, line)}; less: GPUs taken off each quota by name. Returns program, x by (series, line), y."""
		w, p = self.w, Program()
		x, y, u = {}, {}, {}
		for s in w.series:
			for i, l in enumerate(self.lines[s]):
				if l.kind == "reserved" and buy:
					x[s, i] = p.var(l.hour * hours, l.max, True)
					if fixed is not None:
						p.row([(1, x[s, i])], "=", fixed.get((s, i), 0))
		for h, (demand, share) in enumerate(atoms):
			for k, s in enumerate(w.series):
				terms = []
				if not demand[k]:
					continue
				u[s, h] = p.var(share * hours * self.unserved(s))
				terms.append((1, u[s, h]))
				spots = []
				for i, l in enumerate(self.lines[s]):
					if (l.kind == "reserved" and not buy) or (l.kind == "spot" and not spot):
						continue
					most = l.count * l.gpus if l.kind == "owned" else math.inf if l.kind == "reserved" else l.cap
					y[s, i, h] = p.var(share * hours * l.usage, most)
					terms.append((1, y[s, i, h]))
					if l.kind == "reserved":
						p.row([(1, y[s, i, h]), (-l.gpus, x[s, i])], "<=", 0)
					if l.kind == "spot":
						spots.append((1, y[s, i, h]))
				p.row(terms, ">=", demand[k])
				if spots:
					p.row(spots, "<=", self.spot_cap[s])
			for q in self.limits:
				self.quota_row(p, q, x, [(l, y[s, i, h]) for s in w.series for i, l in enumerate(self.lines[s])
					if l.kind in ("on_demand", "spot") and (s, i, h) in y], less)
		for s in w.series:
			if peak:
				self.peak_rows(p, s, x, less)
			if shares:
				self.share_rows(p, s, x)
		if budget and hasattr(w, "budget"):
			p.row([(self.lines[s][i].hour * hours, v) for (s, i), v in x.items()], "<=", w.budget * (1 + 1e-12))
		return p, x, y, u

	def held(self, q):
		return sum(l.weight(q) * l.count for s in self.w.series for l in self.lines[s] if l.kind == "owned")

	def quota_row(self, p, q, x, used, less):
		left = max(0, q["usable"] - (less or {}).get(q["name"], 0) - self.held(q))
		p.row([(self.lines[s][i].weight(q), v) for (s, i), v in x.items()] + [(l.weight(q) / l.gpus, v) for l, v in used], "<=", left)

	def peak_rows(self, p, s, x, less):
		need = math.ceil(self.peak[s] - 1e-9) - sum(l.gpus * l.count for l in self.lines[s] if l.kind == "owned")
		if need <= 0:
			return
		v = [(l, p.var(0, l.cap)) for l in self.lines[s] if l.kind == "on_demand"]
		p.row([(1, k) for _, k in v] + [(self.lines[t][i].gpus, k) for (t, i), k in x.items() if t == s], ">=", need - 1e-9)
		for q in self.limits:
			self.quota_row(p, q, x, v, less)

	def share_rows(self, p, s, x):
		for provider, lo, hi in self.w.shares:
			for part, sense in ((hi, "<="), (lo, ">=")):
				if (sense == "<=" and part >= 1) or (sense == ">=" and part <= 0):
					continue
				owned = sum(((l.row["provider"] == provider) - part) * l.gpus * l.count for l in self.lines[s] if l.kind == "owned")
				p.row([(((self.lines[s][i].row["provider"] == provider) - part) * self.lines[s][i].gpus, v)
				    for (t, i), v in x.items() if t == s], sense, -owned + (1e-9 if sense == "<=" else -1e-9))


# -- one world ----------------------------------------------------------------------------------------------------------------

def near(a, b, rel=1e-9, room=2e-5):
	return abs(a - b) <= rel * max(abs(a), abs(b)) + room


def expect(true, text, *values):
	if not true:
		raise Wrong(text % values)


class Trial:
	def __init__(self, berth, data, now, base, seed, features, full):
		self.berth, self.now, self.seed, self.full = berth, now, seed, full
		self.world = World(random.Random(seed), features, rates(data), now)
		self.env = dict(os.environ, BERTH_DATA=data, LC_ALL="C", TERM="dumb")
		self.base = base

	def run(self, *args, ok=(0,)):
		p = subprocess.run([self.berth, "--now", iso(self.now), *args], env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
		    text=True, check=False)
		expect(p.returncode in ok, "%s: exit %d: %s", " ".join(args), p.returncode, p.stderr.strip())
		return p

	def plan(self, events=True):
		p = self.run(*self.world.command(events), "--write-demand", "demand.csv", ok=(0, 3))
		if p.returncode == 3:
			return None, p.stderr
		demand = {}
		with open("demand.csv", newline="") as f:
			for row in csv.DictReader(f):
				use, peak = demand.setdefault(row["series"], ({}, {}))
				use.setdefault(int(row["path"]), []).append(float(row["gpus"]))
				peak.setdefault(int(row["path"]), []).append(float(row["peak"]))
		return json.loads(p.stdout), {s: ([v for _, v in sorted(u.items())], [v for _, v in sorted(k.items())])
			for s, (u, k) in demand.items()}

	def check(self):
		w = self.world
		home = tempfile.mkdtemp(dir=os.path.dirname(self.base))
		self.env["HOME"] = home
		shutil.rmtree(home)
		shutil.copytree(self.base, home)
		os.chdir(home)
		w.write()
		self.run("prices", "import", "offers.csv")
		if w.owned:
			self.run("commitments", "import", "own.csv")
		if w.idle:
			self.run("record", "csv", "--unit", "gpu_held_idle", "idle.csv")
		told, demand = self.plan()
		if told is None:
			self.refused(demand)
		else:
			self.checks(told, demand)
		os.chdir("/")
		if not os.environ.get("PAIRS_KEEP"):
			shutil.rmtree(home)
		return told is not None

	def refused(self, why):
		"""Nothing keeps all rules: the same, by the program, on the demand of the plan without them."""
		w = self.world
		args, limits = w.args, w.limits
		w.args = [a for a in args]
		for option in ("--budget", "--share", "--on-demand-limit"):
			while option in w.args:
				k = w.args.index(option)
				del w.args[k:k + 2]
		w.limits = []
		with open(".config/berth/berth.yaml", "w") as f:
			f.write("schema: berth.config/1\n")
		told, demand = self.plan()
		expect(told is not None, "refused without rules as well: %s", demand)
		w.args, w.limits = args, limits
		model = Model(w, told, demand)
		for q in model.limits:
			if q["name"] == "--on-demand-limit":
				continue
		p = model.program(model.atoms(), model.hours)[0]
		got = p.solve()
		expect(got is None, "refused (%s), but GLPK has a plan of %s USD", why.strip(), got and got[0])

	def counts(self, model, told):
		out = {}
		for s, t in zip(self.world.series, told["series"]):
			for b in t["buys"]:
				i = [i for i, l in enumerate(model.lines[s]) if l.kind == "reserved" and all(
				    str(l.row[k]) == str(b[k]) for k in ("provider", "instance_type", "term_months", "payment"))
				    and near(float(l.row["usage_price_per_hour"] or 0), b["usage_price_per_hour"])]
				expect(len(i) == 1, "a purchase that is no offer: %s", b)
				out[s, i[0]] = out.get((s, i[0]), 0) + b["count"]
				l = model.lines[s][i[0]]
				expect(near(b["bound"], b["count"] * l.hour * model.hours), "%s machines at %s bind %s", b["count"], l.hour, b["bound"])
				expect(near(b["gpus"], b["count"] * l.gpus, room=1e-3), "%s machines of %s GPUs are %s", b["count"], l.gpus, b["gpus"])
				od = min(x.usage for x in model.lines[s] if x.kind == "on_demand")
				even = l.hour / l.gpus / (od - l.usage) if od > l.usage else None
				expect((b["break_even_utilisation"] is None) == (even is None) and near(b["break_even_utilisation"] or 0, even or 0,
				    room=2e-6), "break-even %s, not %s", b["break_even_utilisation"], even)
				used = b["utilisation"] * b["gpus"] * model.hours * l.usage
				expect(near(b["expected_cost"], b["bound"] + used, room=1e-3 + 2e-6 * b["gpus"] * model.hours * l.usage), "%s of use beside "
				    "%s are %s", used, b["bound"], b["expected_cost"])
		return out

	def checks(self, told, demand):
		w = self.world
		model = Model(w, told, demand)
		atoms, hours = model.atoms(), model.hours
		x = self.counts(model, told)
		cost = told["totals"]["expected_cost"]
		lower = told["totals"]["lower_bound"]
		mine = model.program(atoms, hours, fixed=x)
		got = mine[0].solve()
		expect(got is not None, "the plan %s breaks a rule", x)
		expect(near(got[0], cost), "the plan costs %.6f, it says %.6f", got[0], cost)
		best = model.program(atoms, hours)[0].solve()
		expect(best is not None, "GLPK finds no plan")
		expect(lower <= best[0] * (1 + 1e-9) + 2e-5, "bound of %.6f, a plan of %.6f is there", lower, best[0])
		expect(cost <= best[0] * (1 + 1e-9) + 2e-5 or cost - lower > 1e-9 * cost, "told optimal at %.6f, but %.6f is there", cost,
		    best[0])
		if cost > best[0] * (1 + 1e-6):
			gaps.append((cost / best[0] - 1, self.seed, w.features))
		self.sums(told, model)
		self.levels(told, model)
		if w.event:
			self.events(told, demand)
		if w.idle:
			for t in told["series"]:
				expect(near(t["reclaim"]["gpus"], w.idle * 336 / (28 * 24), room=2e-3), "reclaim %s", t["reclaim"])
		without = self.on_demand(model)
		expect(near(without, told["totals"]["on_demand_only_cost"]), "on demand only: %.6f, it says %.6f", without,
		    told["totals"]["on_demand_only_cost"])
		if len(w.series) == 1:
			self.outcome(told["series"][0], model, got[1], mine, atoms)
			if self.full or {"share", "budget", "quota", "peak"} & set(w.features):
				self.regret(told["series"][0], model, x)
		if w.limits or hasattr(w, "on_demand"):
			self.prices(told, model, atoms)
		if hasattr(w, "rungs"):
			self.ladder(told, model, x)

	def on_demand(self, model):
		"""What is owned first, the rest at the cheapest price there is on demand."""
		usd = 0
		for s in self.world.series:
			use = levels(model.demand[s][0])
			price = min(l.usage for l in model.lines[s] if l.kind == "on_demand")
			at = 0
			for l in sorted((l for l in model.lines[s] if l.kind == "owned" and l.usage < price), key=lambda l: l.usage):
				usd += l.usage * model.hours * sum(w * min(max(0, k - at), l.gpus * l.count) for k, w in use)
				at += l.gpus * l.count
			usd += price * model.hours * sum(w * max(0, k - at) for k, w in use)
		return usd

	def sums(self, told, model):
		for t in told["series"]:
			parts = sum(b["expected_cost"] for b in t["buys"]) + sum(r["expected_cost"] for r in t["rest"])
			s = t["name"]
			served = sum(b["utilisation"] * b["gpus"] for b in t["buys"]) + sum(r["share"] for r in t["rest"]) * t["mean"]
			lost = max(0, t["mean"] - served)
			expect(near(t["expected_cost"], parts + lost * model.hours * model.unserved(s), 2e-5, 0.02 + 4e-5 * model.unserved(s) *
			    model.hours), "%s: parts add up to %.4f (%.6f GPUs unserved), the plan says %.4f", s, parts, lost, t["expected_cost"])
			expect(t["mean"] >= served - 1e-4 * max(1, t["mean"]), "%s: more is served (%s) than is asked (%s)", s, served, t["mean"])
			use = [v for p in model.demand[s][0] for v in p]
			expect(near(t["mean"], sum(use) / len(use), room=2e-6), "%s: mean %s", s, t["mean"])
			expect(near(t["peak"], model.peak[s], room=2e-6), "%s: peak %s, not %s", s, t["peak"], model.peak[s])
		for key, total in (("expected_cost", "expected_cost"), ("on_demand_only_cost", "on_demand_only_cost"),
		    ("lower_bound", "lower_bound")):
			expect(near(sum(t[key] for t in told["series"]), told["totals"][total]), "totals of %s", key)

	def levels(self, told, model):
		for t in told["series"]:
			use = [v for p in model.demand[t["name"]][0] for v in p]
			for u in t["utilisation"]:
				busy = sum(min(1, max(0, v - u["gpu"] + 1)) for v in use) / len(use)
				expect(near(u["busy"], busy, room=2e-6), "GPU %d is busy %s, it says %s", u["gpu"], busy, u["busy"])

	def events(self, told, demand):
		"""What is certain is added to, or multiplies, every path from its start on."""
		_, before = self.plan(events=False)
		e = self.world.event
		t0 = int(datetime.strptime(told["as_of"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp())
		for k, s in enumerate(self.world.series):
			for p, q in zip(before[s][1], demand[s][1]):
				for h, (a, b) in enumerate(zip(p, q)):
					on = t0 + 3600 * h >= e["start"] and k == 0
					expect(near(b, a * e["factor"] + e["gpus"] if on else a, 1e-9, 1e-6), "%s: peak of %s with the event, %s without", s,
					    b, a)

	def outcome(self, t, model, values, program, atoms):
		"""P10, P50, P90 of the cost of the paths."""
		_, x, y, u = program
		s = self.world.series[0]
		usd = {0: 0.0}
		for h, ((d,), share) in enumerate(atoms):
			if d > 0:
				usd[d] = sum(values[v] * model.lines[s][i].usage for (_, i, k), v in y.items() if k == h) + \
				    values[u[s, h]] * model.unserved(s)
		fixed = sum(values[v] * model.lines[s][i].hour for (_, i), v in x.items())
		cost = []
		for p in model.demand[s][0]:
			sum_ = 0
			for v in p:
				lo = math.floor(v)
				sum_ += usd[lo] + ((v - lo) * (usd[lo + 1] - usd[lo]) if v > lo else 0)
			cost.append(sum_ + fixed * len(p))
		for name, q in (("p10", 0.1), ("p50", 0.5), ("p90", 0.9)):
			want = model.quantile(cost, q)
			expect(near(t["outcome"][name], want, 1e-7, 1e-4), "%s %.4f, it says %.4f",
			    name, want, t["outcome"][name])
		room = sum(l.gpus * l.count for l in model.lines[s] if l.kind == "owned")
		p = Program()
		v = [(l, p.var(-1, min(l.cap, 1e6))) for l in model.lines[s] if l.kind == "on_demand"]
		fix = {k: p.var(0) for k in x}
		for k in x:
			p.row([(1, fix[k])], "=", round(values[x[k]]))
			room += round(values[x[k]]) * model.lines[s][k[1]].gpus
		for q in model.limits:
			model.quota_row(p, q, fix, v, None)
		room -= p.solve()[0]
		share = sum(max(k) <= room * (1 + 1e-9) + 1e-6 for k in model.demand[s][1]) / len(model.demand[s][1])
		expect(near(t["covered"], share, room=1e-6), "covered %s, it says %s", share,
		    t["covered"])

	def regret(self, t, model, x):
		scales = (("demand_minus_10", 0.9), ("demand_minus_20", 0.8), ("demand_plus_20", 1.2))
		for name, scale in scales if self.full else (self.world.rng.choice(scales),):
			atoms = model.atoms(scale)
			stay = model.program(atoms, model.hours, fixed=x, peak=False)[0].solve()
			best = model.program(atoms, model.hours, peak=False)[0].solve()
			expect(near(t["regret"][name], max(0, stay[0] - best[0]), 2e-6, 2e-6 * stay[0]), "regret %s: %.4f (%.4f against %.4f), it says "
			    "%.4f", name, stay[0] - best[0], stay[0], best[0], t["regret"][name])

	def prices(self, told, model, atoms):
		"""USD a month of one more: between what one less costs and one more saves, in the linear program."""
		base = model.program(atoms, model.hours)[0].solve(relaxed=True)[0]
		step = 0.125
		for q in model.limits:
			got = [k for k in told["quotas"] if k["limit"] == q["name"]]
			if not got:
				continue
			more = model.program(atoms, model.hours, less={q["name"]: -step})[0].solve(relaxed=True)[0]
			less = model.program(atoms, model.hours, less={q["name"]: step})[0].solve(relaxed=True)
			less = math.inf if less is None else less[0]
			scale = MONTH_H / model.hours / step
			lo, hi = (base - more) * scale, (less - base) * scale
			price = got[0]["price_per_month"]
			room = 0.05 + 1e-3 * max(k["price_per_month"] for k in told["quotas"])	# tangents' prices, near enough
			if price == 0:		# whole machines may have no use for it where parts of them would
				one = model.program(atoms, model.hours, less={q["name"]: -1})[0].solve()[0]
				lo = min(lo, (told["totals"]["expected_cost"] - one) * MONTH_H / model.hours)
			expect(lo - room <= price <= hi + room, "quota %s: one more saves %.4f to %.4f USD a month, it says %.4f", q["name"], lo, hi,
			    price)

	def ladder(self, told, model, x):
		w = self.world
		bought = sum(x.values())
		ladders = [t.get("ladder") for t in told["series"]]
		if bought == 0:
			return
		n, step = w.rungs, 24
		total = 0
		have = {k: 0 for k in x}
		for k in range(n):
			lo, hi = k * step, min(model.hours, (k + 1) * step) if k < n - 1 else model.hours
			for (s, i), c in x.items():
				l = model.lines[s][i]
				t = told["series"][w.series.index(s)]
				now = iso(int(datetime.strptime(told["as_of"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()) + lo * 3600)
				have[s, i] += sum(r["count"] for r in t["ladder"]["steps"] if r["t"] == now and r["provider"] == l.row["provider"] and
				    r["instance_type"] == l.row["instance_type"] and r.get("term_months", l.row["term_months"]) == l.row["term_months"]
				    and r.get("payment", l.row["payment"]) == l.row["payment"] and
				    near(float(l.row["usage_price_per_hour"] or 0), r["usage_price_per_hour"]))
			if lo >= model.hours:
				continue
			was = dict(model.peak)
			model.peak = {s: model.quantile([max(p[lo:hi]) for p in model.demand[s][1]], 0.8) for s in w.series}
			p = model.program(model.atoms(part=(lo, hi)), hi - lo, fixed=dict(have), budget=False)[0].solve()
			model.peak = was
			expect(p is not None, "step %d of the ladder, %s, breaks a rule", k + 1, have)
			total += p[0]
		expect(have == x, "the ladder's steps add up to %s, not %s", have, x)
		said = sum(t["ladder"]["expected_cost"] if t.get("ladder") else t["expected_cost"] for t in told["series"])
		expect(near(said, total, 1e-8, 1e-3), "in steps %.4f, it says %.4f", total, said)


gaps = []


def pairs():
	out = [(f,) for f in FEATURES]
	for i, f in enumerate(FEATURES):
		out += [(f, g) for g in FEATURES[i + 1:]]
	return out


def main():
	berth, data, now = sys.argv[1], sys.argv[2], sys.argv[3]
	more = int(sys.argv[4]) if len(sys.argv) > 4 else 0
	first = int(sys.argv[5]) if len(sys.argv) > 5 else 1
	only, at = (sys.argv[6].split(":") + [""])[:2] if len(sys.argv) > 6 else ("", "")
	now = int(datetime.strptime(now, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp())
	top = tempfile.mkdtemp(prefix="berth-pairs.")
	base = os.path.join(top, "base")
	os.makedirs(base)
	os.chdir(base)
	with open("use.csv", "w") as f:
		f.write(history(now, random.Random(7)))
	subprocess.run([berth, "--now", iso(now), "record", "csv", "use.csv"], env=dict(os.environ, HOME=base, BERTH_DATA=data),
	    stdout=subprocess.DEVNULL, check=True)
	plans = worlds = 0
	for features in pairs():
		if only and set(only.split("+")) != set(features):
			continue
		why = ""
		for k in range(1 + more):
			seed = int(at) if at else first * 1000 + k
			try:
				trial = Trial(berth, data, now, base, "%s %d" % (" ".join(features), seed), features, more > 0 or bool(at))
				worlds += 1
				plans += trial.check()
			except Wrong as e:
				why = "%s [seed %d]" % (e, seed)
				print("not ok %s: %s" % ("+".join(features), why.replace("\n", " ")), flush=True)
		if not why:
			print("ok %s" % "+".join(features), flush=True)
	print("# %d worlds, %d planned, the others refused; %d plans over the optimum%s" % (worlds, plans, len(gaps),
	    ", at most by %.2g (%s)" % max(gaps)[:2] if gaps else ""))
	os.chdir("/")
	if os.environ.get("PAIRS_KEEP"):
		print("# kept in", top)
	else:
		shutil.rmtree(top)


if __name__ == "__main__":
	main()
