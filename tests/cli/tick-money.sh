#!/bin/sh
# Budgets while ticks rent, lose and replace machines on a replayed cloud; machines start in 3 minutes, 5 are counted for it.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/clouds.sh"

cap() { run budget set all --cap "$1" --period "${2-total}" --name lid; }
rented() { "$BERTH" --now "$NOW" instances --all -o csv --columns id | tail -n +2 | wc -l; }
events() { "$BERTH" --now "$NOW" events -n 0 --type "$1" -o csv --columns t | tail -n +2 | wc -l; }
od='on_demand: {price: 4, capacity: 4}'

# Two jobs race for the last money: 4 x 1 h 5 min = 4.33 USD each, and 8 USD.
cloud "zone: a, $od"
cap 8
job first 1h
job second 1h
run tick
expect_exit 4 "a job that waits for money is told by the status"
expect_err_has '1 job waits for money of a budget'
[ "$(rented)" -eq 1 ]
ok $? "one of two is rented"
run budget -o json
expect_json_near '$.budgets[0].reserved' 4.333333 1e-6
run tick --until +3h
expect_exit 4
is first done
is second queued
run budget -o json
expect_json_near '$.budgets[0].spent' 4.2 1e-6 "1 h 3 min were paid"
[ "$(events budget.reached)" -eq 1 ]
ok $? "told once: $(events budget.reached)"
run explain "$("$BERTH" --now "$NOW" jobs -o csv --columns id | tail -n 1)"
run jobs -o csv --columns name,reason
expect_out_has 'second,.*(costs more than is left|budget lid)' "the queue says why"

# A launch that is refused frees its money for the next offer: 4.1 x 1 h 5 min = 4.44 USD of 4.50.
cloud 'zone: a, on_demand: {price: 4, capacity: 0, shown: false}' 'zone: b, on_demand: {price: 4.1, capacity: 1}'
cap 4.5
job retry 1h
run tick -o json
expect_json '$.refused' 1
expect_json '$.created' 1 "refused in one zone, rented in the other, with money for one"
run budget -o json
expect_json_near '$.budgets[0].reserved' 4.441667 1e-6

# Machines at 0.8 of what was promised: 4 h become 5, and what they will cost stays reserved: 20.20 USD of 30, not 16.33.
cloud "zone: a, slow: {share: 1, factor: 0.8}, $od"
cap 30
job slow 4h
run tick --until +30m
NOW=2026-11-30T00:30:00Z
run budget -o json
left=$(json '$.budgets[0].left')
awk -v l="$left" 'BEGIN { exit !(l > 9.3 && l < 10.3) }'
ok $? "about 30 - 20.2 USD are left (is $left)"
job other 3h
run tick --until +6h
expect_exit 4
is slow done
is other queued
run budget -o json
expect_json_near '$.budgets[0].spent' 20.2 0.4

# The turn of the year, with 15 USD a month: 11.33 USD from 21:30 on and 3.33 fit, 1.00 more waits for January, where the first
# still holds what it has not paid. Its hours before midnight are December's: 2.5 x 4 and 0.8 x 4 USD; then 0.3 x 4 and 13/60 x 4.
TZ=America/New_York
export TZ
NOW=2026-12-31T21:30:00Z
cloud "zone: a, $od"
cap 15 month
job long 2h45m
job short 45m
run tick
expect_exit 0
job last 10m
run tick --until +2h
expect_exit 4
is last queued
NOW=2026-12-31T23:30:00Z
run tick --until +2h
expect_exit 0
is last 'done'
NOW=2027-01-01T01:30:00Z
run instances --all -o csv --columns created
expect_out 2027-01-01T00:00:00Z "rented as soon as the month has turned"
run budget -o json
expect_json_near '$.budgets[0].spent' 2.066667 1e-5
expect_json '$.budgets[0].from' 2027-01-01T00:00:00Z
NOW=2026-12-31T23:59:59Z
run budget -o json
expect_json_near '$.budgets[0].spent' 13.2 1e-5
unset TZ

# Spot is taken back after 3 h and never comes again, and the budget has been cut: what on demand would cost is not there. The work
# that is done is kept, the risk is told, and with more money it goes on from there.
NOW=2026-11-30T00:00:00Z
cloud "zone: a, $od, spot: {price: 1.2, capacity: [[0h, 1], [3h, 0]], notice: 2m}"
cap 30
job taken 6h 'deadline: +14h' 'checkpoint: {size: 8GB, write: 10s, interval: 10m}' 'restart: 3m' 'purchase: [spot, on_demand]'
run tick --until +1h
expect_exit 0
NOW=2026-11-30T01:00:00Z
cap 14
run tick --until +4h
expect_exit 4
is taken queued
[ "$(events budget.reached)" -eq 1 ] && [ "$(events job.deadline_at_risk)" -eq 1 ]
ok $? "told once each: $(events budget.reached) and $(events job.deadline_at_risk)"
NOW=2026-11-30T05:00:00Z
run jobs -o json
kept=$(json '$.jobs[0].progress')
awk -v p="$kept" 'BEGIN { exit !(p > 0.45 && p < 0.5) }'
ok $? "what was done in 2 h 55 min is kept: $kept of 6 h"
cap 30
run tick --until +9h
expect_exit 0
is taken 'done'
run budget -o json
awk -v s="$(json '$.budgets[0].spent')" 'BEGIN { exit !(s > 3.56 + 12.4 && s < 3.56 + 13.5) }'
ok $? "spot for 2.97 h, then the 3 h 8 min that were left, on demand: $(json '$.budgets[0].spent')"

