#!/bin/sh
# Spot under a deadline in the tick: wait, take spot, leave for on demand in time; the deadline holds whatever spot does.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/clouds.sh"

# cloud SPOT_CAPACITY ON_DEMAND_CAPACITY
cloud() { zone_cloud "on_demand: {price: 4, capacity: $2}" "spot: {price: 1.2, capacity: $1, notice: 2m}"; }
job() { zone_job "$1"; }
finish() {	# finish DEADLINE: done, and not after it
	run jobs --all -o json
	expect_json '$.jobs[0].state' done
	run jobs --all -o csv --columns finished
	at=$(sed -n 2p "$out")
	[ -n "$at" ] && [ "$(printf '%s\n%s\n' "$at" "2026-11-30T$1Z" | sort | head -1)" = "$at" ]
	ok $? "done at $at, the deadline being $1"
}

# No spot, and hours to spare: it waits, and asks for on demand while that is still in time.
cloud '[[0h, 0]]' '[[0h, 4]]'
job +12h
run tick -o json
expect_exit 0
run instances --all -o json
expect_json '$.instances[0].id' '' "nothing is rented at first"
run jobs -o json
expect_json '$.jobs[0].state' queued
grep -q 'waits for spot' "$out"
ok $? "the queue says that it waits for spot, and until when"
run tick --until +12h --step 2m
expect_exit 0
finish 12:00:00
run instances --all -o csv --columns purchase,created
expect_out_has 'on_demand,2026-11-30T04:5' "on demand from the last safe hour on"

# Spot for three hours, then never again: the rest on demand, in time.
cloud '[[0h, 1], [3h, 0]]' '[[0h, 4]]'
job +12h
run tick --until +12h --step 2m
finish 12:00:00
run instances --all -o csv --columns purchase,created
expect_out_has 'spot,2026-11-30T00:0' "spot at once"

# Spot all the time, but no time to lose: on demand from the start.
cloud '[[0h, 4]]' '[[0h, 4]]'
job +6h30m
run tick --until +7h --step 2m
finish 06:30:00
run instances --all -o csv --columns purchase
expect_out_lacks spot

# A machine on spot is left in time although it was never taken away.
cloud '[[0h, 1], [30m, 0], [1h10m, 1]]' '[[0h, 4]]'
job +8h
run tick --until +9h --step 2m
finish 08:00:00

# Spot is back hours before the deadline: the job leaves on demand for it, once lists have told for an hour that it is back.
cloud '[[0h, 0], [6h, 2]]' '[[0h, 4]]'
job +12h
run tick --until +12h --step 2m
finish 12:00:00
run instances --all -o csv --columns purchase,created
expect_out_has 'on_demand,2026-11-30T04:5' "on demand in time"
expect_out_has 'spot,2026-11-30T07:0' "spot when it has been back for an hour: what is younger is lost too often for the time to spare"
run events --type job.moved -o json
expect_json '$.events[0].type' job.moved
run jobs --all -o csv --columns id
id=$(sed -n 2p "$out")
run explain -n 20 "$id"
expect_out_has 'move j-.*: leaves on demand: spot is back at 30 % of the price' "the move is told"
expect_out_has 'the rest of the work costs [0-9.]+ USD on aurora us-east-1a a1.h100 spot' "and where to, at what cost"
run explain -n 20 "$id" -o json
grep -A400 '"kind": "move"' "$out" | awk '/"progress"/ { gsub(",", ""); p = $2 } /"stay_cost"/ { gsub(",", ""); s = $2 } /"expected_cost"/ { gsub(",", ""); e = $2 }
	/"stay_cost"/ { exit } END { exit !(s > 23.99 * (1 - p) && s < 24.01 * (1 - p) && e > 0.3 * s && e < 0.45 * s) }'
ok $? "staying costs 6 h at 4 USD times what is left, spot some 30 % of that"

# Spot was there when prices were read and is gone when it is asked for: the job waits, as it would have had that been known.
cloud '[[0h, 1], [10m, 0], [3h, 1]]' '[[0h, 4]]'
job +14h
run tick --until +14h --step 2m
finish 14:00:00
run instances --all -o csv --columns purchase,created
expect_out_has 'spot,2026-11-30T03:' "spot when it is back"
expect_out_lacks on_demand

# Writes of the job's own checkpoints are time too: 6 h with a write of 1 min after each 10 but the last are 6 h 35 min, and
# with the start 6 h 40: what is promised at the start holds, whatever spot does.
cloud '[[0h, 1], [1h, 0]]' '[[0h, 4]]'
writes() { sed -i "s/^deadline: .*/deadline: $1/; s/write: 10s/write: 60s/" job.yaml; run submit job.yaml -o json; }
job +8h
run -y job cancel "$(json '$.jobs[0].id')"
expect_exit 0
writes +6h38m
late=$(json '$.jobs[0].id')
run place
expect_exit 3
expect_err_has 'would end after the deadline: the first possible end is 2026-11-30T06:40:00Z'
run -y job cancel "$late"
expect_exit 0
writes +8h
run tick --until +9h --step 2m
run jobs --all -o csv --columns state,finished
awk -F, '$1 == "done" { n++; late += $2 > "2026-11-30T08:00:00Z" } END { exit !(n == 1 && late == 0) }' "$out"
ok $? "with all its writes the job ends before the deadline"

# On demand is sold out when it is needed: said aloud, and any machine is taken.
cloud '[[0h, 0], [1h30m, 1]]' '[[0h, 0]]'
job +8h
run tick --until +9h --step 2m
run events --type job.deadline_at_risk -o json
expect_json '$.events[0].type' job.deadline_at_risk
run instances --all -o csv --columns purchase
expect_out_has spot
done_testing
