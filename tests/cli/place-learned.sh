#!/bin/sh
# What ticks saw weighs in the next placement, and is told: start-ups, spot that is taken back, launches that are lost and won,
# who holds what, the last plan. Each on replayed pools of one price, of which the first by name is the worse.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

pool() {	# pool NAME STARTUP ON_DEMAND SPOT
	cat <<EOF
  - provider: $1
    region: r1
    zone: $1-a
    instance_type: quad
    accelerator: H100-SXM5-80GB
    accelerator_count: 4
    startup: [$2, $2]
    on_demand: {price: 8, $3}
    spot: {price: 2.4, $4}
EOF
}
world() {	# a fresh home with the pools of that file
	rm -rf .config .local
	mkdir -p .config/berth
	{ printf 'schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\npools:\n'; cat pools; } >two.trace
	printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/two.trace}\n' "$PWD" >.config/berth/berth.yaml
	NOW=2026-11-30T00:00:00Z
	run prices refresh
	expect_exit 0
}
job() {	# job NAME PURCHASE LINE...
	printf 'schema: berth.job/1\nname: %s\naccelerators: "H100-SXM5-80GB:4"\npurchase: [%s]\nrun: make\n' "$1" "$2" >"$1.yaml"
	shift 2
	for line; do printf '%s\n' "$line"; done >>job.tail
	name=$(sed -n 's/^name: //p' "$(ls -t ./*.yaml | head -1)")
	cat job.tail >>"$name.yaml"
	rm -f job.tail
	run submit "$name.yaml" -o json
	[ "$status" -eq 0 ] || expect_exit 0
	id=$(json '$.jobs[0].id')
}
place() {	# place TIME: the last job alone
	NOW=$1
	run place "$id" -o json
}

# Start-ups: alder takes 15 minutes, birch 3. Before anything is known the first goes; then the quicker.
{ pool alder 15m 'capacity: 8' 'capacity: 0'; pool birch 3m 'capacity: 8' 'capacity: 0'; } >pools
world
job first on_demand 'work: 1h' 'providers: ["*"]'
place 2026-11-30T00:01:00Z
expect_json '$.jobs[0].offer.provider' alder 'nothing is known: equal, the first by name'
run job cancel "$id"
for k in 1 2 3 4; do job "s$k" on_demand 'work: 1h' 'providers: [alder]'; done
run tick --until +4h --step 2m
expect_exit 0
job next on_demand 'work: 1h'
place 2026-11-30T05:00:00Z
expect_json '$.jobs[0].offer.provider' birch 'a machine that starts in 15 minutes is billed for them'
# (2 usual starts of 5 min + 4 of 40 min) / 6 = 28.3 min
expect_json_near '$.jobs[0].runner_up.expected_hours' 1.1944 0.01 'the mean of the start-ups seen, beside two usual ones'
run explain "$id"
expect_out_has 'alder alder-a quad on_demand \(starts in 1[12] min by what was seen\)'
job soon on_demand 'work: 1h' 'deadline: 2026-11-30T06:08:00Z' 'providers: [alder]'
place 2026-11-30T05:00:00Z
expect_exit 3 'and its start-up counts before a deadline'
expect_json '$.jobs[0].refused.deadline' 1

