#!/bin/sh
# berth simulate spot on odd traces: whatever spot does, no deadline is missed and no run costs more than on demand and one launch.
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir odd
awk 'BEGIN {
	print "trace_id,gap_seconds,nodes,zone,region" >"odd/traces.csv"
	print "trace_id,start_tick,n_ticks,available_nodes" >"odd/segments.csv"
	n = split("never always flap slow-flap once gaps twin-a twin-b", name, " ")
	for (k = 1; k <= n; k++) {
		z = name[k]
		print "x-odd-" z ",300,1," z "," (z ~ /twin/ ? "twin" : z) >"odd/traces.csv"
		for (t = 0; t < 3000; t++) {
			up = z == "always" || (z == "flap" && t % 2) || (z == "slow-flap" && t % 4 < 2) || (z == "once" && t < 1750) ||
			    (z == "gaps" && t % 40 < 30) || (z ~ /twin/ && int(t / 12) ^ 2 % 97 < 60)
			# Nobody looked for a tick, or the same tick is told twice, as after a clock that was set back.
			hole = z == "gaps" && t % 13 == 5
			print "x-odd-" z "," t ",1," (hole ? "" : up + 0) >"odd/segments.csv"
			if (z == "gaps" && t % 17 == 9)
				print "x-odd-" z "," t - 3 ",2,1" >"odd/segments.csv"
		}
	}
}'
for pool in zone region all; do
	run simulate spot --traces odd --work 8h --slack 1.25,2 --changeover 300s,1800s --starts 5 --policies on_demand,berth \
		--train other-half --pool $pool -o json
	expect_exit 0 "$pool"
	expect_json '$.policies[1].name' berth
	expect_json '$.policies[1].misses' 0
	expect_json '$.policies[1].runs' "$(case $pool in zone) echo 320;; region) echo 280;; all) echo 40;; esac)"
	# A launch is 300 or 1800 s beside 8 h of work: over on demand, which has one itself, at most one more.
	tr -d ' ",' <"$out" | awk -F: '
		$1 == "by" { by = 1 }
		by && $1 == "changeover" { c = $2 }
		by && $1 == "policy" { p = $2 }
		by && $1 == "mean" && p == "berth" { n++; bad += !($2 <= 1 + c / (28800 + c) + 1e-9) }
		END { exit !(n > 0 && bad == 0) }'
	ok $? "$pool: at most on demand and one launch"
done
run simulate spot --traces odd --set x-odd-never --work 8h --slack 1.25 --changeover 1800s --starts 3 --policies berth -o json
expect_json '$.policies[0].mean' 1.000000
run simulate spot --traces odd --set x-odd-always --work 8h --slack 1.25 --changeover 1800s --starts 3 --policies berth -o json
expect_json '$.policies[0].mean' 0.300000
done_testing
