#!/bin/sh
# A fleet and a gang that want the same four machines: by priority, within one quota or one budget, and never half a gang.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

world() {	# world CAPACITY LINE...: a fresh home with a pool of L4 machines; three replicas are asked for, lines end the config
	rm -rf "$HOME/.config" "$HOME/.local"
	NOW=2026-11-30T00:00:00Z
	mkdir -p "$HOME/.config/berth"
	printf 'schema: berth.replay/1\nstart: %s\npools:\n  - {provider: aurora, region: r, zone: a, instance_type: l4, accelerator: L4, accelerator_count: 1, startup: [3m, 3m], on_demand: {price: 1, capacity: %s}}\n' \
		"$NOW" "$1" >one.trace
	shift
	{
		printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/one.trace}\n' "$PWD"
		printf 'fleets:\n  - {name: chat, job: %s/chat.yaml, max: 5, unit: 1, metric: {series: load, stale: 1d}}\n' "$PWD"
		for line; do echo "$line"; done
	} >.config/berth/berth.yaml
	run init --no-prices
	run prices refresh
	printf 'timestamp,gpus,series\n%s,3,load\n' 2026-11-29T23:55:00Z >load.csv
	run record csv load.csv --step 5m
}
file() {	# file NAME PRIORITY WORK [LINE]
	printf 'schema: berth.job/1\nname: %s\naccelerators: "L4:1"\npriority: %s\nwork: %s\npurchase: [on_demand]\nrun: x\n%s\n' "$1" "$2" "$3" \
		"${4-}" >"$1.yaml"
}
up() {	# up NAME: machines that jobs of this name hold now
	"$BERTH" --now "$NOW" jobs -o csv --columns id,name | sed -n "s/,$1$//p" >ids
	"$BERTH" --now "$NOW" instances -o csv --columns job | grep -cFxf ids
}
expect_up() {	# expect_up CHAT GANG NAME
	chat=$(up chat) gang=$(up gang)
	[ "$chat" = "$1" ] && [ "$gang" = "$2" ]
	ok $? "$3: $1 replicas and $2 machines of the gang (are $chat and $gang)"
}
quota='limits: [{name: cloud, unit: machine, limit: 4}]'

for what in quota pool budget; do
	case $what in
	quota) set -- 9 "$quota" ;;
	pool) set -- 4 ;;
	budget) set -- 9 ;;
	esac
	# The gang goes first: 3 x 2 h; a replica takes what is left, and the others follow when the gang is done.
	file chat 0 2h
	file gang 9 2h 'nodes: 3'
	world "$@"
	[ $what = budget ] && run budget set all --cap 8.5 --period total	# four at 2 h 5 min are 8.33 USD
	run submit gang.yaml
	run tick
	run tick --until +30m
	NOW=2026-11-30T00:30:00Z
	expect_up 1 3 "$what, the gang goes first"
	run tick --until +2h
	NOW=2026-11-30T02:30:00Z
	[ "$(up gang)" -eq 0 ]
	ok $? "$what: the gang is done and holds nothing"
	[ $what = budget ] || { [ "$(up chat)" -eq 3 ]; ok $? "$what: then the fleet has its three: $(up chat)"; }

	# The replicas go first: one machine is left, which is no gang; none is held for it.
	file chat 9 2h
	file gang 0 2h 'nodes: 3'
	world "$@"
	[ $what = budget ] && run budget set all --cap 8.5 --period total
	run submit gang.yaml
	run tick
	run tick --until +30m
	NOW=2026-11-30T00:30:00Z
	expect_up 3 0 "$what, the fleet goes first"
	run jobs -o csv --columns name,state
	expect_out gang,queued
done
done_testing
