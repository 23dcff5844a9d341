#!/bin/sh
# berth simulate spot on made-up traces whose costs can be told by hand.
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir t
cat >t/traces.csv <<CSV
trace_id,region,zone,gap_seconds,nodes
up-1-a,west,west-a,300,1
down-1-a,east,east-a,300,1
half-1-a,south,south-a,300,2
CSV
{
	echo trace_id,start_tick,n_ticks,available_nodes
	echo up-1-a,0,2000,1
	echo down-1-a,0,2000,0
	# one of two nodes is not enough; ten up, ten down
	t=0
	while [ "$t" -lt 2000 ]; do
		echo "half-1-a,$t,10,2"
		echo "half-1-a,$((t + 10)),10,1"
		t=$((t + 20))
	done
} >t/segments.csv
cp -r t tb

# Always up: work 48 ticks and changeover 1 at 0.3, over 49 on demand.
run simulate spot --traces t --set up --work 4h --slack 1.5 --changeover 300s --price 0.25 -o json
expect_exit 0
expect_is_json berth.simulation/1
for p in 0 1 2 3; do
	expect_json_near "\$.policies[$p].mean" 0.25 1e-6
	expect_json "\$.policies[$p].misses" 0
done
expect_json '$.policies[0].name' greedy
expect_json '$.policies[1].name' uniform_progress
expect_json '$.policies[2].name' berth
expect_json '$.policies[3].name' omniscient
expect_json '$.policies[0].runs' 48
expect_json '$.by[0].zone' west-a
expect_json '$.by[0].half' 1

# Nobody loses a machine; 5 minutes of changeover are waited. The plot draws 0.25 of the way to the mark.
expect_json_near '$.policies[2].waited_hours' 0.083333 0.001
expect_json '$.policies[2].preemptions' 0.000
COLUMNS=80 run simulate spot --traces t --set up --work 4h --slack 1.5 --changeover 300s --price 0.25 --policies on_demand,berth
expect_out 'POLICY     RUNS    MEAN     P95     MAX  WAITED H  PREEMPTIONS  MISSES'
expect_out 'on_demand        ######################################################| 1.0000'
[ "$(awk '$1 == "berth" && /#/ { n = gsub(/#/, "") } END { print n }' "$out")" -eq 14 ]
ok $? "a quarter of 54 signs is drawn"
[ "$(awk 'length > 80' "$out" | wc -l)" -eq 0 ]
ok $? "no line is wider than the terminal"

# Never up: on demand from start to end, never late.
run simulate spot --traces t --set down --work 4h --slack 1.5 --changeover 300s -o json
for p in 0 1 2 3; do
	expect_json_near "\$.policies[$p].mean" 1 1e-6
	expect_json "\$.policies[$p].misses" 0
done

# Ten ticks up, ten down, changeover 1, 18 ticks of work, deadline 36: the whole future known, spot brings 9 a run.
# From any start some of it can be had, and nobody is below the omniscient or late.
run simulate spot --traces t --set half --work 90m --slack 2.5 --changeover 300s -o json
best=$(json '$.policies[3].mean')
for p in 0 1 2; do
	awk -v a="$(json "\$.policies[$p].mean")" -v b="$best" 'BEGIN { exit !(a >= b - 1e-9 && a <= 1.1) }'
	ok $? "policy $p is not below the omniscient ($best)"
	expect_json "\$.policies[$p].misses" 0
done
# 18 ticks in 45: two whole runs of spot fit into every window of 45, so 2 launches and 18 ticks at 0.3 over 19.
expect_json_near '$.policies[3].mean' 0.315789 0.02

run simulate spot --traces t --set half --work 90m --train past --policies berth,greedy -o json
expect_exit 0
expect_json '$.policies[1].name' berth
expect_json '$.policies[1].misses' 0
expect_err_has 'left out: work and one changeover do not fit'
run simulate spot --traces t --pool all --work 4h --slack 1.5 --changeover 300s --policies berth -o json
expect_json_near '$.policies[0].mean' 0.3 1e-6

