#!/bin/sh
# What machines on an owned commitment cost: nothing, or the price of use, until it ends; what it cost itself stands apart.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/queue.sh"

cloud() {	# cloud TO USAGE [POOL]: a cloud of H100 at 4 USD an hour that start in 3 minutes, one owned until TO
	home "accounts: [{name: sky, provider: replay, trace: $PWD/one.trace}]"
	printf 'schema: berth.replay/1\nstart: %s\npools:\n' "$NOW" >one.trace
	echo "  - {provider: aurora, region: r, zone: a, instance_type: h100, accelerator: H100-SXM5-80GB, accelerator_count: 1, startup: [3m, 3m], on_demand: {price: 4, capacity: 4}${3:+, $3}}" >>one.trace
	begin
	printf 'provider,region,instance_type,accelerator,count,from,to,upfront,price_per_hour,usage_price_per_hour\naurora,r,h100,H100-SXM5-80GB,1,2026-11-30T00:00:00Z,%s,0,2,%s\n' "$1" "$2" >own.csv
	run commitments import own.csv
	expect_exit 0
}
job() {	# job NAME WORK [LINE...]
	printf 'schema: berth.job/1\nname: %s\naccelerators: "H100-SXM5-80GB:1"\nwork: %s\nrun: x\n' "$1" "$2" >job.yaml
	shift 2
	for line; do echo "$line" >>job.yaml; done
	run submit job.yaml
}
cap() { run budget set all --cap "$1" --period "${2-total}" --name lid; }
money() {	# money SPENT RESERVED TEXT
	run budget -o json
	expect_json_near '$.budgets[0].spent' "$1" 2e-6 "$3: spent"
	expect_json_near '$.budgets[0].reserved' "$2" 2e-6 "$3: reserved"
}

# Reserved alone: the owned machine while it is free and lasts, and none else.
cloud 2026-11-30T06:00:00Z 0
job own 2h 'purchase: [reserved]'
job second 2h 'purchase: [reserved]'
job long 7h 'purchase: [reserved]'
run place -o json
expect_exit 3
expect_json '$.jobs[0].name' own
expect_json '$.jobs[0].offer.paid' true
expect_json '$.jobs[0].offer.purchase' on_demand
expect_json '$.jobs[0].offer.charged_as' reserved
expect_json '$.jobs[0].expected_cost' 0.000000
expect_json '$.jobs[1].offer' null "there is one machine"
expect_json '$.jobs[1].refused.no_capacity' 1
expect_json '$.jobs[2].offer' null "the commitment ends before this job"
expect_json '$.jobs[2].refused.purchase' 2
run place
expect_out_has '^j-.* own .* reserved\*  '
expect_out_has '^\* on a machine of an owned commitment'
run place -o csv --columns name,purchase
expect_out_has '^own,on_demand$'
run tick --until +2h3m
NOW=2026-11-30T02:03:00Z
is own 'done'
run jobs --all -o csv --columns name,cost
expect_out_has '^own,0'
NOW=2026-11-30T00:00:00Z

# Without a cent: a job on the owned machine runs to its end, the next one waits for money.
cloud 2027-06-01 0
cap 0
job free 2h 'max_cost: 0.01'
job dear 1h
run tick
expect_exit 4
run instances -o csv --columns purchase,price_per_hour,job
expect_lines 2 "one machine"
expect_out_has '^reserved,0\.000000,'
run instances -o json
expect_json '$.instances[0].purchase' on_demand
expect_json '$.instances[0].price_per_hour' 0.000000
expect_json '$.instances[0].paid_until' 2027-06-01T00:00:00Z
money 0 0 "nothing is asked of the budget"
run tick --until +2h3m
NOW=2026-11-30T02:03:00Z
is free 'done'
run jobs --all -o json
expect_json_near '$.jobs[0].cost' 0 0
run budget ledger
expect_lines 1 "nothing is booked"
run report --from 2026-11-30T00:00:00Z --to 2026-11-30T02:00:00Z -o json
expect_json '$.spent' 0.000000
expect_json '$.commitments.owned' 1
expect_json '$.commitments.cost' 4.000000 "two hours of the commitment at 2 USD"
expect_json_near '$.commitments.machine_hours' 2 1e-6
expect_json_near '$.commitments.used_machine_hours' 2 1e-6
run report --from 2026-11-30T00:00:00Z --to 2026-11-30T02:00:00Z
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q 'apart from that, 1 commitment cost \$4.00 in the period, used or not: 2.0 of 2.0 machine-hours were used'
ok $? "the report tells of it apart"
run tick
is dear placed
expect_exit 0 "the machine that is free again takes it"

