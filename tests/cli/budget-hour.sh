#!/bin/sh
# A budget by the hour caps the rate of spending: what all machines that are there and being made ask for an hour of each.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/clouds.sh"

rated() {	# rated SPENT RESERVED: of the budget "rate"
	run budget -o json
	expect_json '$.budgets[0].period' hour
	expect_json '$.budgets[0].spent' "$1"
	expect_json '$.budgets[0].reserved' "$2"
	expect_json '$.budgets[0].from' null
}
rented() { "$BERTH" --now "$NOW" instances -o csv --columns id | tail -n +2 | wc -l; }

# Two of three machines of 4 USD an hour fit under 9; the third starts when one of them is gone.
cloud 'zone: a, on_demand: {price: 4, capacity: 4}'
run budget set all --cap 9 --period hour --name rate
expect_exit 0
rated 0.000000 0.000000
for name in first second third; do job $name 1h; done
run place -o json
expect_exit 4
expect_json '$.jobs[2].offer' null "the third has no place"
expect_json '$.jobs[2].binds' 'budget rate'
expect_json '$.jobs[2].changes[0].to' 3.000000 "so much an hour is missing"
run place
expect_out_has 'binds: budget rate'
run place --explain
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q '3 USD/h more of budget rate would place it'
ok $? "with its unit"
run tick
expect_exit 4
[ "$(rented)" -eq 2 ]
ok $? "two are rented (are $(rented))"
rated 8.000000 0.000000
run budget
expect_out_has '^rate +all +hour +9.00 +8.00 +0.00 +1.00'
run explain "$("$BERTH" --now "$NOW" jobs -o csv --columns id,name | sed -n 's/,third$//p')"
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q 'costs more than is left: the cheapest costs 4.[0-9]* USD at 4.00 an hour, budget rate leaves 1.00 USD an hour\.\|binds: budget rate'
ok $? "why it waits"
run report -o json
run tick --until +3h
expect_exit 0
is first done
is third done
NOW=2026-11-30T03:00:00Z
rated 0.000000 0.000000

# What runs goes on under a lower cap; more than the whole cap never starts, and it is said what would do.
cloud 'zone: a, on_demand: {price: 4, capacity: 4}'
NOW=2026-11-30T00:00:00Z
job runs 4h
run tick
run budget set all --cap 2 --period hour --name rate
job dear 1h
run tick --until +1h
[ "$(rented)" -eq 1 ]
ok $? "what runs goes on"
rated 4.000000 0.000000
expect_json '$.budgets[0].left' -2.000000
run place -o json
expect_exit 4
expect_json '$.jobs[0].refused.over_budget' 1
expect_err_has 'the cheapest costs 4.29 USD at 4.00 an hour, budget rate leaves 0.00 USD an hour'
expect_json '$.jobs[0].changes[0].to' 4.000000
run place --explain
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q '4.00 USD an hour to spend would pay for'
ok $? "what would do, an hour"

# In the scope of a user alone; a job that asks for less goes, where the cheapest by the hour is dearer as a whole.
cloud 'zone: a, on_demand: {price: 4, capacity: 4}' 'zone: b, on_demand: {price: 2, capacity: 4}'
run budget set user:ann --cap 3 --period hour --name rate
job other 1h
run tick
[ "$(rented)" -eq 1 ]
ok $? "nobody else is held back"
rated 0.000000 0.000000

# A plan may bind what the rate leaves over its hours: 10 USD x 672 h are two machines of 4.80, not four.
NOW=2026-11-30T00:00:00Z
b() { run --store plan.db "$@"; }
printf '%s\n' 'provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency' \
	'acme,r1,quad,H100,4,on_demand,,,,8,USD' 'acme,r1,quad,H100,4,reserved,1,none,0,4.8,USD' >offers.csv
b prices import offers.csv
awk 'BEGIN { print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 1008; h++) print 1795996800 - 3600 * (1008 - h) ",16,d,H100" }' >use.csv
b record csv use.csv
b budget set all --cap 10 --period hour
b plan d --no-spot --horizon 4w -o json
expect_json '$.budgets[0].period_s' 3600
expect_json '$.budgets[0].commitments_may_bind' 6720.000000
expect_json '$.series[0].buys[0].count' 2 "two machines"
b plan d --no-spot --horizon 4w
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q 'of the budget all/hour of 10.00 USD an hour, what runs and is being made takes 0.00 USD, and what waits needs 0.00 USD; new commitments may bind 6720.00 USD over the horizon, 10.00 USD an hour'
ok $? "and why"

run budget set all --cap 1 --period fortnight
expect_exit 2
expect_err_has 'hour'
done_testing
