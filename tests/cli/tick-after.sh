#!/bin/sh
# A tick puts the first job of a chain where `berth place` does: those behind it are kept in view, and take nothing.
# Start-ups take 5 min. prep: 5 h on slow (50.83 USD) or 2 h on fast (125 USD); train: 7 h 42 min on slow, 3 h on fast.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/chain.sh"

rents() {	# rents TYPE... : machines so far, in the order of their names
	run instances --all -o csv --columns type
	[ "$(sed 1d "$out" | sort | tr '\n' ' ')" = "$(printf '%s ' "$@")" ]
	ok $? "so far it rented: $* (is $(sed 1d "$out" | tr '\n' ' '))"
}
newest() { "$BERTH" --now "$NOW" store export decision | sed -n "s/.*\"id\":\\([0-9]*\\),.*\"kind\":\"$1\".*/\\1/p" | tail -1; }
comes_out() {	# comes_out KIND: the newest decision of that kind is made again, byte for byte
	run place --replay "$(newest "$1")"
	expect_exit 0
	expect_out_has "comes out the same, byte for byte"
}
chain() {	# chain LINE-OF-TRAIN [LINE OF berth.yaml]: place, then one tick
	chain_cloud "$2"
	chain_job prep 5h 2h
	chain_job train 7h42m 3h 'after: {job: prep}' "$1"
	run submit prep.yaml train.yaml
	run place -o json
	first=$(json '$.jobs[0].offer.instance_type')
	run tick -o json
	expect_json '$.placed' 1
}

# Alone it goes where it is cheapest; one behind it that has all the time changes nothing.
chain 'priority: 0'
rents slow
chain 'deadline: +20h'
rents slow

# A deadline that only a fast first job keeps.
chain 'deadline: +10h'
[ "$first" = fast ]
ok $? "place puts prep on fast"
rents fast
run jobs -o json
prep=$(json '$.jobs[0].id') train=$(json '$.jobs[1].id')
expect_json '$.jobs[1].state' queued
expect_json '$.jobs[1].reason' "waits until $prep is done" 'the one behind it waits as ever'
run explain "$prep"
expect_out_has "slow on_demand would cost 74.17 USD less, but train \\($train\\) behind it would miss its deadline"
run explain "$prep" -o json
expect_json '$.decisions[0].decision.refused.deadline' 1
expect_json '$.decisions[0].decision.must_end' 2026-11-30T06:55:00Z 'three hours and a start-up before the deadline'
expect_json '$.decisions[0].decision.deadline_of' "$train"
run explain "$train"
expect_out_has "waits until $prep is done"
run explain placement -o json
expect_json '$.decisions[0].decision.total_cost' 125 'the placement costs what it rents'
expect_out_lacks "$train"
comes_out place
comes_out wait
comes_out placement
run tick --until +10h --step 1m
run jobs --all -o csv --columns name,state,finished
expect_out_has 'train,done,2026-11-30T09:' 'train is done in time'

# With a deadline an hour before, the second is to be fast: so the first is not.
chain 'deadline: +9h'
[ "$first" = slow ]
ok $? "place puts prep on slow"
rents slow
run tick --until +9h --step 1m
run jobs --all -o csv --columns name,state
expect_out_has 'train,done'

# From further behind.
chain_cloud
chain_job prep 5h 2h
chain_job train 7h42m - 'after: {job: prep}'
chain_job check 1h - 'after: {job: train}' 'deadline: +12h'
run submit prep.yaml train.yaml check.yaml
run tick
rents fast
comes_out placement

# Those in view take no quota, no rate of spending and no money of those that go now.
chain 'deadline: +10h' 'limits: [{name: gpus, provider: aurora, unit: gpu, limit: 8}]'
rents fast
chain_cloud
run budget set all -c 130 -p total
chain_job prep 5h 2h
chain_job train 7h42m 3h 'after: {job: prep}' 'deadline: +10h'
chain_job beside 9h 1h 'priority: -1'
run submit prep.yaml train.yaml beside.yaml
run tick -o json
expect_json '$.placed' 1
rents fast
chain_cloud
run budget set all -c 260 -p total
run submit prep.yaml train.yaml beside.yaml
run tick -o json
expect_json '$.placed' 2 'the money that is left goes to who can have it now'
rents fast fast
comes_out placement

# Nor a turn of fair shares: who waits is named in none.
chain_cloud 'fair_share: {by: user, half_life: 7d}'
chain_job prep 5h 2h 'user: ann'
chain_job train 7h42m 3h 'after: {job: prep}' 'deadline: +10h' 'user: bob'
run submit prep.yaml train.yaml
run tick
rents fast
run explain placement -o json
expect_out_has ann
expect_out_lacks bob
comes_out placement
comes_out wait
done_testing