# The price of use: 0.5 x 2 h 5 min are reserved, 2 h 3 min booked. A max_price of 1 is no matter, the hour costs 0.5.
NOW=2026-11-30T00:00:00Z
cloud 2027-06-01 0.5
cap 3
job used 2h 'max_cost: 1.1' 'max_price: 1'
run tick
expect_exit 0
money 0 1.041667 "the price of use"
run tick --until +3h
NOW=2026-11-30T03:00:00Z
money 1.025 0 "the price of use"
run report -o json
expect_json '$.by_purchase.reserved' 1.025000
expect_json '$.against_on_demand.on_demand_cost' 8.200000

# Below the price of use even the owned machine asks too much: by that, not by what it would cost on demand.
job low 1h 'max_price: 0.4'
run place --explain
expect_exit 3
expect_out_has 'the cheapest asks 0\.5 USD an hour'
expect_out_has 'a max_price of 0\.5 USD an hour would allow aurora a h100 reserved, paid for 0\.54 USD'

# The commitment ends under way, and a month before: 1.5 h at 0.5 are November's; 1 h at 0.5, then 1.55 h at 4 December's.
NOW=2026-11-30T22:30:00Z
cloud 2026-12-01T01:00:00Z 0.5
cap 9 month
job ends 4h
run tick
money 0 7.583333 "2.5 h at 0.5, 1 h 35 min at 4"
run tick --until +5h
NOW=2026-12-01T03:30:00Z
is ends 'done'
money 6.7 0 "in December"
run report --from 2026-11-30T00:00:00Z --to 2026-12-02T00:00:00Z -o json
expect_json '$.by_purchase.reserved' 1.250000 "2.5 h at 0.5"
expect_json '$.by_purchase.on_demand' 6.200000 "1.55 h at 4"
NOW=2026-11-30T23:59:59Z
run budget -o json
expect_json_near '$.budgets[0].spent' 0.75 2e-6 "in November"

# A max_price holds for the hours after the end as well.
NOW=2026-11-30T00:00:00Z
cloud 2026-11-30T01:00:00Z 0.5
job beyond 4h 'max_price: 1'
run place --explain
expect_exit 3
expect_out_has 'the cheapest asks 4 USD an hour'
expect_out_has 'a max_price of 4 USD an hour would allow'
job within 50m 'max_price: 1'
run tick
is beyond queued
is within placed

# What is paid is not left for spot, however cheap that is.
NOW=2026-11-30T00:00:00Z
cloud 2027-06-01 0 'spot: {price: 1.2, capacity: 4, notice: 2m}'
job stays 3h 'deadline: +24h' 'checkpoint: {size: 8GB, write: 10s, interval: 10m}' 'restart: 3m' 'purchase: [spot, on_demand]'
run tick --until +2h
NOW=2026-11-30T02:00:00Z
run instances --all -o csv --columns purchase,cost
expect_lines 2
expect_out_has '^reserved,0\.00'
is stays running