# Prices that move: half of on demand in one region; in the other a quarter, but at a price that moving there does not pay.
mkdir m
cat >m/traces.csv <<CSV
trace_id,region,zone,gap_seconds,nodes
go-1-a,r1,a,300,1
go-1-b,r2,b,300,1
CSV
printf 'trace_id,start_tick,n_ticks,available_nodes\ngo-1-a,0,400,1\ngo-1-b,0,400,1\n' >m/segments.csv
run simulate spot --traces m --pool all --work 3h --slack 1.5 --changeover 300s --policies berth,omniscient --on-demand-price 4
expect_exit 1 "no prices"
printf 'trace_id,start_tick,n_ticks,usd_per_instance_hour\ngo-1-a,0,400,2\ngo-1-b,0,400,1\n' >m/prices.csv
run simulate spot --traces m --pool all --work 3h --slack 1.5 --changeover 300s --policies berth,omniscient --on-demand-price 4 -o json
expect_json_near '$.policies[0].mean' 0.25 1e-6
run simulate spot --traces m --pool all --work 3h --slack 1.5 --changeover 300s --policies berth,omniscient --on-demand-price 4 --move 0.5 -o json
expect_json_near '$.policies[0].mean' "$(awk 'BEGIN { print 0.25 + 0.5 / (3 + 1 / 12) }')" 1e-6 "half an hour is worth it"
run simulate spot --traces m --pool all --work 3h --slack 1.5 --changeover 300s --policies berth,omniscient --on-demand-price 4 --move 2 -o json
expect_json_near '$.policies[0].mean' 0.5 1e-6 "two hours are not"
expect_json_near '$.policies[1].mean' 0.5 1e-6

run simulate spot --traces t --set half --work 90m --slack 1.5,2.5 --changeover 300s --policies greedy,berth --svg p.svg
expect_exit 0
grep -q greedy p.svg && grep -q berth p.svg && grep -q '</svg>' p.svg && ! grep -q omniscient p.svg
ok $? "the mean by slack as a chart, of the policies that were asked for"
rm p.svg
run simulate spot --traces t --set half --work 90m --slack 2.5 --changeover 300s --policies berth --svg p.svg --dry-run
[ ! -e p.svg ]
ok $? "a dry run writes none"
run simulate spot --traces t --set nowhere
expect_exit 1
expect_err_has "no trace 'nowhere'; there are"

# Bad traces: the file, the line and the column are named.
bad() {	# bad FILE TEXT MESSAGE WHERE
	rm -rf b && cp -r m b && printf "$2" >b/"$1"
	run simulate spot --traces b --pool all --work 3h --slack 1.5 --changeover 300s --policies berth --on-demand-price 4
	expect_exit 1 "$3"
	expect_err_has "$3"
	expect_err_has "$4"
}
segments='trace_id,start_tick,n_ticks,available_nodes\n'
bad traces.csv '' 'empty: a header line' 'b/traces.csv'
bad traces.csv 'trace_id,region,zone,gap_seconds,nodes\n' 'no traces below its header' 'b/traces.csv'
bad traces.csv 'trace_id,region,zone,gap_seconds,nodes\ngo-1-a,r,a,NaN,1\n' "gap_seconds: 'NaN'" 'b/traces.csv:2'
bad segments.csv 'trace_id,start_tick,n_ticks\ngo-1-a,0,5\n' "no column 'available_nodes'" 'b/segments.csv'
bad segments.csv "${segments}go-1-a,200,200,1\ngo-1-a,0,200,1\n" 'in order, without gaps' 'b/segments.csv:2'
bad segments.csv "${segments}go-1-a,0,nan,1\n" "n_ticks: 'nan'" 'b/segments.csv:2'
bad prices.csv 'trace_id,start_tick,n_ticks,usd_per_instance_hour\ngo-1-a,0,400,nan\n' "usd_per_instance_hour: 'nan'" 'b/prices.csv:2'
run simulate spot
expect_exit 2
run simulate spot --traces t --policies hope
expect_exit 2
run simulate spot --traces t --slack 0.5
expect_exit 2
run simulate spot --traces t --set up --work 400d
expect_exit 3
run simulate spot --traces t --set up --work 4h --slack 1 --changeover 300s
expect_exit 3
expect_err_has 'fit into no deadline: try more --slack'
# A trace that is too short for the job is left out, and that is said.
mkdir s
{ cat t/traces.csv; echo brief-1-a,west,west-b,300,1; } >s/traces.csv
{ cat t/segments.csv; echo brief-1-a,0,50,1; } >s/segments.csv
run simulate spot --traces s --work 4h --slack 1.5 --changeover 300s --policies berth -o json
expect_exit 0
expect_json '$.policies[0].runs' 144
expect_err_has '2 of 8 halves of traces are left out: too short'
# A probe that nobody made counts as down, one that is told twice as once: as the same trace with a 0, told once.
grep '^half' t/segments.csv >half
{ echo trace_id,start_tick,n_ticks,available_nodes; sed 's/,1$/,0/' half; } >t/segments.csv
run simulate spot --traces t --set half --work 4h --slack 1.5 --changeover 300s -o json
cp "$out" known
{ echo trace_id,start_tick,n_ticks,available_nodes; sed 's/,1$/,/' half | awk '{ print } NR % 7 == 0'; } >t/segments.csv
run simulate spot --traces t --set half --work 4h --slack 1.5 --changeover 300s -o json
expect_exit 0
cmp -s "$out" known
ok $? "probes that are missing count as down, those that are there twice once"

