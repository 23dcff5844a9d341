#!/usr/bin/env python3
"""The same job as `berth record sacct`, written with pandas as one would: hourly mean and peak of the GPUs that are
held and that are waited for, per accelerator and in total.  sacct_pandas.py FILE OUT.csv"""
import sys

import numpy as np
import pandas as pd

df = pd.read_csv(sys.argv[1], sep='|', dtype=str, keep_default_na=False)
df = df[~df['JobID'].str.contains('.', regex=False)]
df = df.drop_duplicates(['JobID', 'Submit'], keep='last')
for c in ('Submit', 'Start', 'End'):
    df[c] = pd.to_datetime(df[c], format='%Y-%m-%dT%H:%M:%S', errors='coerce')
got = df['AllocTRES'].str.extract(r'gres/gpu:(?P<type>[^=,]+)=(?P<n>\d+)')
df['accelerator'] = got['type'].fillna('unknown')
df['gpus'] = pd.to_numeric(got['n']).fillna(0)
df = df[(df['gpus'] > 0) & df['Start'].notna()]


def steps(jobs, a, b):
    """Hourly mean and peak of the step function of [a, b)."""
    jobs = jobs[jobs[b] > jobs[a]]
    t = np.concatenate([jobs[a].to_numpy('datetime64[s]').astype(np.int64), jobs[b].to_numpy('datetime64[s]').astype(np.int64)])
    d = np.concatenate([jobs['gpus'].to_numpy(), -jobs['gpus'].to_numpy()])
    if len(t) == 0:
        return None
    hours = np.arange(t.min() // 3600, t.max() // 3600 + 1) * 3600
    t = np.concatenate([t, hours])
    d = np.concatenate([d, np.zeros(len(hours))])
    change = pd.Series(d).groupby(t).sum()
    at = change.index.to_numpy()
    level = change.cumsum().to_numpy()
    lasts = np.diff(at, append=at[-1] + 3600 - at[-1] % 3600)
    g = pd.DataFrame({'hour': at // 3600, 'area': level * lasts, 'level': level}).groupby('hour')
    return pd.DataFrame({'mean': g['area'].sum() / 3600, 'peak': g['level'].max()})


out = []
for name, jobs in [('total', df)] + list(df.groupby('accelerator')):
    for kind, a, b in (('held', 'Start', 'End'), ('queued', 'Submit', 'Start')):
        s = steps(jobs, a, b)
        if s is not None:
            s.insert(0, 'series', name + ' ' + kind)
            out.append(s)
pd.concat(out).to_csv(sys.argv[2])
