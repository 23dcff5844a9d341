#!/bin/sh
# Fifteen inputs that break planners, each through the program; the numbers are those of the planner's list.
. "$TOP_SRCDIR/tests/cli/lib.sh"

head='provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency'
od='purchase: [on_demand]'
conf() { { echo 'schema: berth.config/1'; for line; do printf '%s\n' "$line"; done; } >berth.yaml; }
market() {	# market NAME LINE...: a fresh store with these offers
	store=$HOME/$1.db
	rm -f "$store"*
	shift
	{ echo "$head"; for line; do echo "$line"; done; } >offers.csv
	b prices import offers.csv
}
b() { run --config berth.yaml --store "$store" "$@"; }
job() {	# job NAME ACCELERATORS LINE...
	printf 'schema: berth.job/1\nname: %s\nrun: make\naccelerators: "%s"\n' "$1" "$2" >job.yaml
	shift 2
	for line; do printf '%s\n' "$line"; done >>job.yaml
	b submit job.yaml
}
place() { b place "$@" -o json; }
no_nan() {
	! grep -Eiq '(^|[^a-z])(nan|-?inf)([^a-z]|$)' "$out"
	ok $? "$1"
}
use() {	# use AWK-EXPRESSION [HOURS]: demand "d" of H100s by the hour, to now
	awk -v n="${2-1008}" "BEGIN { print \"timestamp,gpus,series,accelerator\"
		for (h = 0; h < n; h++) print 1796040000 - 3600 * (n - h) \",\" $1 \",d,H100\" }" >use.csv
	b record csv use.csv
}
is_offer() {	# is_offer N PURCHASE NAME
	[ "$(json "\$.jobs[$1].offer.purchase")" = "$2" ]
	ok $? "$3 (is $(json "\$.jobs[$1].offer.purchase"))"
}
conf
one=acme,r1,quad,H100,4,on_demand,,,,8,USD
cheap=acme,r1,quad,H100,4,spot,,,,2,USD

# 1. A deadline that is past, or nearer than work and start: refused, or infeasible with the first possible end and its cost.
market d $one $cheap
job late H100:4 'work: 2h' "$od" 'deadline: 2026-11-30T11:59:59Z'
expect_exit 1 "1: a deadline that is past is refused"
expect_err_has "'deadline': lies in the past"
job tight H100:4 'work: 2h' "$od" 'deadline: 2026-11-30T14:00:00Z'
place
expect_exit 3 "1: less than work and start"
expect_err_has 'first possible end is 2026-11-30T14:05:00Z, for 16.67 USD'
NOW=2026-11-30T20:00:00Z place
expect_exit 3 "1: a deadline that went by in the queue"
expect_json '$.jobs[0].offer' null "1: it is not started late in silence"
expect_json '$.jobs[0].changes[0].at' 2026-11-30T22:05:00Z

# 2. Just enough: on demand now, though spot is cheaper; a second later it is infeasible.
market e $one $cheap
job exact H100:4 'work: 2h' 'checkpoint: {size: 1GB, write: 10s}' 'deadline: 2026-11-30T14:05:00Z'
place
expect_exit 0 "2: just enough"
is_offer 0 on_demand "2: on demand, for spot may not be waited for"
NOW=2026-11-30T12:00:01Z place
expect_exit 3 "2: a second later"
expect_json '$.jobs[0].offer' null

# And with time to spare the numbers behind the choice of spot are told.
market ef $one $cheap
job easy H100:4 'work: 2h' 'checkpoint: {size: 1GB, write: 10s}' 'deadline: 2026-12-01T12:00:00Z'
place
is_offer 0 spot "2: with a day of time on spot"
expect_out_has 'on demand from 2026-12-01T0[0-9:]*Z at the latest if it is lost; spot has been up for [0-9.]* h or more, is lost at [0-9.]* an hour'
awk -v l="$(json '$.jobs[0].spot.ends_per_hour')" -v m="$(json '$.jobs[0].spot.expected_hours_more')" -v b="$(json '$.jobs[0].spot.back_within_hour')" \
	'BEGIN { exit !(l > 0 && m > 1 && m < 20 && b > 0.3 && b < 0.95) }'
