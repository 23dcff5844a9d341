#!/bin/sh
# Fair shares between users and projects: past usage that fades, weights, what goes before shares, and what is told of it.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/queue.sh"

world() {	# world TEXT: a fresh store over a replayed cloud of machines with two L4; TEXT is more of berth.yaml
	home ""
	config "$1"
	cat >.config/berth/sim.trace <<-TRACE
	schema: berth.replay/1
	start: 2026-11-30T00:00:00Z
	pools:
	  - {region: west, zone: a, instance_type: two, accelerator: L4, accelerator_count: 2, startup: 1m, on_demand: {price: 2, capacity: 9}}
	TRACE
	NOW=2026-11-30T00:00:00Z
	begin
}
config() {	# config TEXT: the same store, another berth.yaml
	berth_yaml "accounts:
  - {name: sim, provider: replay, trace: sim.trace}
$1"
}
job() {	# job NAME USER [LINE]: one hour on two L4; its id in the file of that name
	printf 'schema: berth.job/1\nname: %s\nuser: "%s"\naccelerators: "L4:2"\nwork: 1h\npurchase: [on_demand]\nrun: make\n%s\n' "$1" "$2" \
	    "${3-}" >job.yaml
	submitted "$1"
}
placed() {	# the names of those that have a place, in the order of the queue
	"$BERTH" --now "$NOW" place -o csv --columns name,provider --no-headers 2>"$err" | sed -n 's/,replay$//p' | tr '\n' ' '
}
expect_placed() {	# expect_placed NAMES TEXT
	got=$(placed)
	[ "$got" = "$1 " ]
	ok $? "$2 (placed: $got)"
}
limit() {	# limit GPUS
	printf 'limits:\n  - {name: cards, accelerator: L4, limit: %s, unit: gpu}' "$1"
}
share() {	# share NAME KEY: of the last berth.shares/1 or berth.placement/1
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' -v name="$1" -v key="$2" '
		$1 ~ /^\$\.fair_share\.shares\[[0-9]+\]\.name$/ && $2 == name { at = $1; sub(/name$/, "", at) }
		at != "" && $1 == at key { print $2; exit }'
}
share_near() {	# share_near NAME KEY WANT TOLERANCE TEXT
	got=$(share "$1" "$2")
	awk -v a="$got" -v b="$3" -v tol="$4" 'BEGIN { d = a - b; exit !(a != "" && a != "null" && d <= tol && -d <= tol) }'
	ok $? "$5: $2 of $1 is $3 (is $got)"
}

# Turns by weight: 2 GPU-hours a job. Equal: a1, b1 (0 each), a2, b2 (2 each). Alice twice: a1, b1, a2 (2/2 before 2/1), a3 (4/2, the queue).
world "$(limit 8)"
for j in a1:alice a2:alice a3:alice a4:alice b1:bob b2:bob b3:bob; do
	job "${j%:*}" "${j#*:}"
done
config "$(limit 8)
fair_share: {}"
expect_placed 'a1 a2 b1 b2' "equal shares"
config "$(limit 8)
fair_share: {weights: {alice: 2}}"
expect_placed 'a1 a2 a3 b1' "twice the weight, twice the machines, while bob has his first"
config "$(limit 8)
fair_share: {weights: {bob: 0}}"
expect_placed 'a1 a2 a3 a4' "a weight of 0 goes after all that have one"
config "$(limit 10)
fair_share: {weights: {bob: 0}}"
expect_placed 'a1 a2 a3 a4 b1' "and takes what they leave"
config "$(limit 99)
fair_share: {weights: {alice: 0.001, bob: 1000000}}"
expect_placed 'a1 a2 a3 a4 b1 b2 b3' "where all fit, all go"
config "$(limit 8)
fair_share: {weights: {alcie: 7}}"
run place
expect_err_has "gives a weight to 'alcie', who has no job: did you mean 'alice'"
config "$(limit 8)
fair_share: {weights: {zoe: 7}}"
run place
! grep -q "fair_share" "$err"
ok $? "somebody who has no job yet is no misspelling"

