#!/bin/sh
# Deadlines of jobs that wait for another, as that one is expected to end; and what ticks keep while a deadline is lost.
# Start-ups take 5 min: prep, 5 h of work, ends at 05:05, and train, 7 h 42 min, at 12:52 where it begins then.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/clouds.sh"
. "$TOP_SRCDIR/tests/cli/chain.sh"

told() {	# told JOB [TYPE]: times of the events about it
	"$BERTH" --now "$NOW" events --type "${2:-job.deadline_at_risk}" -o csv --columns time,subject |
		sed -n "s/^\\(.*\\),$1\$/\\1/p" | tr '\n' ' '
}
told_is() {	# told_is JOB TYPE TIME...: so often, and then
	got=$(told "$1" "$2")
	job=$1 type=$2
	shift 2
	[ "$got" = "${*:+$* }" ]
	ok $? "$type of $job: ${*:-never} (is $got)"
}
two() {	# two [LINE-OF-TRAIN...]: prep, and train behind it
	chain_job prep 5h -
	chain_job train 7h42m - 'after: {job: prep}' "$@"
	run submit prep.yaml train.yaml
	prep=$(sed -n 's/^\(j-[^ ]*\) .*prep.*/\1/p' "$out") train=$(sed -n 's/^\(j-[^ ]*\) .*train.*/\1/p' "$out")
}
explained() {	# explained TEXT: each decision to wait comes out the same
	waits_replay "$1" 1
}

# Lost from the first tick on: told once, with the end and what would help; then it is missed.
chain_cloud
two 'deadline: +12h'
run tick --until +4h
told_is "$train" job.deadline_at_risk 2026-11-30T00:00:00Z
told_is "$prep" job.deadline_at_risk
run events --type job.deadline_at_risk -o json
expect_out_has 'prep ends at 2026-11-30T05:05:00Z at the soonest, so that it would end at 2026-11-30T12:52:00Z on aurora a slow on_demand, after its deadline of 2026-11-30T12:00:00Z'
expect_out_has "a deadline of 2026-11-30T12:52:00Z or later .*, or an end of $prep by 2026-11-30T04:13:00Z, would keep it"
NOW=2026-11-30T04:00:00Z
run jobs -o json
expect_json '$.jobs[1].state' queued
expect_out_has "waits until $prep is done; prep ends at 2026-11-30T05:0[5-7].*after its deadline of 2026-11-30T12:00:00Z"
run explain train
expect_out_has 'what would change it: a deadline of 2026-11-30T12:52:00Z or later'
expect_out_has 'this was still so at 2026-11-30T04:00:00Z'
explained 'a deadline that is lost behind another job'
run tick --until +9h
NOW=2026-11-30T13:00:00Z
told_is "$train" job.deadline_at_risk 2026-11-30T00:00:00Z
told_is "$train" job.deadline_missed 2026-11-30T12:01:00Z
told_is "$prep" job.deadline_missed
run report -o json
expect_json '$.jobs.deadline_missed' 1
run explain train -o json
expect_json '$.deadline_missed' true
explained 'after it has passed'

# One that can be kept is told of nowhere, not at the end of the first job either.
NOW=2026-11-30T00:00:00Z
chain_cloud
two 'deadline: +12h58m'
run tick --until +14h
NOW=2026-11-30T14:00:00Z
is train done 'in time, with nothing told'
told_is "$train" job.deadline_at_risk
told_is "$train" job.deadline_missed

# It becomes so: the first job gets its machine at 04:00, and after 02:08 its soonest end is too late.
NOW=2026-11-30T00:00:00Z
cloud_of '- {provider: aurora, region: r, zone: a, instance_type: slow, accelerator: A100-SXM4-80GB, accelerator_count: 8, vcpus: 8, startup: [5m, 5m], on_demand: {price: 10, capacity: [[0h, 0], [4h, 9]]}}'
two 'deadline: +15h'
run tick --until +3h
told_is "$train" job.deadline_at_risk 2026-11-30T02:09:00Z
NOW=2026-11-30T03:00:00Z
run job deadline train +16h
run tick --until +1m
run jobs -o json
expect_json '$.jobs[1].reason' "waits until $prep is done" 'with another deadline it only waits'
run tick --until +17h
NOW=2026-11-30T20:00:00Z
is train done
told_is "$train" job.deadline_at_risk 2026-11-30T02:09:00Z
told_is "$train" job.deadline_missed

# The third of a chain, behind two that wait or run; and one before it that is cancelled.
NOW=2026-11-30T00:00:00Z
chain_cloud
two 'priority: 0'
chain_job check 1h - 'after: {job: train}' 'deadline: +13h30m'
run submit check.yaml
check=$(sed -n 's/^\(j-[^ ]*\) .*/\1/p' "$out")
run tick --until +2h
told_is "$check" job.deadline_at_risk 2026-11-30T00:00:00Z
run events --type job.deadline_at_risk -o json
expect_out_has "train ends at 2026-11-30T12:52:00Z at the soonest, so that it would end at 2026-11-30T13:57:00Z"
run job deadline check +20h
run tick --until +1m
told_is "$check" job.deadline_at_risk 2026-11-30T00:00:00Z
NOW=2026-11-30T02:10:00Z
run job cancel "$train"
run tick
run tick
told_is "$check" job.deadline_at_risk 2026-11-30T00:00:00Z 2026-11-30T02:10:00Z
run jobs -o json
expect_out_has "waits for $train, which will not end \\(cancelled\\): cancel it or submit it without; so its deadline of .* is lost"
explained 'behind one that will not end'

# A deadline that nothing keeps is one record, however many ticks say so with other times; its text of now is in jobs and explain.
NOW=2026-11-30T00:00:00Z
chain_cloud
chain_job lone 5h - 'deadline: +4h'
run submit lone.yaml
run tick
rows() { "$BERTH" --now "$NOW" store export decision | wc -l; }
first=$(rows)
run tick --until +3h
[ "$(rows)" -eq "$first" ] && [ "$first" -eq 3 ]
ok $? "181 ticks keep what one does: $(rows) rows"
NOW=2026-11-30T03:00:00Z
run explain lone
expect_out_has 'the first possible end is 2026-11-30T05:05:00Z, for'
expect_out_has 'with its times as of then: .*the first possible end is 2026-11-30T08:05:00Z, for'
explained 'a deadline that no offer keeps'
done_testing
