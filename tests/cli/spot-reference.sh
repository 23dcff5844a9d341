#!/bin/sh
# berth simulate spot against other code for the same rules, on recorded traces.
. "$TOP_SRCDIR/tests/cli/lib.sh"

shared=${BERTH_SHARED:-$TOP_SRCDIR/../shared}
reference=$shared/prototypes/planning
traces=$shared/data/spot
python=
for p in "${BERTH_PYTHON:-python3}" /usr/bin/python3; do
	"$p" -c 'import numpy' 2>/dev/null && python=$p && break
done
if [ ! -r "$reference/spotlib.py" ] || [ ! -r "$traces/segments.csv" ]; then
	skip "costs of the rules by other code" "no BERTH_SHARED with traces and reference code"
	done_testing
	exit 0
fi
if [ -z "$python" ] || ! command -v cc >/dev/null 2>&1; then
	skip "costs of the rules by other code" "no Python with numpy, or no cc"
	done_testing
	exit 0
fi
SPOT_DATA=$traces
export SPOT_DATA

compare() {	# compare SET zone|region ROWS: the rows are there, and each is the reference's within 0.001
	cp "$out" got.json
	"$python" "$TOP_SRCDIR/tests/cli/spot_reference.py" "$reference" got.json "$1" "$2" 3 48 >told 2>&1
	read -r rows worst <told
	[ "$rows" = "$3" ] && awk -v w="$worst" 'BEGIN { exit !(w != "" && w + 0 < 0.001) }'
	ok $? "$1 by $2: $3 rows agree within 0.001 (told: $(head -3 told))"
}

for zone in us-east-1a us-west-2b; do
	run simulate spot --traces "$traces" --set "av-20230215-n1-$zone" --work 48h --slack 1.0833,2 \
	    --changeover 195s,780s,2145s --policies on_demand,greedy,uniform_progress,omniscient --train other-half \
	    --starts 3 -o json
	expect_exit 0
	expect_is_json berth.simulation/1
	compare "av-20230215-n1-$zone" zone 48
done
# Zones that a job may change between: the best of the other half goes first.
run simulate spot --traces "$traces" --set av-20230215-n1-us-east-2 --pool region --slack 1.25 --changeover 780s \
    --policies greedy,uniform_progress,omniscient --starts 3 -o json
compare av-20230215-n1-us-east-2 region 6
# No room for the changeover: nothing to replay, and that is said.
run simulate spot --traces "$traces" --set av-20230215-n1-us-east-1a --slack 1 --changeover 195s --starts 3
expect_exit 3
done_testing
