#!/bin/sh
# A gang that loses one machine and keeps the others: one create follows, of the lost rank, and the work goes on from its
# last checkpoint on all; without the key, or where none is to be had in time, the whole gang is queued. A tick that is
# killed anywhere leaks nothing and rents nothing twice.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

world() {	# world TEXT: a fresh store over a cloud of these pools
	rm -rf .local .config/berth
	mkdir -p .config/berth
	printf 'schema: berth.config/1\naccounts:\n  - {name: sim, provider: replay, trace: sim.trace}\n' >.config/berth/berth.yaml
	printf 'schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\n%s\n' "$1" >.config/berth/sim.trace
	NOW=2026-11-30T00:00:00Z
	run init --no-prices
	run prices refresh
}
pool() {	# pool ZONE HOW [STARTUP]
	printf '  - {region: west, zone: %s, instance_type: h100x8, accelerator: H100-SXM5-80GB, accelerator_count: 8,\n     accelerator_memory_gib: 80, startup: %s, %s}\n' "$1" "${3-2m}" "$2"
}
job() {	# job NAME NODES [LINE...]: its id in the file of that name
	printf 'schema: berth.job/1\nname: %s\naccelerators: "H100:8"\nnodes: %s\nwork: 2h\nrun: make\n' "$1" "$2" >job.yaml
	name=$1
	shift 2
	[ $# = 0 ] || printf '%s\n' "$@" >>job.yaml
	"$BERTH" --now "$NOW" submit job.yaml | cut -d' ' -f1 >"$name"
}
at() {	# at HH:MM COMMAND...
	NOW=2026-11-30T$1:00Z
	shift
	run "$@"
}
until_at() {	# until_at HH:MM: minute by minute
	from=$(date -u -d "$NOW" +%s)
	to=$(date -u -d "2026-11-30T$1:00Z" +%s)
	run tick --until "+$(((to - from) / 60))m" --step 1m
	NOW=2026-11-30T$1:00Z
}
count() {	# count EVENT: how many there are
	"$BERTH" --now "$NOW" events -n 0 -o csv --columns type --no-headers | grep -c "^$1\$"
}
held() {
	"$BERTH" --now "$NOW" instances -o csv --columns id --no-headers | wc -l | tr -d ' '
}
ckpt='checkpoint: {size: 1GB, write: 10s, interval: 5m}'
spot='spot: {price: 5, capacity: 9, preempt: [31m], notice: 1m}'

# One of four is taken back: three are kept.
world "pools:
$(pool a "$spot, on_demand: {price: 10, capacity: 9}")"
job kept 4 "$ckpt" 'replace_lost: 30m'
until_at 00:31
run job "$(cat kept)" -o json
expect_json '$.state' placed "a gang that lost a machine waits for another"
expect_json '$.machines_up' 3 "three of its machines are up"
expect_json '$.machines_wanted' 4
expect_json '$.replace_lost_s' 1800
run job "$(cat kept)"
expect_out_has 'machines   3/4 are up' "job says so"
run jobs -o csv --columns id,machines --no-headers
expect_out_has ',3/4$' "and so does jobs"
[ "$(count instance.created)" = 5 ]
ok $? "one machine is rented in its place: $(count instance.created) in all"
[ "$(held)" = 4 ]
ok $? "and beside it only the three are held"
run explain "$(cat kept)"
expect_out_has 'replace .*the machine of rank 3 of 4 is lost; the other 3 are kept' "explain says why"
until_at 04:00
run job "$(cat kept)" -o json
expect_json '$.state' done "the work goes on"
expect_json '$.preemptions' 1
[ "$(count job.node_lost) $(count job.node_replaced) $(count job.preempted)" = '1 1 0' ]
ok $? "events tell of the loss and of what came in its place: $(count job.node_lost) $(count job.node_replaced)"
run instances --all -o csv --columns id,purchase,cost --no-headers
[ "$(wc -l <"$out" | tr -d ' ')" = 5 ]
ok $? "five machines were rented in all"
# Four from 00:00, the fifth from 00:30; all but the lost one until the end of the job: the ledger holds just that.
"$BERTH" --now "$NOW" job "$(cat kept)" -o json >"$out"
end=$(date -u -d "$(json '$.finished')" +%s)
hours=$(awk -v e="$end" -v s="$(date -u -d 2026-11-30T00:00:00Z +%s)" 'BEGIN { print (e - s) / 3600 }')
awk -v h="$hours" -v c="$(json '$.cost')" 'BEGIN { w = 3 * 5 * h + 5 * 0.5 + 10 * (h - 0.5); exit !(c > w - 0.02 && c < w + 0.02) }'
ok $? "the job has cost what its machines did: $(json '$.cost') in $hours h"
[ "$(held)" = 0 ]
ok $? "nothing is held in the end"

# Two of four at once.
world "pools:
$(pool a 'spot: {price: 5, capacity: [[0, 4], [31m, 2]], notice: 1m}, on_demand: {price: 10, capacity: 9}')"
job two 4 "$ckpt" 'replace_lost: 30m'
until_at 04:00
run job "$(cat two)" -o json
expect_json '$.state' done "a gang that lost two machines at once goes on"
expect_json '$.preemptions' 2
[ "$(count instance.created) $(count job.node_replaced) $(held)" = '6 2 0' ]
ok $? "two are rented in their place: $(count instance.created) $(count job.node_replaced) $(held)"

# One that waits is cancelled: nothing is held any more.
world "pools:
$(pool a 'spot: {price: 5, capacity: [[0, 4], [29m, 3]], notice: 1m}')"
job gone 4 "$ckpt" 'replace_lost: 2h'
until_at 00:40
[ "$(held)" = 3 ]
ok $? "three wait for a fourth"
run job cancel "$(cat gone)"
at 00:41 tick
at 00:42 tick
run job "$(cat gone)" -o json
expect_json '$.state' cancelled
[ "$(held) $(count instance.created)" = '0 4' ]
ok $? "a cancel gives them back: $(held)"

# Without the key the whole gang is queued, as ever.
world "pools:
$(pool a "$spot, on_demand: {price: 10, capacity: 9}")"
job all 4 "$ckpt"
until_at 00:31
[ "$(count job.node_lost) $(count job.preempted)" = '0 1' ]
ok $? "without the key all of it goes back to the queue"
until_at 04:00
[ "$(count instance.created)" = 8 ]
ok $? "and four more are rented: $(count instance.created)"
run job "$(cat all)" -o json
expect_json '$.replace_lost_s' null
expect_json '$.state' done

# None is to be had: the others are given back when the wait is over.
world "pools:
$(pool a 'spot: {price: 5, capacity: [[0, 4], [29m, 3], [3h, 9]], notice: 1m}')
$(pool b 'on_demand: {price: 10, capacity: [[0, 0], [1h, 9]]}')"
job none 4 "$ckpt" 'replace_lost: 20m'
until_at 00:40
run job "$(cat none)"
expect_out_has '3 of 4 machines: the others wait until 2026-11-30T00:4[89]:00Z for one in place of rank 3' "it says until when it waits"
[ "$(held)" = 3 ]
ok $? "three are held meanwhile: $(held)"
until_at 00:55
run job "$(cat none)" -o json
expect_json '$.state' queued "then the job asks again for all"
[ "$(held) $(count job.no_capacity)" = '0 1' ]
ok $? "and nothing is held: $(held)"
until_at 05:00
run job "$(cat none)" -o json
expect_json '$.state' done "it runs elsewhere later"
[ "$(held)" = 0 ]
ok $? "and nothing is held"

# No budget pays for another: none is rented, and the others are given back in time.
world "pools:
$(pool a "$spot, on_demand: {price: 50, capacity: 9}")"
run budget set all --cap 60 --period total --name lid
job poor 4 "$ckpt" 'replace_lost: 5m'
until_at 00:33
run job "$(cat poor)"
expect_out_has "budget 'lid'" "where a budget has too little it says so"
[ "$(count instance.created)" = 4 ]
ok $? "and rents none"
until_at 00:36
[ "$(count job.no_capacity)" = 1 ]
ok $? "then it asks again for all"

# Killed anywhere: the next tick goes on, with one machine in place of one.
began=$(date +%s%N)
run tick
tick_ns=$(($(date +%s%N) - began))
for part in 2 4 6 8 10 12 14; do	# sixteenths of what a tick takes here
	wait=$(awk -v n="$tick_ns" -v p="$part" 'BEGIN { printf "%.4f", n * p / 16e9 }')
	world "pools:
$(pool a "$spot, on_demand: {price: 10, capacity: 9}")"
	job shot 4 "$ckpt" 'replace_lost: 30m'
	until_at 00:29
	for minute in 30 31 32 33; do
		NOW=2026-11-30T00:$minute:00Z
		"$BERTH" --now "$NOW" tick >/dev/null 2>&1 </dev/null &
		tick=$!
		sleep "$wait"
		kill -9 "$tick" 2>/dev/null
		wait "$tick" 2>/dev/null
	done
	until_at 04:00
	[ "$("$BERTH" --now "$NOW" job "$(cat shot)" -o json >"$out"; json '$.state') $(held) $(count instance.created) $(count machine.orphan)" = 'done 0 5 0' ]
	ok $? "killed after $wait s: done, nothing held, five machines, no orphan: $(json '$.state') $(held) $(count instance.created) $(count machine.orphan)"
done

# What the key may be.
printf 'schema: berth.job/1\nname: x\naccelerators: "H100:8"\nwork: 2h\nrun: make\nreplace_lost: 30m\n' >job.yaml
run submit job.yaml
expect_exit 1
expect_err_has "replace_lost.*nodes: 1" "it is refused for a job on one machine"
expect_err_has 'job.yaml:6:'

printf 'schema: berth.job/1\nname: x\naccelerators: "H100:8"\nnodes: 2\nwork: 2h\nrun: make\nreplace_lost: 0s\n' >job.yaml
run submit job.yaml
expect_exit 1
expect_err_has 'longer than 0' "and must be longer than 0"
done_testing