ok $? "2: and are of the size of what public traces show"
expect_json '$.jobs[0].spot.ends_seen' 0
# So much work is told from which on it goes on demand, and just there it does.
market eg $one $cheap
job turn H100:4 'work: 4h' 'checkpoint: {size: 1GB, write: 1s}' 'deadline: 2026-11-30T18:00:00Z'
place
is_offer 0 spot "2: four hours of work with six to the deadline: spot"
turn=$(json '$.jobs[0].spot.on_demand_above_hours')
expect_out_has "on demand from more than $(printf %.2f "$turn") h of work on, with 6.00 h to the deadline"
for share in 0.99:spot 1.01:on_demand; do
	market e${share#*:} $one $cheap
	job turn H100:4 "work: $(awk -v t="$turn" -v s="${share%:*}" 'BEGIN { printf "%d", 3600 * t * s }')s" \
		'checkpoint: {size: 1GB, write: 1s}' 'deadline: 2026-11-30T18:00:00Z'
	place
	is_offer 0 "${share#*:}" "2: ${share%:*} of $turn hours"
done

# 3. Nothing, always the same, one hour.
market z $one acme,r1,quad,H100,4,reserved,12,none,0,4.8,USD
use 0
b plan d --no-spot -o json
no_nan "3: zero demand: no division by zero"
expect_json '$.series[0].buys[0].count' '' "3: nothing is bought for nothing"
market s $one acme,r1,quad,H100,4,reserved,12,none,0,4.8,USD
use 16
b plan d --no-spot -o json
expect_json '$.series[0].buys[0].gpus' 16 "3: always the same: all of it is reserved"
no_nan "3: and every number is one"
market h $one acme,r1,quad,H100,4,reserved,12,none,0,4.8,USD
use 16 1
b plan d --no-spot -o json
[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
ok $? "3: a single hour ends well or is called infeasible ($status)"
no_nan "3: a single hour"

# 4. Reserved at the price on demand or over it, spot over it: never bought. Below 0: refused by line.
market p $one acme,r1,quad,H100,4,reserved,12,none,0,8,USD acme,r1,quad,H100,4,reserved,36,none,0,9,USD acme,r1,quad,H100,4,spot,,,,8.5,USD
use 16
b plan d -o json
expect_json '$.series[0].buys[0].count' '' "4: nothing is reserved at 1 and over"
[ -z "$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '$1 ~ /rest\[[0-9]*\]\.purchase$/ && $2 == "spot"')" ]
ok $? "4: nor is spot that is dearer than on demand"
job any H100:4 'work: 10h' 'checkpoint: {size: 1GB, write: 10s}'
place
is_offer 0 on_demand "4: a job goes on demand"
{ echo "$head"; echo acme,r1,quad,H100,4,reserved,12,none,0,-1,USD; echo $one; } >below.csv
b prices import below.csv
expect_exit 8 "4: a price below 0 is refused, the rest goes on"
expect_err_has "below.csv:2: refused: price_per_hour '-1': a price below 0 is no price" "4: and its line is told"
b prices list -p reserved -o csv --columns price_per_hour
expect_out_lacks '^-[0-9]'

# 5. A gang of sixteen where a machine has eight: whole over two machines where that is allowed, else not at all.
market g acme,r1,oct,H100,8,on_demand,,,,16,USD
job gang H100:16 'work: 2h' "$od"
place
expect_exit 3 "5: sixteen on one machine"
expect_json '$.jobs[0].refused.gang' 1
expect_err_has 'needs 16 on one machine, the most on one is 8'
b job cancel "$(json '$.jobs[0].id')"
job two H100:8 'nodes: 2' 'work: 2h' "$od"
place
expect_json '$.jobs[0].offer.machines' 2 "5: two machines of eight"
conf 'limits:' '  - {name: one, accelerator: H100, limit: 15, unit: gpu}'
place
expect_exit 3 "5: fifteen of sixteen are none"
expect_json '$.jobs[0].offer' null "5: never half placed"

# 6. Nothing allowed, less than a machine, a quota over quotas: the one that binds is named.
market q $one acme,r2,quad,H100,4,on_demand,,,,8.5,USD
job a H100:4 'work: 2h' "$od"
job b H100:4 'work: 2h' "$od"
for limit in 0 3; do
	conf 'limits:' "  - {name: tiny, provider: acme, limit: $limit, unit: gpu}"
	place
	expect_exit 3 "6: a limit of $limit for machines of four"
	expect_err_has 'tiny'
done
conf 'limits:' '  - {name: all of acme, provider: acme, limit: 7, unit: gpu}' '  - {name: first, region: r1, limit: 8, unit: gpu}' \
	'  - {name: second, region: r2, limit: 8, unit: gpu}'
place
expect_json '$.jobs[1].binds' 'all of acme' "6: the outer of nested quotas binds, and is named"
conf

# 7. The same offer many times, equal costs, in any order of the rows: the same plan, on every run.
rm -f want
for order in '1 2 3 4' '4 3 2 1' '2 4 1 3'; do
	set --
	for k in $order; do set -- "$@" "acme,r$k,quad,H100,4,on_demand,,,,8,USD" "acme,r$k,quad,H100,4,on_demand,,,,8,USD"; done
	market "t" "$@"
	for j in a b c; do job $j H100:4 'work: 2h' "$od"; done
	for again in 1 2; do
		b place -o csv --columns name,provider,region,instance_type
		[ -e want ] || cp "$out" want
		cmp -s want "$out"
		ok $? "7: rows in the order $order, run $again: the same places"
	done
done

# 8. Prices that are no numbers.
market n acme,r1,quad,H100,4,on_demand,,,,9.5,USD
{ echo "$head"; for p in nan inf -inf '' 1e400 text; do echo "acme,r9,quad,H100,4,on_demand,,,,$p,USD"; done; echo acme,r8,quad,H100,4,on_demand,,,,9,USD; } >odd.csv
b prices import -f odd.csv
for line in 2 3 4 6 7; do expect_err_has "odd.csv:$line" "8: line $line is refused"; done
job x H100:4 'work: 2h' "$od"
place
expect_json '$.jobs[0].offer.region' r8 "8: only what has a price is taken"
no_nan "8: no such number comes out"

# 9. The clock goes back between two ticks: nothing is rented twice, nothing costs less than nothing.
run init --replay
run prices refresh
printf 'schema: berth.job/1\nname: c\nrun: make\naccelerators: "L4:1"\nwork: 20h\n%s\n' "$od" >c.yaml
run submit c.yaml
run tick --until +30m --step 2m -o json
expect_json '$.created' 1
NOW=2026-11-30T12:05:00Z run tick -o json
expect_exit 0 "9: a tick whose clock went back"
expect_json '$.created' 0
expect_json '$.errors' 0
NOW=2026-11-30T13:00:00Z run tick
run instances -o json
[ "$(grep -c '"id"' "$out")" -eq 1 ]
ok $? "9: one machine"
awk -v c="$(json '$.instances[0].cost')" 'BEGIN { exit !(c >= 0) }'
ok $? "9: its cost is no less than nothing"

# 10. On demand sold out at the last safe hour: said aloud, and other regions are taken.
cat >gone.trace <<'T'
schema: berth.replay/1
start: 2026-11-30T00:00:00Z
pools:
  - {provider: aurora, region: us-east-1, zone: us-east-1a, instance_type: a1.h100, accelerator: H100-SXM5-80GB, accelerator_count: 1, accelerator_memory_gib: 80, vcpus: 24, memory_gib: 256, startup: [3m, 3m], on_demand: {price: 4, capacity: [[0h, 0]]}, spot: {price: 1.2, capacity: [[0h, 0]], notice: 2m}}
  - {provider: aurora, region: eu-west-1, zone: eu-west-1a, instance_type: a1.h100, accelerator: H100-SXM5-80GB, accelerator_count: 1, accelerator_memory_gib: 80, vcpus: 24, memory_gib: 256, startup: [3m, 3m], on_demand: {price: 6, capacity: [[0h, 1]]}, spot: {price: 5, capacity: [[0h, 0]], notice: 2m}}
T
rm -rf .config .local
mkdir -p .config/berth
printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/gone.trace}\n' "$PWD" >.config/berth/berth.yaml
NOW=2026-11-30T00:00:00Z
run init
run prices refresh
printf 'schema: berth.job/1\nname: f\nrun: make\naccelerators: "H100-SXM5-80GB:1"\nwork: 6h\ndeadline: +8h\ncheckpoint: {size: 8GB, write: 10s}\nrestart: 3m\n' >f.yaml
run submit f.yaml
run tick --until +9h --step 2m -o json
expect_json '$.finished' 1 "10: it is done all the same"
run instances --all -o csv --columns zone,purchase
expect_out eu-west-1a,on_demand "10: in another region"
run jobs --all -o csv --columns finished
[ "$(sed -n 2p "$out" | cut -c1-16 | tr -d -c 0-9)" -le 202611300800 ]
ok $? "10: in time ($(sed -n 2p "$out"))"
NOW=2026-11-30T12:00:00Z

# 11. Data that cost more to move than the work: the job stays where they lie, and the explanation tells of egress.
market x aws,us-east-1,far,H100,4,on_demand,,,,8,USD aws,eu-west-1,home,H100,4,on_demand,,,,12,USD
job data H100:4 'work: 2h' "$od" 'data: {region: aws/eu-west-1, size: 10TB}'
place
expect_json '$.jobs[0].offer.instance_type' home "11: it stays at home"
expect_json_near '$.jobs[0].offer.egress_cost' 0 1e-9
expect_json '$.jobs[0].runner_up.instance_type' far
awk -v e="$(json '$.jobs[0].runner_up.egress_cost')" 'BEGIN { exit !(e > 100) }'
ok $? "11: the runner-up is told with its egress ($(json '$.jobs[0].runner_up.egress_cost'))"
b explain "$(json '$.jobs[0].id')"
expect_out_has "moving the data costs 186.26 USD" "11: and in the words of explain"

# 12. Nowhere left: the rule that took the last offer is named.
market r $one
job mars H100:4 'work: 2h' "$od" 'regions: ["mars-*"]'
place
expect_exit 3 "12: residency leaves nothing"
expect_json '$.jobs[0].refused.residency' 1
expect_err_has 'region not among'

# 13. Spot that is never up, always up, and flaps with each tick where a start takes two.
mkdir spot
printf 'trace_id,region,zone,gap_seconds,nodes\nnever-1,w,a,300,1\nalways-1,w,b,300,1\nflap-1,w,c,300,1\n' >spot/traces.csv
{
	printf 'trace_id,start_tick,n_ticks,available_nodes\nnever-1,0,2000,0\nalways-1,0,2000,1\n'
	awk 'BEGIN { for (t = 0; t < 2000; t++) print "flap-1," t ",1," t % 2 }'
} >spot/segments.csv
for set in never always flap; do
	run simulate spot --traces spot --set $set --work 4h --slack 1.5,2 --changeover 600s --policies berth -o json
	expect_json '$.policies[0].misses' 0 "13: $set: no deadline is missed"
	awk -v m="$(json '$.policies[0].mean')" 'BEGIN { exit !(m != "" && m <= 1 + 2 / 50 + 1e-9) }'
	ok $? "13: $set: at most on demand and one start (is $(json '$.policies[0].mean'))"
	awk -v p="$(json '$.policies[0].preemptions')" 'BEGIN { exit !(p <= 3) }'
	ok $? "13: $set: no more than three starts in vain (is $(json '$.policies[0].preemptions'))"
done

# 14. Money for one of two: the one of higher priority goes, the other is told as not served, with what it lacks.
market m $one
b budget set all --cap 20
job low H100:4 'work: 2h' "$od" 'priority: 0'
job high H100:4 'work: 2h' "$od" 'priority: 5'
place
expect_exit 4 "14: a budget for one of two"
expect_json '$.jobs[0].name' high
expect_json '$.jobs[0].offer.instance_type' quad "14: the one of higher priority goes"
expect_json '$.jobs[1].offer' null
expect_json '$.jobs[1].binds' 'budget all/month' "14: the other is not served, and why"
expect_json_near '$.jobs[1].changes[0].to' 13.333334 1e-6
# Money for none of them: still no lack of capacity. And commitments take nothing of what jobs need.
b budget set all --cap 10
place
expect_exit 4 "14: a budget for none"
expect_json '$.jobs[0].refused.over_budget' 1
expect_json '$.jobs[0].refused.capacity' ''
market c $one acme,r1,quad,H100,4,reserved,1,none,0,4.8,USD
use 16
b plan d --no-spot --horizon 4w -o json
expect_json '$.series[0].buys[0].gpus' 16 "14: without a budget all is reserved"
expect_json '$.budgets' ''
b budget set all --cap 2000 --period total
b plan d --no-spot --horizon 4w -o json
expect_json '$.budgets[0].queued' 0.000000
expect_json '$.budget' 2000.000000
expect_json '$.series[0].buys[0].count' "$(awk 'BEGIN { print int(2000 / (4.8 * 672)) }' | sed 's/^0$//')" "14: none, for one binds more than all of it"
b budget set all --cap 7000 --period total
b plan d --no-spot --horizon 4w -o json
expect_json '$.series[0].buys[0].count' 2 "14: two machines for four weeks bind 6451.20 USD of 7000"
job wants H100:4 'work: 100h' "$od"
b plan d --no-spot --horizon 4w -o json
expect_json_near '$.budgets[0].queued' 800.666667 0.01 "14: a job that waits needs 100 h and its start"
expect_json '$.series[0].buys[0].count' 1 "14: and has them, before a second machine is reserved"
expect_out_has 'jobs come first: of the budget all/total of 7000.00 USD, 0.00 USD are spent'
id=$(json '$.id')
b budget set all --cap 9000 --period total
b plan --replay "$id"
expect_exit 0 "14: a plan is made again as the money was then"
b budget set all --cap 500 --period total
b plan d --no-spot --horizon 4w -o json
expect_json '$.budgets[0].queued' null
expect_json '$.budget' 0.000000 "14: nothing is committed while a job waits for money"

# 15. An hour of 1e9 GPUs, of 250 and of ten times the rest, anywhere in the history: it counts as the rest, and is told; the plan is
# what it is without. What stays, and what comes back, is demand. Too few paths for what is claimed; the hour that a zone lacks.
r=acme,r1,quad,H100,4,reserved,12,none,0,4.8,USD
bought() { json '$.series[0].buys[0].gpus'; }
market wclean $one $r
use 16
b plan d --no-spot -o json
peak=$(json '$.series[0].peak')
expect_json '$.series[0].buys[0].gpus' 16
for spike in 1e9 4000 160; do
	market w$spike $one $r
	use "(h == 700 ? $spike : 16)"
	b plan d --no-spot -o json
	expect_exit 0 "15: an hour of $spike"
	[ "$(bought)" = 16 ]
	ok $? "15: an hour of $spike: 16 are reserved as without it (is $(bought))"
	expect_json_near '$.series[0].peak' "$peak" 0.01
	expect_out_has "forecast warning: $(awk "BEGIN { printf \"%.15g\", $spike }") at 2026-11-17T16:00:00Z is far over all other values and counts as 16"
	no_nan "15: and makes no number odd"
done
b plan d --no-spot --keep-spikes -o json
expect_out_lacks 'counts as'
market w2 $one $r
use '(h == 1007 ? 1e9 : h == 300 ? 2e9 : 16 + h % 3)'
b plan d --no-spot -o json
expect_out_has 'forecast warning: 2 values are far over all others, the first of them 2000000000 at'
expect_json '$.series[0].buys[0].gpus' 16 "15: also two of them, and in the last hour"
b forecast d --horizon 1w -o json
expect_json '$.series[0].spikes[1].t' 2026-11-30T11:00:00Z
expect_json_near '$.series[0].spikes[1].value' 1e9 1
expect_json_near '$.series[0].spikes[1].counts_as' 18 1e-6
market up $one $r
use '(h >= 900 ? 96 : 16)'
b plan d --no-spot -o json
expect_out_lacks 'counts as' "15: a level that stays is demand"
up=$(bought)
[ "$up" -gt 30 ]
ok $? "15: after four days of it more than the old level is reserved ($up)"
b plan d --no-spot --keep-spikes -o json
expect_json '$.series[0].buys[0].gpus' "$up" "15: and nothing of it was cut"
market beat $one $r
use '(h % 168 == 20 ? 160 : 16)'
b forecast d --horizon 4w -o json
expect_json_near '$.series[0].peak.p50' 160 8 "15: a peak of an hour each week is one"
expect_json '$.series[0].spikes[0].t' ''
market all $one $r
awk 'BEGIN { print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 1008; h++) { t = 1796040000 - 3600 * (1008 - h); print t "," (h == 700 ? 1000 : 16) ",d,H100"; print t ",240,e,H100" } }' >use.csv
b record csv use.csv
b plan --total --no-spot -o json
with=$(bought) peak=$(json '$.series[0].peak')
market none $one $r
sed 's/,1000,/,16,/' use.csv >calm.csv
b record csv calm.csv
b plan --total --no-spot -o json
[ "$(bought)" = "$with" ]
ok $? "15: nor does it hide in a sum (is $with, without it $(bought))"
expect_json_near '$.series[0].peak' "$peak" 0.01
# A zone where the clock goes forth and back: history and forecast go on by the UTC hour, none is lacking, none is there twice.
NOW=2026-10-26T00:00:00Z
market dst $one $r
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 0; h < 672; h++) print 1792972800 - 3600 * (672 - h) "," 16 + (h % 24 > 8) * 8 ",d,H100" }' >use.csv
b record csv use.csv
for zone in UTC Europe/Berlin America/New_York; do
	b forecast d --horizon 2w --zone $zone --points -o csv --columns t
	sed 1d "$out" | awk -v n=0 '{ gsub(/[TZ:]/, "-"); split($0, p, "-"); d = p[3] * 24 + p[4]; if (p[2] == 11) d += 31 * 24
		if (NR > 1 && d != last + 1) bad = 1; last = d; n++ } END { exit !(n == 336 && !bad) }'
	ok $? "15: $zone: 336 hours, each once"
done
NOW=2026-11-30T12:00:00Z
market v $one acme,r1,quad,H100,4,reserved,12,none,0,4.8,USD
use 16
b plan d --no-spot --paths 10 --service-level 0.95 -o json
expect_out_has 'too few sample paths to claim it' "15: ten paths are too few for a 95 % claim, which is said"
b plan d --no-spot -o json
expect_out_lacks 'too few sample paths' "15: 200 are enough"
done_testing
