#!/bin/sh
# A placement is made again from the store, byte for byte, after everything that it was made from has moved on.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/clouds.sh"

mkdir -p .config/berth
cat >one.trace <<EOF
schema: berth.replay/1
start: $NOW
pools:
EOF
pool() { echo "  - {provider: aurora, region: $1, zone: ${1}a, instance_type: h100, accelerator: H100-SXM5-80GB, accelerator_count: 1, vcpus: 24, startup: [3m, 3m], $2}" >>one.trace; }
pool east 'on_demand: {price: [[0h, 4], [5h, 4.5]], capacity: [[0h, 4]]}, spot: {price: [[0h, 1.2], [1h, 1.6], [4h, 1.1]], capacity: [[0h, 3], [1h, 1], [2h, 3]], notice: 2m}'
pool west 'on_demand: {price: 4.2, capacity: [[0h, 2]], shown: false}'
pool north 'on_demand: {price: 3.9, capacity: 0, shown: false}'
cat >.config/berth/berth.yaml <<EOF
schema: berth.config/1
accounts:
  - {name: sky, provider: replay, trace: $PWD/one.trace}
limits:
  - {name: few, provider: aurora, unit: gpu, limit: 4}
  - {name: east vCPUs, provider: aurora, region: east, unit: vcpu, limit: 72}
fair_share: {by: project, then: user, half_life: 24h, weights: {ml: 2}, user_weights: {alice: 2, bob: 1}}
EOF
run init --no-prices
run prices refresh
expect_exit 0
run budget set all --cap 200 --period month --name lid
run explain placement
expect_exit 1
expect_err_has 'no placement was made yet: run'
run place --replay placement
expect_exit 1
expect_err_has 'no placement was made yet'
job() {	# job NAME USER WORK [LINE...]
	printf 'schema: berth.job/1\nname: %s\nuser: %s\nproject: ml\naccelerators: "H100-SXM5-80GB:1"\nwork: %s\nrun: x\n' "$1" "$2" "$3" >job.yaml
	shift 3
	for line; do echo "$line" >>job.yaml; done
	run submit job.yaml
	expect_exit 0
}
made() { "$BERTH" --now "$NOW" store export decision | sed -n 's/.*"id":\([0-9]*\),.*"kind":"placement".*/\1/p'; }
replays() {	# replays WHEN LEAST: each placement, LEAST or more, comes out the same
	n=0 same=0
	for i in $(made); do
		n=$((n + 1))
		run place --replay "$i"
		grep -q "Placement $i comes out the same, byte for byte" "$out" && same=$((same + 1)) || cat "$err" | sed 's/^/# /'
	done
	[ "$n" -ge "$2" ] && [ "$same" -eq "$n" ]
	ok $? "$1: $same of $n placements come out the same"
}
job a alice 2h
job b bob 3h
job c alice 1h 'priority: 3'
job d carol 4h 'deadline: +9h' 'checkpoint: {size: 8GB, write: 10s}' 'purchase: [spot, on_demand]'
job e bob 2h
job f carol 6h 'purchase: [spot]' 'checkpoint: {size: 8GB, write: 10s}'
run place
run place --for finish
replays "nothing has happened" 2
run tick --until +9h --step 5m
replays "nine hours of ticks, prices and preemptions later" 5
grep -q . "$out"

# Then all that it was made from changes.
sed -i '/^limits/,$d' .config/berth/berth.yaml
printf 'limits:\n  - {name: none, provider: aurora, unit: gpu, limit: 1}\n' >>.config/berth/berth.yaml
run budget set all --cap 300 --period month --name lid
NOW=2026-12-01T09:00:00Z
run prices refresh
job g dora 1h
run place
replays "with other limits, another budget, other prices and other jobs" 6

# One of a job leads to its placement.
one=$("$BERTH" --now "$NOW" store export decision | sed -n 's/.*"id":\([0-9]*\),.*"kind":"place",.*/\1/p' | head -1)
run place --replay "$one" -o json
expect_is_json berth.placement-replay/1
expect_json '$.same' true

# The number stands below what was decided; the id of a job will do, too.
told() { sed -n 's/.*decision \([0-9]*\): `berth place --replay \([0-9]*\)` makes it again$/\1 \2/p' "$out"; }
last=$(made | tail -1)
run explain placement
[ "$(told)" = "$last $last" ]
ok $? "below the newest placement: $(told)"
g=$("$BERTH" --now "$NOW" jobs --all -o csv --columns id,name | sed -n 's/,g$//p')
run explain "$g"
one=$(told | cut -d' ' -f1)
[ -n "$one" ]
ok $? "below a job of it: $(told)"
run place --replay "$one"
expect_out_has "^Placement $last comes out the same"
run place --replay "$g"
expect_out_has "^Placement $last comes out the same"
run place --replay placement
expect_out_has "^Placement $last comes out the same"
run explain --kind checkpoint "$("$BERTH" --now "$NOW" jobs --all -o csv --columns id,name | sed -n 's/,d$//p')"
expect_out_has 'checkpoint j-'
expect_out_lacks 'makes it again'

# What cannot be made again says so.
run place --replay "$last" "$g"
expect_exit 2
expect_err_has "leave out '$g', or say --replay $g"
for what in j-nobody 0 -3 1.5 ''; do
	run place --replay "$what"
	expect_exit 1
	expect_err_has "'$what' is neither the number of a decision nor a job that was placed or waits: see .berth explain placement"
done
run place --replay 999999
expect_exit 1
expect_err_has 'there is no decision 999999'
kept=$("$BERTH" --now "$NOW" store export decision | sed -n 's/.*"id":\([0-9]*\),.*"kind":"checkpoint".*/\1/p' | head -1)
run place --replay "$kept"
expect_exit 1
expect_err_has "is of kind 'checkpoint'"
waits_replay "after all that, of decisions to wait" 2

# The store keeps what the newest hundred were made from.
i=0
while [ $i -lt 102 ]; do
	"$BERTH" --now "$NOW" place -q --rounds 0 >/dev/null 2>&1
	i=$((i + 1))
done
[ "$("$BERTH" --now "$NOW" store export placement_input | grep -c '"placed":[1-9]')" -eq 100 ]
ok $? "a hundred are kept"
waits_replay "what the reasons of jobs that still wait were made from is kept beside them" 1
run place --replay "$(made | head -1)"
expect_exit 1
expect_err_has 'is not kept.*berth explain JOB. tells what was decided'
run explain --kind place "$("$BERTH" --now "$NOW" jobs --all -o csv --columns id,name | sed -n 's/,a$//p')"
expect_out_has 'place j-'
expect_out_lacks 'makes it again'
most=$("$BERTH" --now "$NOW" store export placement_input | awk '{ n = length($0) / 2; if (n > m) m = n } END { print int(m) }')
[ "$most" -lt 4000 ]
ok $? "each takes under 4 kB ($most)"
run store check
expect_exit 0

done_testing
