#!/bin/sh
# berth commitments coverage: what was owned against what was used, hour by hour; sums against an own count of the same rows.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

# Two weeks of two cards: one with more use by day than what is owned, one with holes.
awk 'BEGIN {
	srand(5)
	print "time,gpus,accelerator"
	for (h = 0; h < 336; h++) {
		t = sprintf("2026-11-%02dT%02d:00:00Z", 16 + int(h / 24), h % 24)
		print t "," (6 + 8 * (h % 24 > 8) + int(rand() * 5)) ",H100-SXM5-80GB"
		if (h % 50 > 6)
			print t "," int(rand() * 7) ",A100-SXM4-80GB"
	}
}' >use.csv
cat >own.csv <<'EOF'
provider,region,instance_type,accelerator,accelerator_count,count,from,to,upfront,price_per_hour
aurora,r,h8,H100-SXM5-80GB,8,2,2026-11-01,2027-11-01,8760,32
aurora,r,a1,A100-SXM4-80GB,1,4,2026-11-20T06:30:00Z,2026-11-28,0,2
aurora,r,l4,L4,1,3,2026-06-01,2027-06-01,,
EOF
cat >offers.csv <<'EOF'
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour
aurora,r,h8,H100-SXM5-80GB,8,on_demand,72
borealis,r,h8,H100-SXM5-80GB,8,on_demand,64
borealis,r,h8,H100-SXM5-80GB,8,spot,16
EOF
run commitments coverage
expect_exit 1 "no store yet"
run record csv use.csv
run commitments coverage
expect_exit 1 "nothing is owned"
expect_err_has 'berth commitments import'
run commitments import own.csv
run prices import offers.csv
expect_exit 0

# Hours of 16 H100; of 4 A100 from 06:30 on the 20th until the 28th, of which hours without a row are unknown.
awk -F, 'function hour(t,   d) { d = substr(t, 9, 2) + 0; return (d - 16) * 24 + substr(t, 12, 2) }
	NR > 1 && $3 ~ /^H/ { need += $2; used += $2 < 16 ? $2 : 16 }
	NR > 1 && $3 ~ /^A/ { a[hour($1)] = $2; seen[hour($1)] = 1; aneed += $2 }
	END {
		from = 4 * 24 + 6; to = 12 * 24
		for (h = from; h < to; h++) {
			have = h == from ? 2 : 4
			aowned += have
			if (!(h in seen)) { unknown += have; continue }
			u = a[h] < have ? a[h] : have
			aused += u
		}
		printf "need=%d used=%d idle=%d aneed=%d aowned=%d aused=%d aidle=%d aunknown=%d\n",
		    need, used, 336 * 16 - used, aneed, aowned, aused, aowned - aused - unknown, unknown
	}' use.csv >want
eval "$(cat want)"
run commitments coverage --from 2026-11-16T00:00:00Z -o json
expect_exit 0
expect_is_json berth.coverage/1
expect_json '$.commitments[0].gpus' 3
expect_json '$.commitments[0].owned_gpu_hours' 1008.000 "the L4, the first by time"
expect_json '$.commitments[0].unknown_gpu_hours' 1008.000 "nobody recorded what used them"
expect_json '$.commitments[0].utilisation' null
expect_json_near '$.commitments[1].used_gpu_hours' "$used" 1e-6
expect_json_near '$.commitments[1].idle_gpu_hours' "$idle" 1e-6
expect_json '$.commitments[1].price_per_gpu_hour' 4.125000 "32 an hour and 1 of the 8760 paid upfront, of 8 GPUs"
expect_json_near '$.commitments[1].idle_cost' "$(awk "BEGIN { print $idle * 4.125 }")" 1e-3
expect_json_near '$.commitments[2].owned_gpu_hours' "$aowned" 1e-6
expect_json_near '$.commitments[2].used_gpu_hours' "$aused" 1e-6
expect_json_near '$.commitments[2].idle_gpu_hours' "$aidle" 1e-6
expect_json_near '$.commitments[2].unknown_gpu_hours' "$aunknown" 1e-6
expect_json_near '$.series[0].needed_gpu_hours' "$aneed" 1e-6
expect_json_near '$.series[0].covered_gpu_hours' "$aused" 1e-6
expect_json '$.series[0].uncovered_cost' null "nobody sells an A100"
expect_json_near '$.series[1].uncovered_gpu_hours' "$((need - used))" 1e-6
expect_json_near '$.series[1].uncovered_cost' "$(((need - used) * 8))" 1e-3
expect_json_near '$.total.uncovered_unpriced_gpu_hours' "$((aneed - aused))" 1e-6
expect_json_near '$.total.covered_gpu_hours' "$((used + aused))" 1e-6
expect_json '$.steps' ''