# A machine that runs when its commitment is imported: 4 USD until then, 0.5 an hour from then on; the younger one stays on demand.
NOW=2026-11-30T00:00:00Z
cloud 2027-06-01 0
run commitments delete 1
cap 99
job before 5h
run tick
job younger 3h
run tick --until +1h
NOW=2026-11-30T01:00:00Z
own() {	# own FROM USAGE
	printf 'provider,region,instance_type,accelerator,count,from,to,upfront,price_per_hour,usage_price_per_hour\naurora,r,h100,H100-SXM5-80GB,1,%s,2027-06-01T00:00:00Z,0,2,%s\n' "$1" "$2" >own.csv
	run commitments import own.csv
	expect_exit 0
}
own 2026-11-30T00:00:00Z 0.5
run tick --until +1h
NOW=2026-11-30T02:00:00Z
run instances -o json
expect_json_near '$.instances[0].cost' 4.45 0.1 "written in steps of ten minutes"
expect_json_near '$.instances[1].cost' 7.7 0.34
run events --type instance.owned -o csv --columns subject
expect_lines 2 "told of one"
run tick --until +5h
NOW=2026-11-30T07:00:00Z
is before 'done'
run report --from 2026-11-30T00:00:00Z --to 2026-12-01T00:00:00Z -o json
expect_json_near '$.by_purchase.reserved' 2.025 2e-6 "4 h 3 min at 0.5"
expect_json_near '$.by_purchase.on_demand' 16.2 2e-6 "an hour of the first, 3 h 3 min of the second at 4"
expect_json_near '$.commitments.used_machine_hours' 4.05 1e-6
run store check
expect_exit 0

# One that begins while it runs, between two ticks: 2.5 h at 4, the rest for nothing.
NOW=2026-11-30T00:00:00Z
cloud 2027-06-01 0
run commitments delete 1
own 2026-11-30T02:30:00Z 0
job under 5h
for h in 0 1 2 3 4; do
	NOW=2026-11-30T0$h:00:00Z
	run tick
done
run instances -o json
expect_json_near '$.instances[0].cost' 10 1e-6
run report --from 2026-11-30T00:00:00Z --to 2026-12-01T00:00:00Z -o json
expect_json_near '$.by_purchase.on_demand' 10 2e-6

# More than any amount can say is refused with its line, so that reports can tell of all that is there.
printf 'provider,region,accelerator,count,from,to,price_per_hour\naurora,r,L4,2,2026-01-01,2027-01-01,1\naurora,r,L4,1000000,2000-01-01,2100-01-01,99999\n' >huge.csv
run commitments import huge.csv
expect_exit 1
expect_err_has 'column count: .*more than 9\.2e12 USD'
expect_err_has 'huge\.csv:3'
run report
expect_exit 0

# One of which nobody said what it cost is no free one: 3 USD are those of the other, that was paid upfront.
rm -rf "$HOME/.config" "$HOME/.local"
run init --no-prices
printf 'provider,region,accelerator,count,from,to,upfront\naurora,r,L4,1,2026-11-29T00:00:00Z,2026-11-30T00:00:00Z,\naurora,r,H100,1,2026-11-29T00:00:00Z,2026-11-30T00:00:00Z,3\n' >quiet.csv
run commitments import quiet.csv
run commitments import quiet.csv
run commitments --all -o json
expect_json '$.commitments[0].price_per_hour' null
expect_json '$.commitments[1].price_per_hour' 0.000000
expect_json '$.commitments[2].id' ''
run report -o json
expect_json '$.commitments.cost' 3.000000
expect_json '$.commitments.without_price' 1
run report
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q 'commitments cost $3.00 in the period, used or not: 0.0 of 48.0 machine-hours were used; 1 without a price left out'
ok $? "that is said"
run report --html quiet.html
grep -q '0 of 48 machine-hours used; 1 without a price left out' quiet.html
ok $? "on the page too"

# What is over a cap reads as over it: 4 x 1 h 5 min = 4.333333.
cloud 2027-06-01 0
run commitments delete 1
job cent 1h 'max_cost: 4.33'
run place
expect_err_has 'the cheapest costs 4\.34 USD, its max_cost leaves 4\.33'
run tick
run jobs -o csv --columns reason
expect_out_has 'the cheapest costs 4\.34 USD, its max_cost leaves 4\.33'
run job cancel "$("$BERTH" --now "$NOW" jobs -o csv --columns id | tail -n 1)"
job fits 1h 'max_cost: 4.333333'
run place
expect_exit 0
run job cancel "$("$BERTH" --now "$NOW" jobs -o csv --columns id | tail -n 1)"
job short 1h
cap 4.333332
run place
expect_exit 4
expect_err_has 'the cheapest costs 4.34 USD, budget lid leaves 4.33\.'
cap 4.333333
run tick
expect_exit 0
run store check
expect_exit 0
done_testing
