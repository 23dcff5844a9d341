"""Other halves and other worlds for bench/spot-other: spot_other.py KIND OUT [TRACES]

weeks, days: recorded traces with their even weeks (days) first and the odd ones behind, so that one is trained on and the other
paid; reversed: time runs backwards; swapped: each zone's second half is that of the next zone; inverted: up is down; faster: the
second half at thrice the pace.  exponential, weibull, diurnal, flapping, drift, regime, moods, pareto, thin, uneven: made-up zones
of 45 days, seeded; shared: zones that flap and at times are all down together.
"""
import csv
import math
import os
import random
import sys

TICK = 300
DAYS = 45


def read(folder, prefix):
    rows = [r for r in csv.DictReader(open(os.path.join(folder, "traces.csv"))) if r["trace_id"].startswith(prefix)]
    up = {r["trace_id"]: [] for r in rows}
    for s in csv.DictReader(open(os.path.join(folder, "segments.csv"))):
        if s["trace_id"] in up:
            up[s["trace_id"]] += [int(s["available_nodes"])] * int(s["n_ticks"])
    return [(r["trace_id"], r["zone"], r["region"], int(r["gap_seconds"]), int(r["nodes"]), up[r["trace_id"]]) for r in rows]


def interleave(up, block):
    parts = [up[i:i + block] for i in range(0, len(up), block)]
    even, odd = sum(parts[0::2], []), sum(parts[1::2], [])
    n = min(len(even), len(odd))
    return even[:n] + odd[:n]


def renewal(rng, up_life, down_life):
    """One zone: times up and down in turn, in hours, from the two drawers."""
    out, is_up = [], rng.random() < 0.6
    while len(out) < DAYS * 86400 // TICK:
        hours = (up_life if is_up else down_life)(len(out) * TICK / 3600)
        out += [int(is_up)] * max(1, round(hours * 3600 / TICK))
        is_up = not is_up
    return out[:DAYS * 86400 // TICK]


def made_up(kind, rng, z):
    if kind == "exponential":
        return renewal(rng, lambda t: rng.expovariate(1 / (2 + 2 * z)), lambda t: rng.expovariate(1 / (1 + z % 3)))
    if kind == "weibull":
        return renewal(rng, lambda t: rng.weibullvariate(2 + z, 0.6), lambda t: rng.weibullvariate(1 + z % 3, 0.6))
    if kind == "diurnal":
        return renewal(rng, lambda t: rng.expovariate((0.8 if 8 <= t % 24 < 20 else 0.08) / (1 + z % 3)),
                       lambda t: rng.expovariate(0.25 if 8 <= t % 24 < 20 else 1.5))
    if kind == "flapping":
        return renewal(rng, lambda t: rng.choice([0.08, 0.17, 0.3 + 0.3 * z]), lambda t: rng.choice([0.08, 0.17, 1]))
    if kind == "regime":  # turns in the middle of each half
        good = lambda t: (int(t / (DAYS * 6)) + z) % 2
        return renewal(rng, lambda t: rng.expovariate(1 / (10 if good(t) else 0.4)),
                       lambda t: rng.expovariate(1 / (0.5 if good(t) else 3)))
    if kind == "moods":  # of two days
        bad = lambda t: (int(t / 48) * 7 + z * 3) % 5 < 2
        return renewal(rng, lambda t: rng.expovariate(1 / (0.3 if bad(t) else 8)),
                       lambda t: rng.expovariate(1 / (2 if bad(t) else 0.7)))
    if kind == "pareto":
        return renewal(rng, lambda t: min(500, (0.1 + 0.1 * z) * rng.paretovariate(0.9)),
                       lambda t: min(500, (0.1 + 0.1 * (z % 3)) * rng.paretovariate(0.9)))
    if kind == "uneven":  # lives from minutes to hours
        return renewal(rng, lambda t: rng.expovariate(1 / [0.3, 1, 3, 0.15, 8, 0.5][z]), lambda t: rng.expovariate(1 / (0.5 + z % 3)))
    if kind == "shared":
        rare = random.Random("shared")
        together = renewal(rare, lambda t: rare.weibullvariate(6, 0.7), lambda t: rare.weibullvariate(1.5, 0.7))
        return [a & b for a, b in zip(made_up("flapping", rng, z), together)]
    if kind == "thin":  # a handful of ends in a fortnight
        return renewal(rng, lambda t: rng.expovariate(1 / 30), lambda t: rng.expovariate(1 / 20))
    return renewal(rng, lambda t: rng.expovariate(1 / (0.5 + (12 if (t < DAYS * 12) == (z % 2 == 0) else 0))),
                   lambda t: rng.expovariate(1 / 2))


def main():
    kind, out = sys.argv[1], sys.argv[2]
    if kind in ("weeks", "days", "reversed", "swapped", "inverted", "faster"):
        recorded = read(sys.argv[3], sys.argv[4])
        traces = []
        for k, (i, zone, region, gap, nodes, up) in enumerate(recorded):
            n = len(up)
            if kind == "reversed":
                up = up[::-1]
            elif kind == "swapped":
                up = (up[:n // 2] + recorded[(k + 1) % len(recorded)][5][n // 2:])[:n]
            elif kind == "inverted":
                up = [nodes if x < nodes else 0 for x in up]
            elif kind == "faster":
                up = up[:n // 2] + (up * 2)[n // 2 * 3 % n:][:3 * (n - n // 2):3]
            else:
                up = interleave(up, (7 if kind == "weeks" else 1) * 86400 // gap)
            traces.append((i, zone, region, gap, nodes, up))
    else:
        traces = []
        for z in range(6):
            rng = random.Random("%s %d" % (kind, z))
            traces.append(("x-%s-%d" % (kind, z), "zone-%d" % z, "region-%d" % (z // 3), TICK, 1, made_up(kind, rng, z)))
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "traces.csv"), "w") as f:
        f.write("trace_id,gap_seconds,nodes,zone,region\n")
        for i, zone, region, gap, nodes, up in traces:
            f.write("%s,%d,%d,%s,%s\n" % (i, gap, nodes, zone, region))
    with open(os.path.join(out, "segments.csv"), "w") as f:
        f.write("trace_id,start_tick,n_ticks,available_nodes\n")
        for i, zone, region, gap, nodes, up in traces:
            start = 0
            for t in range(1, len(up) + 1):
                if t == len(up) or up[t] != up[start]:
                    f.write("%s,%d,%d,%d\n" % (i, start, t - start, up[start]))
                    start = t


main()
