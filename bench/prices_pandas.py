"""prices_pandas.py FILE GPU COUNT: the offers of one accelerator, cheapest first, as a catalogue in pandas answers: read the CSV, filter, sort."""
import sys

import pandas as pd

df = pd.read_csv(sys.argv[1])
df = df[(df["accelerator"] == sys.argv[2]) & (df["accelerator_count"] == int(sys.argv[3]))]
df = df.assign(gpu=df["price_per_hour"] / df["accelerator_count"]).sort_values("gpu")
print(df.head(40).to_string())
print(len(df))
