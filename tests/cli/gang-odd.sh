#!/bin/sh
# Gangs where something goes wrong, on a replayed cloud: a machine that never comes up, one taken back before the start, a
# quota or a budget for all but one, two gangs for the same machines, a cancel in each state, 64 machines. Nothing may be
# held in the end, whatever happened, and what can run does.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir -p .config/berth
world() {	# world TEXT: a fresh store over a cloud of these pools
	rm -rf .local .config/berth
	mkdir -p .config/berth
	printf 'schema: berth.config/1\naccounts:\n  - {name: sim, provider: replay, trace: sim.trace}\n' >.config/berth/berth.yaml
	printf 'schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\n%s\n' "$1" >.config/berth/sim.trace
	NOW=2026-11-30T00:00:00Z
	run init --no-prices
	run prices refresh
}
pool() {	# pool ZONE HOW [STARTUP]: one place of eight H100, told how it is sold
	printf '  - {region: west, zone: %s, instance_type: h100x8, accelerator: H100-SXM5-80GB, accelerator_count: 8,\n     accelerator_memory_gib: 80, startup: %s, %s}\n' "$1" "${3-2m}" "$2"
}
job() {	# job NAME NODES [LINE]: its id in the file of that name
	printf 'schema: berth.job/1\nname: %s\naccelerators: "H100:8"\nnodes: %s\nwork: 1h\nrun: make\n%s\n' "$1" "$2" "${3-}" >job.yaml
	"$BERTH" --now "$NOW" submit job.yaml | cut -d' ' -f1 >"$1"
}
at() {	# at HH:MM COMMAND...
	NOW=2026-11-30T$1:00Z
	shift
	run "$@"
}
state() {	# state NAME
	"$BERTH" --now "$NOW" job show "$(cat "$1")" -o json >"$out"
	json '$.state'
}
held() {
	"$BERTH" --now "$NOW" instances -o csv --columns id --no-headers | wc -l | tr -d ' '
}

world "pools:
$(pool bad 'fail: 1, on_demand: {price: 10, capacity: 9}')
$(pool good 'on_demand: {price: 20, capacity: 9}')"
job never 3
run tick --until +6h
at 06:00 job "$(cat never)" -o json
expect_json '$.state' done "a gang of which a machine never came up runs elsewhere"
[ "$(held)" = 0 ]
ok $? "and holds nothing"

world "pools:
$(pool a 'spot: {price: 5, capacity: 3, preempt: [5m], notice: 1m}' '[2m, 9m]')
$(pool b 'on_demand: {price: 20, capacity: 9}')"
job taken 3 'checkpoint: {size: 1GB, write: 10s}'
run tick --until +6h --step 1m
at 06:00 job "$(cat taken)" -o json
expect_json '$.state' done "a gang of which a machine was taken back before it started runs later"
expect_json '$.attempts[0].state' preempted
[ "$(held)" = 0 ]
ok $? "and holds nothing"

world "quotas:
  - {provider: '*', limit: 16}
pools:
$(pool a 'on_demand: {price: 10, capacity: 9}')"
job quota 3
run tick --until +2h
at 02:00 job "$(cat quota)" -o json
expect_json '$.state' queued "a quota for all but one machine: the gang waits"
[ "$(held)" = 0 ]
ok $? "and holds none meanwhile"
run budget -o json
[ "$(json '$.spent.in_all.total')" = null ] || [ "$(json '$.spent.in_all.total' | cut -d. -f1)" -lt 10 ]
ok $? "what was had for moments cost little: $(json '$.spent.in_all.total')"

# Three of four: one after the other, and neither waits with a part of them.
world "pools:
$(pool a 'on_demand: {price: 10, capacity: 4}')"
job one 3
job two 3
run tick --until +8h
NOW=2026-11-30T08:00:00Z
[ "$(state one) $(state two)" = 'done done' ]
ok $? "two gangs for the same machines run one after the other: $(state one) $(state two)"
[ "$(held)" = 0 ]
ok $? "nothing is held"
run instances --all -o csv --columns end_reason,cost --no-headers
# six machines for an hour and two minutes, at 10 USD
awk -F, '{ s += $NF } END { exit !(s > 60 && s < 65) }' "$out"
ok $? "and the second did not pay for tries: $(awk -F, '{ s += $NF } END { print s }' "$out") USD"

# A cancel in each state.
for minute in 00 01 03 20; do
	world "pools:
$(pool a 'on_demand: {price: 10, capacity: 9}')"
	job gone 3
	[ $minute = 00 ] || run tick --until +${minute}m
	at 00:$minute job cancel "$(cat gone)"
	expect_exit 0
	at 00:30 tick
	at 00:31 tick
	[ "$(state gone) $(held)" = 'cancelled 0' ]
	ok $? "cancelled after $minute minutes: $(state gone), $(held) machines held"
	run budget -o json
done

world "pools:
$(pool a 'on_demand: {price: 10, capacity: 64}')"
job wide 64
job narrow 2
run tick --until +6h --step 5m
NOW=2026-11-30T06:00:00Z
[ "$(state wide) $(state narrow)" = 'done done' ]
ok $? "64 machines for one job: $(state wide) $(state narrow)"
[ "$(held)" = 0 ]
ok $? "nothing is held"

# Money for two of three for the hour: none is rented; with enough all are, and the budget is not passed.
world "pools:
$(pool a 'on_demand: {price: 10, capacity: 9}')"
run budget set all --cap 25 --period total --name lid
job poor 3
run tick
[ "$(state poor) $(held)" = 'queued 0' ]
ok $? "a budget for two of three rents none"
run budget set all --cap 45 --period total --name lid
job second 3
at 00:01 tick --until +6h
NOW=2026-11-30T06:05:00Z
[ "$(state poor) $(state second)" = 'done queued' ]
ok $? "a budget for one gang of two runs one: $(state poor) $(state second)"
run budget -o json
[ "$(json '$.budgets[0].spent' | cut -d. -f1)" -le 45 ]
ok $? "and is not passed: $(json '$.budgets[0].spent')"

world "pools:
$(pool a 'on_demand: {price: 10, capacity: 2}')"
job late 3 'deadline: 2026-11-30T02:00:00Z'
run tick --until +4h
at 04:00 job "$(cat late)"
expect_out_has 'deadline' "a gang that cannot be had by its deadline says so"
[ "$(held)" = 0 ]
ok $? "and holds nothing"
done_testing