printf 'trace_id,start_tick,n_ticks,available_nodes\nup-1-a,5,10,1\n' >t/segments.csv
run simulate spot --traces t --set up
expect_exit 1
expect_err_has 'segments.csv:2'

# Ten GPUs for three hours of four. At 0.6: none 7.5 an hour, the mean (8) 0.6 * 8 + 0.75 * 2, all ten 6.
run simulate commit
expect_exit 1 "no store"
run init
awk 'BEGIN { print "timestamp,gpus,series"; for (h = 0; h < 56 * 24; h++) print 1787572800 + 3600 * h "," (h % 4 < 3 ? 10 : 0) ",square" }' >use.csv
run record csv use.csv
run simulate commit -o json
expect_exit 0
expect_is_json berth.simulation/1
expect_json '$.policies[0].name' on_demand
expect_json_near '$.by[1].mean' 0.84 1e-6
expect_json_near '$.by[2].mean' 0.8 1e-6
expect_json_near '$.by[3].mean' 0.8 1e-6
expect_json '$.by[4].policy' berth
expect_json_near '$.by[4].mean' 0.8 0.01
expect_json_near '$.by[5].reserved_gpus' 10 1e-6
printf 'provider,region,accelerator,count,from,to\naurora,r,L4,1,2026-01-01,2027-01-01\n' >own.csv
run commitments import own.csv
run simulate commit square --reserved 0.8 -o json
expect_exit 0
expect_err_has '1 of the 1 commitments that you own is not counted'
run simulate commit square --reserved 0.8 --every 1w -o json
expect_json_near '$.by[5].reserved_gpus' 0 1e-6 "at 0.8 nothing is worth it"
expect_json_near '$.by[2].mean' 1.0666667 1e-6
run simulate commit square --reserved 0.5,0.8 --svg c.svg -o json
expect_exit 0
expect_is_json berth.simulation/1
for name in $(awk -F '"' '$2 == "name" { print $4 }' "$out"); do
	grep -q "$name" c.svg
	ok $? "the chart of purchases has a line for $name"
done
# What another series did after the split was not known at it, and changes no purchase.
awk 'BEGIN { srand(5); print "timestamp,gpus,series"; for (h = 0; h < 66 * 24; h++) {
	x = 0.995 * x + 40 * rand() - 20; print 1767225600 + 3600 * h "," (600 + x > 0 ? 600 + x : 0) ",early"
	y = 0.99 * y + 400 * rand() - 200; print 1787572800 + 3600 * h "," (600 + y > 0 ? 600 + y : 0) ",late" } }' >two.csv
run record csv two.csv
run simulate commit early --reserved 0.4,0.5,0.6 -o csv
grep berth "$out" >alone
run simulate commit early late --reserved 0.4,0.5,0.6 -o csv
[ "$(grep early.*berth "$out")" = "$(cat alone)" ]
ok $? "a series of later months changes nothing"
run simulate commit early -o csv
expect_out_has '^series,reserved,policy,reserved_gpus,mean,over_hindsight$' "columns have the keys of the JSON output"
run simulate commit nowhere
expect_exit 1
run simulate commit --reserved 2
expect_exit 2
run simulate commit --split 0.99
expect_exit 2