# Past usage: two cards of alice's for ten hours and what the machine takes to come and go.
world "$(limit 99)"
printf "schema: berth.job/1\nname: past\nuser: alice\naccelerators: \"L4:2\"\nwork: 10h\npurchase: [on_demand]\nrun: make\n" >job.yaml
"$BERTH" --now "$NOW" submit job.yaml | cut -d' ' -f1 >past
run tick --until +12h
expect_exit 0
NOW=2026-11-30T12:00:00Z
run job "$(cat past)" -o json
expect_json '$.state' done
began=$(json '$.attempts[0].started') ended=$(json '$.attempts[0].ended')
hours() {	# hours A B: from one time to the other
	awk -v a="$1" -v b="$2" 'function sec(t,   x) { split(t, x, /[-T:Z]/)
		return (((x[2] == 12 ? 30 : 0) + x[3]) * 24 + x[4]) * 3600 + x[5] * 60 + x[6] }
		BEGIN { printf "%.9f", (sec(b) - sec(a)) / 3600 }'
}
job one alice
job two bob
config "$(limit 2)"
expect_placed one "without shares the first goes first"
config "$(limit 2)
fair_share: {half_life: forever}"
expect_placed two "with shares the one who has used nothing"
run jobs --shares -o json
expect_is_json berth.shares/1
all=$(awk -v h="$(hours "$began" "$ended")" 'BEGIN { printf "%.6f", 2 * h }')
share_near alice used_gpu_hours "$all" 0.0001 "what never fades is all of it"
share_near alice used_share 1 0 "nobody else has used any"
share_near bob used_gpu_hours 0 0 "bob has none"
share_near bob share 0.5 0 "half of it is his"
expect_json '$.fair_share.half_life_s' null
# The integral by hand: with half-life h, 2 cards, h/ln 2 * (2^(-(now - end)/h) - 2^(-(now - begin)/h))
faded=$(awk -v h=6 -v a="$(hours "$began" "$NOW")" -v b="$(hours "$ended" "$NOW")" \
    'BEGIN { printf "%.6f", 2 * h / log(2) * (2 ^ (-b / h) - 2 ^ (-a / h)) }')
config "$(limit 2)
fair_share: {half_life: 6h, weights: {alice: 2}}"
run jobs --shares -o json
share_near alice used_gpu_hours "$faded" 0.001 "a half-life of six hours"
share_near alice gpu_hours_per_weight "$(awk -v f="$faded" 'BEGIN { print f / 2 }')" 0.001 "for each unit of weight"
share_near alice share 0.666667 0.000001 "two thirds by weight"
NOW=2026-11-30T18:00:00Z
run jobs --shares -o json
share_near alice used_gpu_hours "$(awk -v f="$faded" 'BEGIN { print f / 2 }')" 0.001 "six hours later it is half"
NOW=2026-11-30T12:00:00Z
run jobs --shares
expect_out_has 'NAME +WEIGHT +SHARE +USED GPU-H +OF ALL +COMING +PER WEIGHT +WAITING'
sed -n 2p "$out" | grep -q '^bob '
ok $? "bob, whose turn it is, is on top"
run jobs --shares -o csv --columns name,weight
expect_out 'alice,2'

# What is told: the reason, the record, the figures.
run place --explain
expect_out_has "$(cat one) one: not placed"
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q "gave way to bob's $(cat two) by fair share: until then bob counts 0.0 GPU-hours for a weight of 1, alice [0-9.]* GPU-hours for a weight of 2"
ok $? "who gave way to whom, and by which figures"
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q "goes before alice's $(cat one) by fair share"
ok $? "who goes before whom"
run place -o json
expect_json '$.fair_share.by' user
expect_json '$.fair_share.half_life_s' 21600
expect_json '$.jobs[0].fair_share.owner' alice
expect_json '$.jobs[0].fair_share.turn' 2
expect_json '$.jobs[0].fair_share.gave_way_to[0]' "$(cat two)"
expect_json '$.jobs[1].fair_share.turn' 1
expect_json '$.jobs[1].fair_share.went_before[0]' "$(cat one)"
expect_json_near '$.jobs[0].fair_share.counted_gpu_hours' "$faded" 0.001
cp "$out" first.json
run place -o json
sed 's/"solve_s":.*//' "$out" >b.json && sed 's/"solve_s":.*//' first.json >a.json && cmp -s a.json b.json
ok $? "the same again"
run explain "$(cat one)"
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q 'turn 2 by fair share: alice has a share of 66.7 % (weight 2), has used'
ok $? "explain tells turn, share and usage"
config "$(limit 2)"
run place -o json
expect_json '$.fair_share' null
expect_json '$.jobs[0].fair_share.would_hold_gpus' 2.000000

# The tick does the same, and its reason stands in the list of jobs.
config "$(limit 2)
fair_share: {}"
run tick --dry-run
expect_out_has "$(cat two)  would be placed"
run tick
run jobs -o json
tr '\n' ' ' <"$out" | grep -q "gave way to bob's $(cat two) by fair share"
ok $? "the job that waits says to whom it gave way"
# What runs counts with what it still needs: bob's hour on two cards.
NOW=2026-11-30T12:00:01Z
run jobs --shares -o json
share_near bob coming_gpu_hours 2 0.01 "what runs"
NOW=2026-11-30T12:00:00Z