# The budget ends while a gang runs: it goes on as a whole, and nothing new begins.
NOW=2026-11-30T00:00:00Z
cloud "zone: a, $od"
cap 20
job gang 2h 'nodes: 2'
run tick --until +1h
is gang running
NOW=2026-11-30T01:00:00Z
cap 1
job new 10m
run tick --until +30m
expect_exit 4
is gang running
[ "$(rented)" -eq 2 ]
ok $? "nothing new is rented"
NOW=2026-11-30T01:30:00Z
run tick --until +1h
is gang 'done'
is new queued
run budget -o json
expect_json_near '$.budgets[0].spent' 16.4 1e-6 "two machines for 2 h 3 min"
expect_json '$.budgets[0].reserved' 0.000000

# Ticks each hour: launched by one, started by the next, the end seen by the one after it: an hour of work takes three, 12 USD.
NOW=2026-11-30T00:00:00Z
cloud "zone: a, $od"
hourly() {	# hourly FROM TO: ticks at these hours
	for h in $(seq "$1" "$2"); do
		NOW=$(printf '2026-11-30T%02d:00:00Z' "$h")
		run tick
	done
}
cost() { "$BERTH" --now "$NOW" jobs --all -o json | awk -f "$TOP_SRCDIR/tests/cli/json.awk" | sed -n "s/^\$\.jobs\[$1\]\.cost	//p"; }
hourly 0 2
job capped 1h 'max_cost: 11.99'
run place
expect_exit 4
expect_err_has 'the cheapest costs 4\.34 USD and up to 7\.67 more while it waits for ticks, its max_cost leaves 11\.99'
job fits 1h 'max_cost: 12'
hourly 3 3
expect_exit 4
expect_err_has '1 job waits for money of a budget, or of its own max_cost'
is capped queued
is fits placed
hourly 4 6
is fits 'done'
awk -v c="$(cost 1)" 'BEGIN { exit !(c > 7.9 && c <= 12) }'
ok $? "it cost $(cost 1) USD of 12"

# At 0.8 of what was promised 4.5 h become 5.6: stopped when the next tick would come too late, with what is done.
NOW=2026-11-30T00:00:00Z
cloud "zone: a, slow: {share: 1, factor: 0.8}, $od"
hourly 0 2
job slow 4h30m 'max_cost: 24' 'checkpoint: {size: 8GB, write: 10s, interval: 10m}' 'restart: 3m'
job lame 4h30m 'max_cost: 24'
hourly 3 8
is slow running
hourly 9 9
is slow queued
expect_exit 4
awk -v c="$(cost 0)" 'BEGIN { exit !(c > 23.9 && c <= 24) }'
ok $? "it cost $(cost 0) USD of 24"
awk -v c="$(cost 1)" 'BEGIN { exit !(c > 23.9 && c <= 24) }'
ok $? "so did the one that cannot resume: $(cost 1)"
run jobs -o json
awk -v p="$(json '$.jobs[0].progress')" 'BEGIN { exit !(p > 0.85 && p < 0.9) }'
ok $? "5 h of 5.6 are kept: $(json '$.jobs[0].progress')"
[ "$(events budget.reached)" -eq 2 ]
ok $? "told once for each: $(events budget.reached)"
run instances -o csv --columns id
expect_lines 1 "no machine goes on"
hourly 10 11
is slow queued

# A gang that loses a machine and has no money for both again waits whole: none of the two is held.
NOW=2026-11-30T00:00:00Z
cloud 'zone: a, spot: {price: 4, capacity: [[0h, 2], [1h, 1], [2h, 2]], notice: 2m}'
cap 19
job pair 2h 'nodes: 2' 'checkpoint: {size: 1GB, write: 10s, interval: 10m}' 'restart: 3m' 'purchase: [spot]'
run tick --until +1h
cap 9
NOW=2026-11-30T01:00:00Z
run tick --until +3h
expect_exit 4
NOW=2026-11-30T04:00:00Z
is pair queued
[ "$(rented)" -eq 2 ]
ok $? "no machine is rented for half of a gang: $(rented)"
run instances -o csv --columns id
expect_lines 1 "and none is held"

# A fleet of three, each 4 x 2 h 5 min = 8.33 USD, and 20 USD: two run, one waits, and goes first.
cloud "zone: a, $od"
cat >>.config/berth/berth.yaml <<Y
fleets:
  - {name: chat, job: $PWD/job.yaml, max: 5, unit: 8, metric: {series: load}, down_window: 5m, boot: 3m}
Y
job solo 2h
run -y job cancel "$("$BERTH" --now "$NOW" jobs -o csv --columns id | tail -n 1)"
load() {
	printf 'timestamp,gpus,series\n%s,%s,load\n' "$NOW" "$1" >load.csv
	run record csv load.csv --step 5m
}
cap 20
load 24
NOW=2026-11-30T04:05:00Z
run tick
expect_exit 4
[ "$(rented)" -eq 2 ]
ok $? "two of three replicas are rented: $(rented)"
NOW=2026-11-30T04:20:00Z
load 8
NOW=2026-11-30T04:25:00Z
run tick
expect_exit 0 "the one that waits is taken back, and nothing waits any more"
[ "$("$BERTH" --now "$NOW" instances -o csv --columns id | tail -n +2 | wc -l)" -eq 2 ]
ok $? "the two that run stay"
done_testing