# The rows of time add up to the same, whatever they are.
for by in hour day week month; do
	run commitments coverage --from 2026-11-16T00:00:00Z --by $by -o csv --columns owned_gpu_hours,covered_gpu_hours,uncovered_gpu_hours,idle_gpu_hours,unknown_gpu_hours
	awk -F, -v want="$((336 * 16 + 1008 + aowned)) $((used + aused)) $((need - used + aneed - aused)) $((idle + aidle)) $((1008 + aunknown))" '
		NR > 1 { for (i = 1; i <= 5; i++) s[i] += $i }
		END { exit s[1] " " s[2] " " s[3] " " s[4] " " s[5] != want }' "$out"
	ok $? "the rows by $by add up"
done
expect_lines 2 "one month"
run commitments coverage --from 2026-11-16T00:00:00Z --by week
expect_lines 7
expect_out_has '^2026-11-16 00:00 '

# What a label names is not what another cloud's commitment covers, nor what a bill calls on demand or spot.
cat >labels.csv <<'EOF'
time,gpus,accelerator,provider,purchase
2026-11-29T00:00:00Z,3,H200,aurora,reserved
2026-11-29T00:00:00Z,5,H200,borealis,reserved
2026-11-29T00:00:00Z,7,H200,aurora,on_demand
2026-11-29T01:00:00Z,0,H200,aurora,reserved
2026-11-29T01:00:00Z,0,H200,borealis,reserved
2026-11-29T01:00:00Z,0,H200,aurora,on_demand
EOF
printf 'provider,accelerator,count,from,to,price_per_hour\naurora,H200,8,2026-11-01,2026-12-01,3\n' >h200.csv
run record csv labels.csv
run commitments import h200.csv
run commitments coverage '*H200*' --from 2026-11-29T00:00:00Z --to 2026-11-29T01:00:00Z -o json
expect_json '$.total.needed_gpu_hours' 15.000
expect_json '$.total.covered_gpu_hours' 3.000
expect_json '$.total.idle_cost' 15.000000
# Steps that do not divide the hour count by what of them lies in it.
awk 'BEGIN { print "time,gpus,accelerator"
	for (i = 0; i < 108; i++) { m = i * 40; printf "2026-11-%02dT%02d:%02d:00Z,%d,A10G\n", 20 + int(m / 1440), int(m / 60) % 24, m % 60, i % 3 == 2 ? 9 : 0 } }' >odd.csv
printf 'provider,accelerator,count,from,to,price_per_hour\naurora,A10G,4,2026-11-01,2026-12-01,1\n' >a10g.csv
run record csv odd.csv --step 40m
run commitments import a10g.csv
run commitments coverage '*A10G*' --from 2026-11-20T00:00:00Z --to 2026-11-23T00:00:00Z -o json
expect_json '$.total.needed_gpu_hours' 216.000 "36 steps of 40 minutes with 9"
# Of two hours, 0 0 9 by 40 minutes: the first has none, the second a mean of 6, of which 4 are owned.
expect_json '$.total.covered_gpu_hours' 144.000
# Clear refusals.
run commitments coverage nosuch
expect_exit 1
expect_err_has "there is no series 'nosuch'; .berth series. lists them"
run commitments coverage --from 2026-11-29T00:00:00Z --to 2026-11-28T00:00:00Z
expect_exit 2
run commitments coverage --by year
expect_exit 2
done_testing