# Spot that is taken back each half hour, and spot that stays.
{ pool alder 3m 'capacity: 0' 'capacity: 8, preempt: [30m, 60m, 90m, 120m, 150m, 180m, 210m, 215m, 270m, 300m]'
pool birch 3m 'capacity: 0' 'capacity: 8'; } >pools
world
resume='checkpoint: {size: 8GB, write: 10s, interval: 10m}'
job first spot 'work: 4h' "$resume"
place 2026-11-30T00:01:00Z
expect_json '$.jobs[0].offer.provider' alder
before=$(json '$.jobs[0].offer.survival')
run job cancel "$id"
job s1 spot 'work: 6h' "$resume" 'providers: [alder]'
job s2 spot 'work: 6h' "$resume" 'providers: [birch]'
run tick --until +9h --step 2m
expect_exit 0
run instances --all -o csv --columns zone,end_reason
expect_out_has 'alder-a,preempted'
expect_out_lacks 'birch-a,preempted'
job next spot 'work: 4h' "$resume"
place 2026-12-01T06:00:00Z
expect_json '$.jobs[0].offer.provider' birch 'where spot was seen to stay'
awk -v a="$(json '$.jobs[0].runner_up.survival')" -v b="$before" -v c="$(json '$.jobs[0].offer.survival')" 'BEGIN { exit !(a < b && b < c) }'
ok $? "survival fell where it was taken back and rose where it stayed"

# Launches lost: alder says nothing of its stock and has none until noon; birch always has.
{ pool alder 3m 'capacity: [[0h, 0], [12h, 8]], shown: false' 'capacity: 0'; pool birch 3m 'capacity: 8' 'capacity: 0'; } >pools
world
job s1 on_demand 'work: 30m'
run tick --until +2h --step 2m
run jobs --all -o json
expect_json '$.jobs[0].state' done
run instances --all -o csv --columns zone
expect_out birch-a 'the lost launch went on to the next offer at once'
job next on_demand 'work: 1h'
place 2026-11-30T02:10:00Z
expect_json '$.jobs[0].offer.provider' birch 'a launch was lost there two hours ago: equal, but later'
run explain "$id"
expect_out_has 'alder alder-a quad on_demand \(1\.[6-9] tries a machine lately\)'
place 2026-12-04T02:10:00Z
run explain "$id"
expect_out_lacks 'tries a machine'
run job cancel "$id"
NOW=2026-11-30T13:00:00Z
job won on_demand 'work: 30m' 'providers: [alder]'
run tick --until +1h --step 2m
run instances --all -o csv --columns zone
expect_out alder-a
job again on_demand 'work: 1h'
place 2026-11-30T14:10:00Z
run explain "$id"
expect_out_lacks 'tries a machine' 'a launch that was won speaks for it'

# Fair shares with what runs: four machines; alice holds two, and has two more in the queue before one of bob's.
{ pool alder 3m 'capacity: 8' 'capacity: 0'; } >pools
world
printf 'limits:\n  - {name: four, limit: 16, unit: gpu}\n' >>.config/berth/berth.yaml
for k in 1 2; do job "a$k" on_demand 'work: 10h' 'user: alice'; done
run tick
for k in 3 4; do job "a$k" on_demand 'work: 1h' 'user: alice'; done
for k in 1 2; do job "b$k" on_demand 'work: 1h' 'user: bob'; done
run place -o csv --columns name,provider
expect_out b1,alder 'who holds nothing goes first'
expect_out b2,alder
expect_out a3,
job vip on_demand 'work: 1h' 'user: alice' 'priority: 5'
run place -o csv --columns name,provider
expect_out vip,alder 'but priority goes before shares'
expect_out b1,alder
expect_out b2,

# The last plan: placed again it costs the same, and the search ends no later.
{ for n in alder birch cedar; do pool "$n" 3m 'capacity: 64' 'capacity: 0' | sed "s/price: 8/price: 8.0$((${#n} + 1))/"; done; } >pools
world
printf 'limits:\n  - {name: low, provider: alder, limit: 20, unit: gpu}\n  - {name: all, limit: 60, unit: gpu}\n' >>.config/berth/berth.yaml
k=0
while [ $k -lt 24 ]; do job "w$k" on_demand "work: $((1 + k % 5))h" "nodes: $((1 + k % 3))"; k=$((k + 1)); done
run place -o json
rounds=$(json '$.rounds') total=$(json '$.total_cost')
run place -o json
expect_json '$.total_cost' "$total"
[ "$(json '$.rounds')" -le "$rounds" ]
ok $? "in $(json '$.rounds') rounds, $rounds at first"
done_testing
