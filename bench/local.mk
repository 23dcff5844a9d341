# filled by its folder
# Benchmarks of the planner: make bench/commit-speed bench/place-speed bench/spot-speed, then run them.
EXTRA_PROGRAMS += bench/commit-speed bench/place-speed bench/spot-speed
bench_spot_speed_SOURCES = bench/spot-speed.c
bench_spot_speed_LDADD = $(PLAN_LIBS)
bench_commit_speed_SOURCES = bench/commit-speed.c
bench_commit_speed_LDADD = $(PLAN_LIBS)
bench_place_speed_SOURCES = bench/place-speed.c bench/place_world.c bench/place_world.h
bench_place_speed_LDADD = $(PLAN_LIBS)
CLEANFILES += bench/commit-speed$(EXEEXT) bench/place-speed$(EXEEXT) bench/spot-speed$(EXEEXT)
EXTRA_DIST += bench/probe-gpu
# Benchmarks of the forecasts: they run the program on the shared data and print a table against the peers.
EXTRA_DIST += bench/forecast-lib.sh bench/forecast-m4 bench/forecast-m4.awk bench/forecast-gpu bench/forecast-gpu.awk bench/forecast-shifted.awk bench/forecast-mean.awk
EXTRA_DIST += bench/forecast-speed bench/forecast-tree
# Benchmarks of the formats: bench/record-sacct against pandas, bench/record-csv against sqlite3 .import.
# bench/rollup: what rolling up saves.
EXTRA_DIST += bench/rollup
EXTRA_DIST += bench/record-sacct bench/record-csv bench/sacct_gen.py bench/sacct_pandas.py
# bench/spot: the spot policy on recorded traces against Uniform Progress and the omniscient.
EXTRA_DIST += bench/spot
# bench/spot-other: the same on other halves and made-up worlds.
EXTRA_DIST += bench/spot-other bench/spot_other.py
# bench/refresh-many: many accounts with late clouds against one of them.
EXTRA_DIST += bench/refresh-many bench/refresh_server.py
# bench/commit-halves: reserving by the forecast of the first half against the best for the second.
# --all: at other prices and splits, beside buying on the past.
EXTRA_DIST += bench/commit-halves
# bench/commit-starts: purchases of several series at start dates under one quota, against GLPK and CBC.
EXTRA_DIST += bench/commit-starts
# bench/prices-speed: 200,000 offers into the store, and listed against pandas.
EXTRA_DIST += bench/prices-speed bench/prices_pandas.py bench/offers_gen.py
# bench/aws-prices: EC2's price list from a local server, against Python's json.
EXTRA_DIST += bench/aws-prices bench/aws_gen.py bench/aws_server.py
# bench/place-skypilot: placement beside the optimizer of SkyPilot on the same offers.
EXTRA_DIST += bench/place-skypilot bench/place_skypilot.py