# A week of jobs in a made-up world: on demand costs the work and one tick of ten minutes a job; the same seed, the same week.
run simulate jobs --span 4w -o json
expect_exit 0
expect_is_json berth.simulation/1
cp "$out" first
expect_json '$.policies[0].name' on_demand
set -- $(tr -d ' ",' <first | awk -F: '$1 == "runs" && !n { n = $2 } $1 == "work_hours" && !w { w = $2 } END { printf "%.6f %d", (w + n / 6) / w, n }')
expect_json_near '$.policies[0].mean' "$1" 1e-5
expect_json '$.policies[3].name' berth
expect_json '$.policies[3].misses' 0
expect_json '$.policies[3].runs' "$2"
run simulate jobs --span 4w -o csv
expect_out_has '^policy,runs,mean,spot_percent,waited_hours,waited_hours_p95,preemptions,misses$' "columns have those keys too"
mean=$(sed -n 's/^on_demand,[0-9]*,\([^,]*\),.*/\1/p' "$out")
awk -v a="$mean" -v b="$1" 'BEGIN { exit !(a - b < 1e-5 && b - a < 1e-5) }'
ok $? "and mean is the mean ($mean)"
run simulate jobs --span 4w -o json
cmp -s "$out" first
ok $? "the same seed makes the same world"
run simulate jobs --span 4w --seed 2 --policies berth,on_demand -o json
! cmp -s "$out" first
ok $? "another seed another"
COLUMNS=80 run simulate jobs --span 4w --policies greedy,berth
expect_out_has 'Cost by week'
expect_out_lacks on_demand
[ "$(awk 'length > 80' "$out" | wc -l)" -eq 0 ]
ok $? "no line is wider than the terminal"
# Reserved for the mean: its hours by their price and what passes it on demand; all of on demand's hours are there, or more.
run simulate jobs --span 4w --policies on_demand,reserve_mean --reserved 0.5 -o json
expect_json '$.policies[1].name' reserve_mean
expect_json '$.policies[1].preemptions' 0
expect_json_near '$.policies[1].cost' "$(awk -v a="$(json '$.policies[1].reserved_hours')" -v b="$(json '$.policies[1].on_demand_hours')" \
	'BEGIN { printf "%.6f", a / 2 + b }')" 0.002
awk -v a="$(json '$.policies[1].reserved_hours')" -v b="$(json '$.policies[1].on_demand_hours')" -v od="$(json '$.policies[0].on_demand_hours')" \
	'BEGIN { exit !(a + b >= od && a > od - 2 * 672 && a < od + 2 * 672 && a / 672 == int(a / 672)) }'
ok $? "whole machines for four weeks, near the mean"
expect_json_near '$.policies[1].work_hours' "$(json '$.policies[0].work_hours')" 1e-9
# As many as the 30 days before told, however long the world goes on.
machines=$(awk -v a="$(json '$.policies[1].reserved_hours')" 'BEGIN { print a / 672 }')
for w in 1 2 8 26; do
	run simulate jobs --span ${w}w --policies reserve_mean -o json
	expect_json_near '$.policies[0].reserved_hours' "$(awk -v m="$machines" -v w=$w 'BEGIN { print m * w * 168 }')" 1e-6
done
run simulate jobs --span 4w --svg j.svg
expect_exit 0
[ "$(grep -c reserve_mean j.svg)" -ge 1 ] && grep -q '</svg>' j.svg
ok $? "the weeks as a chart"
run simulate jobs --work-min 2h --work-max 1h
expect_exit 2
run simulate jobs --policies omniscient
expect_exit 2
run simulate spot --traces m --pool all --work 3h --slack 1.5 --changeover 300s --policies berth --on-demand-price 0
expect_exit 2 "an on-demand price of 0"
expect_err_has 'on-demand-price'
# A zone that is on the block list by its region or zone is none that a job could go to; one by more than a trace tells stays.
mkdir -p .config/berth
blocked() { printf 'schema: berth.config/1\nblock:\n  - {%s}\n' "$1" >.config/berth/berth.yaml; }
spot() { run simulate spot --traces tb --work 4h --slack 1.5 --changeover 300s --pool all --policies greedy -o json; }
blocked 'zone: nowhere'
spot
expect_exit 0
expect_json '$.by[0].zone' all
open=$(json '$.policies[0].mean')
blocked 'region: WEST'
spot
expect_exit 0
expect_err_has 'left out, for block of berth\.yaml keeps all jobs from there: west-a'
mean=$(json '$.policies[0].mean')
awk -v a="$open" -v b="$mean" 'BEGIN { exit !(b > a + 0.1) }'
ok $? "without the zone that is always up it costs more: $open, $mean"
blocked 'region: west, accelerator: H100'
spot
expect_json '$.policies[0].mean' "$open"
blocked 'purchase: spot'
spot
expect_exit 3
expect_err_has 'keeps all jobs from every zone of these traces \(west-a, east-a, south-a\)'
rm -rf .config

done_testing
