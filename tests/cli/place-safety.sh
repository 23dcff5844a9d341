#!/bin/sh
# Spot under a deadline with the money of a budget behind it. On demand: 2 h, 11 writes of 10 s and a start of 5 min, at 4 USD an
# hour: 8.455556 USD. A launch in vain: start 10 min, restart 3 min, write 10 s, ticks 2 min, 10 min since the last write, at 1.2:
# 0.503333. Together 8.958889.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

cloud() {	# cloud POOL
	rm -rf "$HOME/.config" "$HOME/.local"
	mkdir -p "$HOME/.config/berth"
	printf 'schema: berth.replay/1\nstart: %s\npools:\n' "$NOW" >one.trace
	echo "  - {provider: aurora, region: r, zone: a, instance_type: h100, accelerator: H100-SXM5-80GB, accelerator_count: 1, startup: [3m, 3m], on_demand: {price: 4, capacity: 4}, $1}" >>one.trace
	printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/one.trace}\n' "$PWD" >.config/berth/berth.yaml
	run init --no-prices
	run prices refresh
}
job() {	# job NAME WORK [LINE...]
	printf 'schema: berth.job/1\nname: %s\naccelerators: "H100-SXM5-80GB:1"\nwork: %s\nrun: x\n' "$1" "$2" >job.yaml
	shift 2
	for line; do echo "$line" >>job.yaml; done
	run submit job.yaml
}
late() { job late 2h 'deadline: +5h' 'checkpoint: {size: 8GB, write: 10s, interval: 10m}' 'restart: 3m' 'purchase: [spot, on_demand]' "$@"; }
cap() { run budget set all --cap "$1" --period total --name lid; }
is() {	# is NAME STATE
	s=$("$BERTH" --now "$NOW" jobs --all -o csv --columns name,state | sed -n "s/^$1,//p")
	[ "$s" = "$2" ]
	ok $? "$1 is $2 (is $s)"
}
rented() { "$BERTH" --now "$NOW" instances --all -o csv --columns purchase | tail -n +2 | tr '\n' ' '; }
are() {	# are PURCHASES
	[ "$(rented)" = "$1" ]
	ok $? "rented: $1(are $(rented))"
}
reserved() {
	run budget -o json
	expect_json_near '$.budgets[0].reserved' "$1" 2e-6 "reserved"
}
up='spot: {price: 1.2, capacity: 1, notice: 2m}'

# A cent short of both: on demand at once. Short of on demand: not begun. Enough: spot, and all of it is reserved.
cloud "$up"
cap 8.95
late
run place -e
expect_out_has 'on demand now: spot may fail, and then 8\.96 USD would be needed'
run tick
expect_exit 0
are 'on_demand '
reserved 8.455556
cloud "$up"
cap 8.45
late
run tick
expect_exit 4
are ''
run place -o json
expect_exit 4
expect_out_has '8\.96 USD must be there for that, the budgets leave 8\.45' "it says what lacks"
expect_out_has '"to": ?8\.958889'
cloud "$up"
cap 8.96
late
run place -o json
expect_json_near '$.jobs[0].offer.reserve' 8.958889 2e-6
run tick
expect_exit 0
are 'spot '
reserved 8.958889

# Spot goes after an hour for good: nobody has had the money in between, and on demand ends the work in time.
cloud 'spot: {price: 1.2, capacity: [[0h, 1], [1h, 0]], notice: 2m}'
cap 9.9
late
job other 1h
run tick --until +50m
expect_exit 4
is late running
is other queued
run budget -o json
awk -v r="$(json '$.budgets[0].reserved')" 'BEGIN { exit !(r > 5.6 && r < 7.5) }'
ok $? "with less work left, less is kept: $(json '$.budgets[0].reserved')"
NOW=2026-11-30T00:50:00Z
run tick --until +4h
is late 'done'
is other queued
NOW=2026-11-30T00:00:00Z
[ "$("$BERTH" --now "$NOW" events -n 0 --type job.deadline_at_risk -o csv --columns t | tail -n +2 | wc -l)" -eq 0 ]
ok $? "the deadline was never at risk"

# A gang keeps as much for each of its machines, and less as the work is done.
cloud 'spot: {price: 1.2, capacity: 4, notice: 2m}'
cap 40
late 'nodes: 2'
run tick
are 'spot spot '
reserved 17.917778
run tick --until +50m
NOW=2026-11-30T00:50:00Z
is late running
run budget -o json
awk -v r="$(json '$.budgets[0].reserved')" 'BEGIN { exit !(r > 11.2 && r < 15) }'
ok $? "with less work left, less is kept for a gang: $(json '$.budgets[0].reserved')"
run tick --until +3h
is late 'done'
NOW=2026-11-30T04:00:00Z
run budget -o json
expect_json '$.budgets[0].reserved' 0.000000
NOW=2026-11-30T00:00:00Z

# What waits for spot keeps the money from those behind it, not from those before it (1.333333 and 1 USD).
cloud 'spot: {price: 1.2, capacity: [[0h, 0]], notice: 2m}'
cap 9.98
late
job behind 15m
run tick
expect_exit 4
are ''
job before 10m 'priority: 5'
run tick
expect_exit 4
are 'on_demand '
is before placed
is late queued
is behind queued
done_testing
