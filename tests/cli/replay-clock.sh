#!/bin/sh
# Plans and placements are made again from what they were made from, whatever the clocks said: prices and jobs of a time
# after their own, and what came later by a clock that stood before it.
. "$TOP_SRCDIR/tests/cli/lib.sh"

HERE=2026-11-30T12:00:00Z AHEAD=2026-12-03T09:00:00Z BEHIND=2026-11-29T06:00:00Z
at() { NOW=$1; shift; run --store "$db" "$@"; expect_exit 0; }
db=new.db
prices() {	# prices CLOCK RESERVED ON-DEMAND: of machines of 4, and of one that the series can not use
	cat >offers.csv <<-CSV
	provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour
	acme,r1,quad,H100,4,on_demand,,,,$3
	acme,r1,quad,H100,4,reserved,12,none,,$2
	acme,r1,quad,H100,4,reserved,48,none,,$2
	acme,r1,one,L4,1,on_demand,,,,$3
	CSV
	at "$1" prices import offers.csv
}
at "$AHEAD" init --no-prices
# Eight GPUs at all hours of the six weeks before: two machines.
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 0; h < 42 * 24; h++) print 1796040000 - 42 * 86400 + 3600 * h ",8,flat,H100" }' >use.csv
at "$AHEAD" record csv use.csv
prices "$AHEAD" 5 8
again() {	# again WHEN: the plan comes out the same
	at "$HERE" plan --replay "$id"
	expect_out_has "^Plan $id comes out the same, byte for byte" "$1: the plan comes out the same"
}
at "$HERE" plan flat --no-spot --paths 20 -o json
id=$(json '$.id')
expect_json '$.series[0].buys[0].count' 2
expect_json '$.series[0].offers_seen' 4
expect_json '$.series[0].refused.accelerator' 1
again "prices of a later clock"
at "$HERE" plan --approve "$id" --dry-run -o json
expect_json '$.commitments[0].count' 2
expect_json_near '$.commitments[0].price_per_hour' 5 0
prices "$BEHIND" 7 7.5
again "other prices by an earlier clock"
prices "$AHEAD" 2 9
again "other prices by the first clock"
at "$AHEAD" prices drop offers.csv
again "no prices at all"

# A plan of an earlier berth did not keep its offers: those of its time count, as they did for it.
if command -v sqlite3 >/dev/null; then
	db=old.db
	at "$BEHIND" init --no-prices
	at "$HERE" record csv use.csv
	prices "$BEHIND" 5 8
	at "$HERE" plan flat --no-spot --paths 20 -o json
	id=$(json '$.id')
	prices "$AHEAD" 6 8
	sqlite3 "$db" "UPDATE plan SET inputs = json_remove(inputs, '\$.offers', '\$.other_offers') WHERE id = $id"
	[ "$(sqlite3 "$db" "SELECT count(*) FROM plan WHERE inputs NOT LIKE '%offers%'")" -eq 1 ]
	ok $? "the plan has lost its offers"
	again "by time"
	run --store "$db" plan --approve "$id" --dry-run
	expect_exit 6
	expect_err_has 'is 6.0000 USD an hour used all the time now, it was 5.0000'
	db=new.db
else
	skip "a plan that did not keep its offers" "no sqlite3"
fi

prices "$AHEAD" 5 8
# A job that is submitted by a later clock is there for a placement, and for its replay; one that comes later by an earlier
# clock is not.
job() {	# job CLOCK NAME
	printf 'schema: berth.job/1\nname: %s\nuser: ann\naccelerators: "H100:4"\nwork: 2h\nrun: x\n' "$2" >job.yaml
	at "$1" submit job.yaml
}
whole() {	# whole WHEN: the placement comes out the same, with its job
	at "$HERE" place --replay "$made"
	expect_out_has "^Placement $made comes out the same, byte for byte" "$1: the placement comes out the same"
}
job "$AHEAD" late
at "$HERE" place -o json
expect_json '$.jobs[0].name' late
expect_json_near '$.jobs[0].offer.price_per_hour' 8 0
made=$("$BERTH" --now "$HERE" --store "$db" store export decision | sed -n 's/.*"id":\([0-9]*\),.*"kind":"placement".*/\1/p' | tail -1)
whole "a job and prices of a later clock"
job "$BEHIND" early
prices "$BEHIND" 6 7
whole "another job, and other prices, by an earlier clock"
at "$AHEAD" job cancel late -y
whole "a job that was cancelled"
at "$HERE" place -o json
made=$("$BERTH" --now "$HERE" --store "$db" store export decision | sed -n 's/.*"id":\([0-9]*\),.*"kind":"placement".*/\1/p' | tail -1)
expect_json '$.jobs[0].name' early
whole "beside one that was closed at a later time"
done_testing
