#!/bin/sh
# Why a job stays queued: one record a reason, however many ticks pass, and what it says would change it does.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/clouds.sh"

start=$NOW
fresh() { NOW=$start; cloud "$@"; }
at() { NOW=2026-11-30T$1Z; }
id() { "$BERTH" --now "$NOW" jobs --all -o csv --columns id,name | sed -n "s/,$1\$//p"; }
kinds() { "$BERTH" --now "$NOW" explain -n 1000 "$(id "$1")" | sed -n 's/^2[-0-9TZ:]* \([a-z]*\) .*/\1/p' | tr '\n' ' '; }
record() { run explain "$(id "$1")" -o json; }
od='on_demand: {price: 4, capacity: [[0h, 4]]}'

# Money: 2 h 5 min at 4 USD are 8.33; the record says that, and a cent less does not do.
fresh "zone: a, $od"
run budget set all --cap 8 --period total --name lid
job big 2h
run tick --until +1h
[ "$(kinds big)" = "wait " ]
ok $? "61 ticks, one reason, one record ($(kinds big))"
record big
expect_json '$.kind' decisions
expect_json '$.decisions[0].t' 2026-11-30T00:00:00Z
expect_json '$.decisions[0].seen' 2026-11-30T01:00:00Z
expect_json '$.decisions[0].decision.rule' over_budget
expect_json '$.decisions[0].decision.refused.over_budget' 1
expect_json '$.decisions[0].decision.nearest.offer' 'aurora a h100 on_demand'
expect_json_near '$.decisions[0].decision.nearest.expected_cost' 8.333333 1e-6
told=$(json '$.decisions[0].decision.changes[0].to')
run explain "$(id big)"
expect_out_has 'this was still so at 2026-11-30T01:00:00Z'
expect_out_has 'what would change it: 8.34 USD to spend'
cp "$out" by-id
run explain big
cmp -s "$out" by-id
ok $? "a job's name leads to the same"
run place --replay big -o json
expect_json '$.same' true
waits_replay "61 ticks of waiting for money" 1
at 01:01:00
run budget set all --cap "$(awk -v x="$told" 'BEGIN { print x - 0.01 }')" --period total --name lid
run tick
is big queued "a cent less than told is too little"
run budget set all --cap "$(awk -v x="$told" 'BEGIN { printf "%.6f", x + 1e-6 }')" --period total --name lid
run tick
is big placed "as much as told is enough"
[ "$(kinds big)" = "place wait " ]
ok $? "placed after one wait ($(kinds big))"
run explain -n 2 "$(id big)" -o json
expect_json '$.decisions[1].seen' 2026-11-30T01:01:00Z
expect_json '$.decisions[0].seen' null

# A quota that another job has used up: its worth and what is missing are told; one more is enough.
fresh "zone: a, $od"
limit() { sed -i '/^limits/,$d' .config/berth/berth.yaml; printf 'limits:\n  - {name: few, provider: aurora, unit: gpu, limit: %s}\n' "$1" >>.config/berth/berth.yaml; }
limit 1
job first 5h 'priority: 9'
job second 1h
job third 1h "after: {job: $(id second)}"
run tick --until +30m
[ "$(kinds second)" = "wait " ]
ok $? "one record of the wait for a quota ($(kinds second))"
record second
expect_json '$.decisions[0].decision.rule' no_quota
expect_json '$.decisions[0].decision.waits_for' few
expect_json '$.decisions[0].decision.changes[0].subject' few
expect_json '$.decisions[0].decision.changes[0].to' 1
run explain "$(id third)"
expect_out_has "wait j-.*: waits until $(id second) is done"
expect_out_has "what would change it: the end of $(id second) lets it go on"
waits_replay "a quota, and the end of another job" 2
run place --replay "$(decided wait | tail -1)" -o json
expect_json '$.same' true
expect_json '$.waits' 1
at 00:31:00
limit 2
run tick
is second placed "one GPU more, as told, is enough"

# Two jobs, one machine each within a quota of 1, one after the other: what binds has its price.
fresh "zone: a, $od"
limit 1
job dear 5h 'priority: 9'
job cheap 1h
run tick
record cheap
expect_json '$.decisions[0].decision.rule' no_capacity
expect_json '$.decisions[0].decision.waits_for' few
run explain "$(id cheap)"
expect_out_has 'what would change it: 1 gpu more of few would place it on aurora a h100 on_demand'
run tick --until +10m
[ "$(kinds cheap)" = "wait " ]
ok $? "taken by others, then used up: one reason ($(kinds cheap))"
record cheap
expect_json '$.decisions[0].decision.rule' no_quota "and the record is up to date"

waits_replay "what others take, and have taken" 1

# Refused launches and the holds after them are one reason.
fresh 'zone: a, on_demand: {price: 4, capacity: 0, shown: false}'
job none 1h
run tick --until +6h
[ "$(kinds none)" = "wait " ]
ok $? "six hours of refusals and holds, one record ($(kinds none))"
record none
expect_json '$.decisions[0].seen' 2026-11-30T06:00:00Z
at 06:01:00
run tick
record none
hold=$(json '$.decisions[0].decision.changes[0].at')
[ -n "$hold" ] && [ "$hold" != null ]
ok $? "the end of the hold is told: $hold"

waits_replay "refused launches and holds" 1
run prices refresh
waits_replay "and when prices have moved on" 1

