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
			    (z == "gaps" && t % 40 < 30) || (z ~ /twin/ && t * t % 97 < 60)
			# Nobody looked for a tick, or the same tick is told twice, as after a clock that was set back.
			hole = z == "gaps" && t % 13 == 5
			print "x-odd-" z "," t ",1," (hole ? "" : up + 0) >"odd/segments.csv"
			if (z == "gaps" && t % 17 == 9)
				print "x-odd-" z "," t - 3 ",2,1" >"odd/segments.csv"
		}
	}
}'
for pool in zone region all; do
	for changeover in 300 1800; do
		run simulate spot --traces odd --work 8h --slack 1.25,2 --changeover ${changeover}s --starts 5 --policies on_demand,berth \
			--train other-half --pool $pool -o json
		expect_exit 0 "$pool"
		expect_json '$.policies[1].name' berth
		expect_json '$.policies[1].misses' 0
		expect_json '$.policies[1].runs' "$(case $pool in zone) echo 160;; region) echo 140;; all) echo 20;; esac)"
		# On demand has one launch itself: over it, the dearest run costs at most one more.
		awk -v max="$(json '$.policies[1].max')" -v c=$changeover 'BEGIN { exit !(max > 0 && max <= 1 + c / (28800 + c) + 1e-6) }'
		ok $? "$pool, $changeover s: each run costs at most on demand and one launch: $(json '$.policies[1].max')"
	done
done
run simulate spot --traces odd --set x-odd-never --work 8h --slack 1.25 --changeover 1800s --starts 3 --policies berth -o json
expect_json '$.policies[0].mean' 1.000000
run simulate spot --traces odd --set x-odd-always --work 8h --slack 1.25 --changeover 1800s --starts 3 --policies berth -o json
expect_json '$.policies[0].mean' 0.300000
# Learned from the past alone, of which the first start has none: no more is tried than where the other half is known.
for zone in flap slow-flap gaps never; do
	run simulate spot --traces odd --set x-odd-$zone --work 8h --slack 1.25 --changeover 600s --starts 5 --policies uniform_progress,berth \
		--train past -o json
	expect_exit 0 "$zone"
	expect_json '$.policies[1].misses' 0
	awk -v max="$(json '$.policies[1].max')" 'BEGIN { exit !(max > 0 && max <= 1 + 600 * 0.3 / (28800 + 600) + 1e-6) }'
	ok $? "$zone, from the past: at most on demand and one launch on spot: $(json '$.policies[1].max'), Uniform Progress $(json '$.policies[0].max')"
done
# Four ends to learn from at most: the chances of public traces fill in, and on long lives save what Uniform Progress does not.
mkdir long
printf 'trace_id,gap_seconds,nodes,zone,region\nx-odd-long,300,1,long,long\n' >long/traces.csv
awk 'BEGIN {
	print "trace_id,start_tick,n_ticks,available_nodes"
	for (t = 0; t < 3000; t += 600) {
		print "x-odd-long," t ",360,1"
		print "x-odd-long," t + 360 ",240,0"
	}
}' >long/segments.csv
for train in past other-half; do
	run simulate spot --traces long --work 8h --slack 1.25,2 --changeover 600s --starts 12 --policies uniform_progress,berth \
		--train $train -o json
	expect_json '$.policies[1].misses' 0
	awk -v up="$(json '$.policies[0].mean')" -v b="$(json '$.policies[1].mean')" 'BEGIN { exit !(b > 0 && b <= 0.94 * up) }'
	ok $? "long lives, hardly any seen, $train: $(json '$.policies[1].mean'), Uniform Progress $(json '$.policies[0].mean')"
done
done_testing
