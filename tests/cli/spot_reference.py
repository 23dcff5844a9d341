# Costs of simple rules over recorded spot availability, by code that is not the program's: greedy, Uniform Progress and
# the optimum with the future known. Reads the program's "by" rows and prints the largest difference of a policy's mean.
#
#	spot_reference.py REFERENCE OUTPUT.json SET zone|region STARTS WORK_HOURS
import json
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import numpy as np  # noqa: E402
import spotlib  # noqa: E402

out, chosen, pool, starts, hours = json.load(open(sys.argv[2])), sys.argv[3], sys.argv[4], int(sys.argv[5]), float(sys.argv[6])
meta, series = spotlib.load()
up = {k: (series[k] == int(meta[k]["nodes"])).astype(np.uint8) for k in meta if k.startswith(chosen)}
worst, rows = 0.0, 0
for row in out["by"]:
    members = [k for k in up if meta[k][pool] == row["zone"]]
    gap = int(meta[members[0]]["gap_seconds"])
    x = np.stack([up[k] for k in members])
    ticks = x.shape[1]
    first, second = (0, ticks // 2), (ticks // 2, ticks)
    here, there = (first, second) if row["half"] == 1 else (second, first)
    x = x[np.argsort(-x[:, there[0] : there[1]].mean(1), kind="stable")]
    work = round(hours * 3600 / gap)
    deadline, changeover = round(work * row["slack"]), round(row["changeover"] / gap)
    env = spotlib.Env(x)
    cost = []
    for t in np.linspace(here[0], here[1] - deadline - 1, starts).astype(int):
        if row["policy"] == "omniscient":
            cost.append(env.omni(t, deadline, work, changeover))
        else:
            kind = {"on_demand": 0, "greedy": 1, "uniform_progress": 3}[row["policy"]]
            cost.append(env.run(kind, t, deadline, work, changeover)[0])
    worst = max(worst, abs(np.mean(cost) / (work + changeover) - row["mean"]))
    rows += 1
print(rows, "%.7f" % worst)