# Spot that may be waited for: from when on it goes on demand, and then it does.
fresh "zone: a, spot: {price: 1.2, capacity: [[0h, 0]]}, $od"
job late 6h 'deadline: +12h' 'checkpoint: {size: 8GB, write: 10s}' 'purchase: [spot, on_demand]'
run tick --until +1h
record late
expect_json '$.decisions[0].decision.rule' wait_spot
expect_json '$.decisions[0].decision.changes[0].what' unavailable
expect_json '$.decisions[0].decision.changes[1].what' wait_spot
by=$(json '$.decisions[0].decision.changes[1].at')
[ "$(kinds late)" = "wait " ]
ok $? "an hour of waiting for spot is one record ($(kinds late))"
at 01:00:00
run tick --until +9h
run instances --all -o csv --columns purchase,created
from=$(sed -n 's/^on_demand,//p' "$out")
[ -n "$from" ] && [ "$(printf '%s\n%s\n' "$from" "$by" | sort | head -1)" = "$from" ]
ok $? "on demand at $from, by $by as told"

waits_replay "waiting for spot" 1

# Taken back: what was chosen, at what cost.
fresh "zone: a, spot: {price: 1.2, capacity: [[0h, 1], [1h, 0]], notice: 2m}, $od"
job lost 6h 'checkpoint: {size: 8GB, write: 10s, interval: 10m}' 'purchase: [spot, on_demand]'
run tick --until +2h
run explain -n 100 "$(id lost)" -o json
grep -q '"kind": "preemption"' "$out"
ok $? "a preemption is a decision"
grep -A14 '"kind": "preemption"' "$out" | grep -q '"choice": "on_demand"'
ok $? "on demand was chosen, as little time is left"
run explain -n 100 "$(id lost)"
expect_out_has 'preemption j-.* is taken back in [0-9]+ s: a last checkpoint was written; [0-9.]+ % of the work is safe; it goes on on demand, with aurora a h100 on_demand: [0-9.]+ USD'
# What was chosen when it was taken back says where it is; how it came to its first machine is history.
shown() { sed -n 's/^2[-0-9TZ:]* \([a-z]*\) .*/\1/p' "$out" | tr '\n' ' '; }
run explain "$(id lost)"
[ "$(shown)" = "preemption " ]
ok $? "why it goes on where it does ($(shown))"
run explain "$(id lost)" -o json
expect_is_json berth.explanation/1
expect_json '$.decisions[1].kind' ''
run explain -k preemption "$(id lost)"
[ "$(shown)" = "preemption " ]
ok $? "one kind alone ($(shown))"
run explain -k place -n 9 "$(id lost)"
[ "$(shown)" = "place place " ]
ok $? "as many of one kind as are asked for ($(shown))"
run explain -n 1 "$(id lost)"
[ "$(shown)" = "preemption " ]
ok $? "the newest of all ($(shown))"
run explain -k move "$(id lost)"
expect_exit 1
expect_err_has "no decision of kind 'move' about 'j-.*' is kept: .berth explain -n 100 j-"
run explain -k mov "$(id lost)"
expect_exit 2
for o in '-n 2' '-k place'; do
	run explain $o plan
	expect_exit 2
	expect_err_has 'a plan is named by its number, as in plan:3'
done
waits_replay "all that happened" 0

# A job that waits for one that fails, and is cancelled: by nothing but what its state was.
fresh "zone: a, $od"
job before 1h
job behind 1h "after: {job: $(id before)}"
run -y job cancel "$(id before)"
run tick
run explain "$(id behind)"
expect_out_has 'waits for j-.*, which will not end \(cancelled\)'
waits_replay "no placement at all" 1
expect_out_has '\(1 job, 1 of which waits, [0-9]+ bytes\)'
run store check
expect_exit 0

# How often it writes, where the job leaves that to berth: the optimum is better than half of it and twice of it. Just before an age
# from which on machines are lost less the best is a little shorter, so that the next one begins there.
fresh "zone: a, spot: {price: 1.2, capacity: [[0h, 1]], notice: 2m}, $od"
job often 9h 'checkpoint: {size: 8GB, write: 30s}' 'purchase: [spot]'
run tick --until +8h --step 10m
run explain -n 100 "$(id often)" -o json
awk '/"kind"/ { c = /checkpoint/ } !c { next } { gsub(",", "") } /"interval_s"/ && !i { i = $2 } /"useful_share"/ { u[++n] = $2 }
	/"subject"/ && 0 { } n == 3 { m++; if (!(u[1] >= u[2] && u[1] >= u[3])) bad = 1; if (last && i >= 1.15 * last) bad = 1; if (last == 0) old = i; last = i; i = n = 0 }
	END { exit !(m >= 2 && m <= 12 && !bad && last < old / 3) }' "$out"
ok $? "each interval keeps most, and they grow with the age of the machine"
run explain -n 100 "$(id often)"
expect_out_has 'checkpoint j-.*: a checkpoint every [0-9]+m[0-9]*s?: a spot machine [0-9.]+ h old is lost at [0-9.]+ an hour, and a write takes 30 s'

# A day of them hides not why it is there.
run explain "$(id often)"
[ "$(shown)" = "place checkpoint " ]
ok $? "why it is there first, then how often it writes ($(shown))"
newest=$(sed -n 's/.*a checkpoint every \([0-9hms]*\):.*/\1/p' "$out")
run explain -n 1 "$(id often)"
[ "$(shown)" = "checkpoint " ] && grep -q "a checkpoint every $newest:" "$out"
ok $? "the newest of the intervals ($newest)"

done_testing
