#!/bin/sh
# Spot under the deadline of a job behind: one without a deadline of its own takes spot, and leaves it, so that who waits for it can
# keep theirs. Six hours on spot or on demand, then an hour on demand: with two start-ups some 7 h 15 min at the least.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/clouds.sh"

cloud() { zone_cloud "on_demand: {price: 4, capacity: $2}" "spot: {price: 1.2, capacity: $1, notice: 2m}"; }
first() {	# first [LINE...]
	printf 'schema: berth.job/1\nname: figures\naccelerators: ["H100-SXM5-80GB:1"]\nwork: 6h\ncheckpoint: {size: 8GB, write: 10s, interval: 10m}\nrestart: 3m\npurchase: [spot, on_demand]\nrun: x\n' >figures.yaml
	for line; do echo "$line" >>figures.yaml; done
}
behind() {	# behind NAME AFTER [LINE...]
	printf 'schema: berth.job/1\nname: %s\naccelerators: ["H100-SXM5-80GB:1"]\nwork: 1h\npurchase: [on_demand]\nrun: x\nafter: {job: %s}\n' "$1" "$2" >"$1.yaml"
	name=$1
	shift 2
	for line; do echo "$line" >>"$name.yaml"; done
}
id_of() { "$BERTH" --now "$NOW" jobs --all -o csv --columns name,id | sed -n "s/^$1,//p"; }
rented() { run instances --all -o csv --columns job,purchase,created; }
in_time() {	# in_time NAME TIME: done, and not after it
	at=$("$BERTH" --now "$NOW" jobs --all -o csv --columns name,state,finished | sed -n "s/^$1,done,//p")
	[ -n "$at" ] && [ "$(printf '%s\n%s\n' "$at" "2026-11-30T$2Z" | sort | head -1)" = "$at" ]
	ok $? "$1 is done at $at, its deadline being $2"
}

# Spot is there, but no time to lose it: on demand from the start, for the sake of the one behind, and it says whose deadline that is.
cloud '[[0h, 4], [1h, 0]]' '[[0h, 4]]'
first
behind train figures 'deadline: +7h40m'
run submit figures.yaml train.yaml
run place -e
expect_out_has "on demand now, for losing a spot machine could break the deadline of train \($(id_of train)\)"
run tick
rented
expect_out_has ",on_demand,"
expect_out_lacks ,spot,
run explain "$(id_of figures)"
expect_out_has "could break the deadline of train \($(id_of train)\)"
run explain "$(id_of figures)" -o json
expect_json '$.decisions[0].decision.deadline_of' "$(id_of train)"
run place --replay "$(id_of figures)"
expect_out_has 'comes out the same, byte for byte'
run tick --until +8h --step 2m
in_time train 07:40:00

# With hours to spare it takes spot, and says until when.
cloud '[[0h, 4]]' '[[0h, 4]]'
behind train figures 'deadline: +14h'
run submit figures.yaml train.yaml
run tick
rented
expect_out_has ',spot,'
run explain "$(id_of figures)"
expect_out_has "on demand from 2026-11-30T.* at the latest if it is lost for the deadline of train"
run tick --until +14h --step 2m
in_time train 14:00:00

# From further behind: check has the deadline, train has none.
cloud '[[0h, 4]]' '[[0h, 4]]'
behind train figures
behind check train 'deadline: +8h45m'
run submit figures.yaml train.yaml check.yaml
run tick
rented
expect_out_lacks ,spot,
run tick --until +9h --step 2m
in_time check 08:45:00

# A deadline behind it that nothing can keep any more is no reason to pay more.
cloud '[[0h, 4]]' '[[0h, 4]]'
behind train figures 'deadline: +6h'
run submit figures.yaml train.yaml
run tick
rented
expect_out_has ,spot,

# It runs on spot when the one behind it is submitted: it leaves in time.
cloud '[[0h, 4], [3h, 0]]' '[[0h, 4]]'
run submit figures.yaml
run tick --until +1h --step 2m
NOW=2026-11-30T01:00:00Z
behind train figures 'deadline: 2026-11-30T07:26:00Z'
run submit train.yaml
run tick --until +7h --step 2m
rented
expect_out_has ',on_demand,2026-11-30T01:'
in_time train 07:26:00
run explain -n 20 "$(id_of figures)"
expect_out_has "move j-.*: leaves spot: the deadline of train \($(id_of train)\) would be lost with this machine"
run explain -n 20 "$(id_of figures)" -o json
expect_out_has "\"deadline_of\": \"$(id_of train)\""
NOW=2026-11-30T00:00:00Z

# Its own deadline binds where that is the earlier one.
cloud '[[0h, 4]]' '[[0h, 4]]'
first 'deadline: +6h30m'
behind train figures 'deadline: +14h'
run submit figures.yaml train.yaml
run tick
run explain "$(id_of figures)"
expect_out_has 'could break the deadline \('
expect_out_lacks 'deadline of train'
done_testing