# Priority and a deadline that cannot wait go before shares; a far one does not.
world "$(limit 99)"
job past alice
run tick --until +3h
NOW=2026-11-30T03:00:00Z
job low alice
job other bob
config "$(limit 2)
fair_share: {}"
expect_placed other "bob by shares"
job high alice 'priority: 1'
expect_placed high "a higher priority before any share"
run job cancel "$(cat high)"
job late alice 'deadline: 2026-11-30T04:30:00Z'
expect_placed late "a deadline that leaves no time to wait before shares"
run place --explain
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q "gave way to alice's $(cat late), whose deadline leaves no time to wait"
lost=$?
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q "goes before"
[ $lost -eq 0 ] || [ $? -eq 0 ]
ok $? "and that is told"
run job cancel "$(cat late)"
job far alice 'deadline: 2026-12-09T00:00:00Z'
expect_placed other "a far deadline waits like the others"

# Projects have shares in place of users; names may be of any script.
world "$(limit 4)
fair_share: {by: project, weights: {\"视觉\": 3, nlp: 1}}"
for j in p1:nlp p2:nlp p3:视觉 p4:视觉 p5:视觉; do
	job "${j%:*}" "me" "project: ${j#*:}"
done
expect_placed 'p1 p3' "by project: one each"
config "$(limit 8)
fair_share: {by: project, weights: {\"视觉\": 3, nlp: 1}}"
expect_placed 'p1 p3 p4 p5' "three for one"
run jobs --shares
expect_out_has '^视觉 +3\.00 +75%'

# Two levels: 3 to 1 between projects, and of vision's three of four 2 to 1 between its users; nlp has one, whose weight is no matter.
world "$(limit 24)"
two='fair_share: {by: project, then: user, weights: {vision: 3, nlp: 1}, user_weights: {ann: 2}}'
for i in 1 2 3 4 5 6 7 8 9; do
	job va$i ann 'project: vision'
	job vb$i bob 'project: vision'
	job na$i ann 'project: nlp'
done
config "$(limit 24)
$two"
placed >got
for pair in va:6 vb:3 na:3; do
	n=$(tr ' ' '\n' <got | grep -c "^${pair%:*}")
	[ "$n" -eq "${pair#*:}" ]
	ok $? "${pair%:*} has ${pair#*:} of twelve machines (has $n)"
done
run jobs --shares -o json
expect_is_json berth.shares/1
expect_json '$.fair_share.then' user
share_near vision/ann share 0.5 0.000001 "two thirds of three quarters"
share_near vision/bob share 0.25 0.000001 "one third of them"
share_near nlp/ann share 0.25 0.000001 "a quarter"
expect_json '$.fair_share.projects[1].name' nlp
expect_json '$.fair_share.projects[1].weight' 1.000000
run place --explain
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q 'by fair share: until then [a-z/]* counts [0-9.]* GPU-hours for a weight of [1-3], [a-z/]* [0-9.]* GPU-hours for a weight of [1-3]'
ok $? "and it is told by which figures"
run place
! grep -q "did you mean" "$err"
ok $? "no name is a misspelling"
run tick
replays

# Odd input, each with its place in the file.
for bad in 'half_life: 0s=longer than 0' 'half_life: -7d=' 'half_life: soon=' 'weights: {alice: -1}=' 'weights: {alice: .nan}=' \
    'weights: {alice: .inf}=' 'weights: {alice: 1e300}=' 'weights: {alice: lots}=' 'weights: {alice: }=' 'weights: [alice]=' 'by: team=by user or by project' \
    'then: user=by: project' 'by: project, then: team=then: user' 'user_weights: {ann: 2}=then: user' 'halflife: 7d=did you mean' 'weights: {alice: 1, alice: 2}='; do
	config "$(limit 8)
fair_share: {${bad%=*}}"
	run place
	[ "$status" -eq 1 ] && grep -q 'berth.yaml:6:' "$err" && grep -q -e "${bad#*=}" "$err"
	ok $? "fair_share: {${bad%=*}} is refused"
done
config "fair_share: 7"
run place
expect_exit 1
config "$(limit 8)
fair_share: {half_life: 1s, weights: {nlp: 1e6, '': 3}}"
run place
expect_exit 3 "the shortest half-life, the largest weight and nobody's name"
config "$(limit 8)"
run jobs --shares
expect_exit 1
expect_err_has 'has no fair_share'

# Without shares it is the user who would hold fewest that goes, also where the other's job costs a tenth: of the last ones bob's
# third (6 GPUs with it) goes before alice's fourth (8).
world "$(limit 12)"
for j in a1:alice a2:alice a3:alice a4:alice b1:bob b2:bob b3:bob; do
	job "${j%:*}" "${j#*:}"
done
run job cancel "$(cat b3)"
sed -i 's/work: 1h/work: 10h/' job.yaml
submitted b3
expect_placed 'a1 a2 a3 b1 b2 b3' "the user who would hold fewest goes, with a dearer job too"
done_testing
