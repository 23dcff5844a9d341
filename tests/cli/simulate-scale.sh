#!/bin/sh
# berth simulate scale on loads whose costs can be told by hand.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run init --no-prices
load() {	# load NAME SAMPLES AWK-EXPRESSION: k counts samples of 5 minutes
	awk "BEGIN { srand(11); print \"timestamp,gpus,series\"; for (k = 0; k < $2; k++) { v = $3; if (v != \"\") print 1787572800 + 300 * k \",\" v \",$1\" } }" >l.csv
	run record csv l.csv --step 5m
}
policy() { awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' -v n="$1" -v k="$2" '$1 ~ /name$/ && $2 == n { sub(/name$/, "", $1); p = $1 } p != "" && $1 == p k { print $2; exit }'; }
is() {	# is POLICY KEY NUMBER TOLERANCE
	got=$(policy "$1" "$2")
	awk -v a="$got" -v b="$3" -v tol="$4" 'BEGIN { d = a - b; exit !(a != "" && d <= tol && -d <= tol) }'
	ok $? "$1: $2 is $3 within $4 (is $got)"
}

# Constant: every policy is the load itself, and nothing moves.
load still 288 16
run simulate scale still --unit 8 --policies fixed_peak,fixed_mean,threshold,berth -o json
expect_exit 0
expect_is_json berth.simulation/1
for p in fixed_peak fixed_mean threshold berth; do
	is $p mean 1 1e-9
	is $p changes 0 0
	is $p shortage 0 0
done
expect_json '$.policies[3].name' berth

# From 8 to 32 after two of four hours, seen 5 minutes later, answered at once, there after 10 more: 24 are short for 15 minutes.
# Cost: one replica for 2 h 5 min, four for 1 h 55 min.
load step 48 'k < 24 ? 8 : 32'
run simulate scale step --unit 8 --boot 10m --period 5m -o json
is berth shortage "$(awk 'BEGIN { print 24 * 0.25 / 80 }')" 1e-6
is berth cost 9.75 1e-6
is berth changes 1 0
is berth starts 3 0
is threshold cost 9.75 1e-6
is fixed_peak cost 16 1e-6
is fixed_peak shortage 0 0
is fixed_mean shortage "$(awk 'BEGIN { print 8 * 2 / 80 }')" 1e-6	# three replicas for a mean of 20

# One spare all day, and four at the least for two hours of it: (2 + 1) x 24 h, and one more for 2 h 10 min, as 10 min of boot
# come before; the load of 16 is carried by two.
load even 288 16
run simulate scale even --unit 8 --boot 10m --down-window 5m --down-rate 1 --headroom 1 --hours '09:00-11:00 4..' --policies berth -o json
expect_exit 0
is berth cost "$(awk 'BEGIN { print 3 * 24 + 2 + 10 / 60 }')" 0.02
is berth shortage 0 0
is berth starts 1 0
run simulate scale even --unit 8 --boot 10m --down-window 5m --down-rate 1 --headroom 1 --hours 'sun 09:00-11:00 4..' --zone Europe/Berlin --policies berth -o json
is berth cost 72 1e-6	# the day is a Monday
# A fifth of the two that the load asks for is one replica, half of them too, and 16 GPUs of replicas of 8 are two; by the hours as well.
for spare in 20% 50% 1; do
	run simulate scale even --unit 8 --boot 10m --headroom $spare --policies berth,threshold -o json
	is berth cost 72 1e-6
	is threshold cost 48 1e-6
done
run simulate scale even --unit 8 --boot 10m --headroom 16gpus --gpus 8 --policies berth -o json
is berth cost 96 1e-6
run simulate scale even --unit 8 --boot 10m --down-window 5m --down-rate 1 --hours '09:00-11:00 +100%' --policies berth -o json
is berth cost "$(awk 'BEGIN { print 2 * 24 + 2 * (2 + 10 / 60 + 5 / 60) }')" 0.07
is berth starts 2 0
run simulate scale even --unit 8 --boot 10m --headroom 2 --hours '00:00-24:00 +0' --policies berth -o json
is berth cost 48 1e-6
# A day like the other: a quantile of the forecast keeps what the hour to come needs, and more of it costs more and lacks less.
load wave 4032 'int(k / 12) % 24 >= 9 && int(k / 12) % 24 < 18 ? 40 : 8'
wave() { run simulate scale wave --unit 8 --boot 30m --every 1d --policies berth "$@" -o json; expect_exit 0 "$*"; }
wave
short=$(policy berth shortage) cost=$(policy berth cost)
wave --hours '20:00-22:00 +p90'		# the morning's rise, at 21:00 UTC
hours_short=$(policy berth shortage) hours_cost=$(policy berth cost)
awk -v a="$hours_short" -v b="$short" 'BEGIN { exit !(a > 0 && a < b / 3) }'
ok $? "what comes each day is there when it comes ($hours_short of $short is short)"
for spare in p50 p90 p95 p99; do
	wave --headroom $spare
	awk -v a="$(policy berth shortage)" -v b="$short" -v c="$(policy berth cost)" -v d="$cost" 'BEGIN { exit !(a <= b && c >= d) }'
	ok $? "$spare lacks less and costs more than the one before"
	short=$(policy berth shortage) cost=$(policy berth cost)
	[ $spare = p90 ] || continue
	awk -v a="$hours_cost" -v b="$cost" 'BEGIN { exit !(a < b) }'
	ok $? "and for two hours of the day it costs less than for all of it"
done
for bad in -1 2.5 x 20%% p75 ''; do
	run simulate scale even --unit 8 --headroom="$bad"
	expect_exit 2
	expect_err_has 'is no headroom'
done
run simulate scale even --unit 8 --headroom 16gpus
expect_exit 2
expect_err_has 'how many one replica has'
run simulate scale even --unit 8 --hours '09:00-11:00 +16gpus'
expect_exit 2
expect_err_has 'how many one replica has'
run simulate scale even --unit 8 --hours '9-11 4..'
expect_exit 2
expect_err_has 'as in 08:00-20:00'
run simulate scale even --unit 8 --zone Europe/Berlin
expect_exit 2
run simulate scale even --unit 8 --hours '09:00-11:00 4..' --zone Europe/Nowhere
expect_exit 2

# Noise around whole machines: threshold flaps, berth does not.
load noise 8064 '64 * (1 + 0.05 * (2 * rand() - 1))'
run simulate scale noise --unit 8 --down-window 30m --tolerance 0 --policies threshold -o json
awk -v a="$(policy threshold flaps)" 'BEGIN { exit !(a > 100) }'
ok $? "without a tolerance threshold goes up, down and up within half an hour all month ($(policy threshold flaps) times)"
run simulate scale noise --unit 32 --down-window 30m --policies threshold,berth -o json
is berth flaps 0 0
awk -v a="$(policy berth changes)" 'BEGIN { exit !(a <= 2) }'
ok $? "berth changes $(policy berth changes) times in a month of noise, threshold $(policy threshold changes) times"

# The same with a share that rounds: none flaps.
for spare in 5% 10% 20% 33%; do
	run simulate scale noise --unit 8 --down-window 30m --headroom $spare --policies berth -o json
	is berth flaps 0 0
	awk -v a="$(policy berth changes)" 'BEGIN { exit !(a <= 6) }'
	ok $? "with $spare spare berth changes $(policy berth changes) times in a month of noise"
done

# A day with a rush: the forecast has the machines there before it. Gaps are no load: nothing is short, nothing goes.
load rush 8064 '(k % 288 >= 108 && k % 288 < 216) ? 80 : 8'
run simulate scale rush --unit 8 --boot 30m --policies berth,berth_forecast -o json
awk -v a="$(policy berth_forecast shortage)" -v b="$(policy berth shortage)" 'BEGIN { exit !(b > 0 && a < b / 2) }'
ok $? "forecasts more than halve what is short ($(policy berth shortage) to $(policy berth_forecast shortage))"
load gap 288 'k < 100 || k >= 200 ? 40 : ""'
run simulate scale gap --unit 8 --policies berth -o json
is berth changes 0 0
is berth cost 120 1e-6

# A load that has never moved: no forecast moves it, but on the first day at the most; nor does a gap. One value that is
# another, whenever it was, and forecasts count as always.
load c4 8064 100
load c4gap 8064 'k < 1000 || k >= 1400 ? 100 : ""'
load c4moved 8064 'k < 13 ? 99 : 100'
for level in 0.5 0.9 0.95 0.99; do
	for s in c4 c4gap; do
		run simulate scale $s --unit 10 --boot 10m --policies berth,berth_forecast --level $level -o json
		is berth_forecast changes 0 0
		is berth_forecast cost 6720 1e-6
	done
done
run simulate scale c4 --unit 10 --boot 10m --billing 1h --every 1d --policies berth --headroom p99 -o json
is berth changes 0 0
run simulate scale c4moved --unit 10 --boot 10m --policies berth_forecast --level 0.99 -o json
awk -v a="$(policy berth_forecast cost)" 'BEGIN { exit !(a > 6720) }'
ok $? "a load that has moved once has a forecast ($(policy berth_forecast cost))"

# A jump that nothing foretells cannot be answered sooner than a replica starts: no forecast is used before it was made.
load jump 2880 'k >= 2400 ? 80 : 10'
run simulate scale jump --unit 1 --boot 2h --every 1h -o json
awk -v a="$(policy berth_forecast short_hours)" 'BEGIN { exit !(a >= 2) }'
ok $? "a jump is short for as long as a start takes ($(policy berth_forecast short_hours) h)"

COLUMNS=80 run simulate scale rush --unit 8
expect_out_has '^POLICY +COST H +COST +SHORT +SHORT H +CHANGES +STARTS +FLAPS +MOST$'
expect_out_has '^berth_forecast +#+'
[ "$(awk 'length > 80' "$out" | wc -l)" -eq 0 ]
ok $? "no line is wider than the terminal"
run simulate scale rush --unit 8 --from 2026-08-25T00:00:00Z --to 2026-08-26T00:00:00Z --policies fixed_peak -o json
is fixed_peak cost 240 1e-6

run simulate scale rush --unit 8 --policies threshold,berth --svg s.svg -o json
expect_is_json berth.simulation/1
grep -q '^<svg' s.svg && grep -q berth s.svg && grep -q '</svg>' s.svg
ok $? "a chart"
rm s.svg
run simulate scale rush --unit 8 --policies berth --svg s.svg --dry-run
[ ! -e s.svg ]
ok $? "a dry run writes none"
run simulate scale rush --unit 8 --policies berth --svg /nowhere/s.svg
expect_exit 1
expect_err_has '/nowhere/s.svg'
run simulate scale rush
expect_exit 2
expect_err_has 'how much load does one replica carry'
run simulate scale nowhere --unit 8
expect_exit 1
run simulate scale rush --unit 8 --policies hope
expect_exit 2
run simulate scale rush --unit 8 --min 5 --max 2
expect_exit 2
load none 288 0
run simulate scale none --unit 8
expect_exit 3
expect_err_has 'no load at all'
run simulate scale step --unit 8 --boot 10m --period 5m -o csv
! grep -Eq '[0-9]\.[0-9]{7}' "$out"
ok $? "no more places in CSV than in JSON"
done_testing
