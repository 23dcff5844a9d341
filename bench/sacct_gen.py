#!/usr/bin/env python3
"""Writes a made-up `sacct -P` export: sacct_gen.py ROWS [SEED] > FILE.  A third of the rows are jobs, the others are
their steps, as Slurm has them. Only the standard library is used."""
import random
import sys
from datetime import datetime, timedelta

rows = int(sys.argv[1])
rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
epoch = datetime(2025, 1, 1)
users = ['u%03d' % i for i in range(120)]
accounts = ['team%02d' % i for i in range(12)]
types = [('a100', 8), ('h100', 8), ('l40s', 4)]
out = sys.stdout
out.write('JobID|User|Account|Partition|QOS|State|Submit|Start|End|Elapsed|TimelimitRaw|ReqTRES|AllocTRES\n')


def when(s):
    return (epoch + timedelta(seconds=s)).isoformat()


def span(s):
    d, s = divmod(s, 86400)
    t = '%02d:%02d:%02d' % (s // 3600, s // 60 % 60, s % 60)
    return '%d-%s' % (d, t) if d else t


jobs = rows // 3
year = 365 * 86400
t = 0
for i in range(jobs):
    t = i * year // jobs
    submit = t + rng.randrange(60)
    start = submit + (0 if rng.random() < 0.4 else int(rng.expovariate(1 / 1800)))
    run = 30 + int(rng.expovariate(1 / 5400))
    gpu, most = types[rng.randrange(3)]
    n = rng.choice((0, 1, 1, 1, 2, 4, most))
    user = rng.randrange(120)
    tres = 'billing=8,cpu=%d,%smem=64G,node=1' % (8 * max(n, 1), 'gres/gpu:%s=%d,gres/gpu=%d,' % (gpu, n, n) if n else '')
    state = 'COMPLETED' if rng.random() < 0.8 else rng.choice(('FAILED', 'TIMEOUT', 'CANCELLED by 1007'))
    head = '%d|%s|%s|gpu|normal|%s|%s|%s|%s|%s|1440|%s|%s\n' % (
        1000000 + i, users[user], accounts[user % 12], state, when(submit), when(start), when(start + run), span(run),
        tres, tres)
    out.write(head)
    step = '%d.%%s||%s|||COMPLETED|%s|%s|%s|%s|||%s\n' % (
        1000000 + i, accounts[user % 12], when(start), when(start), when(start + run), span(run), tres)
    out.write(step % 'batch')
    out.write(step % 'extern')
