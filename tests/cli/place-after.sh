#!/bin/sh
# A job that waits for another starts when that one ends: its end, its deadline and what the chain costs are as of then.
# Start-ups take 5 min. prep: 5 h on slow (50.83 USD) or 2 h on fast (125 USD); train: 7 h 42 min on slow (77.83 USD).
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/chain.sh"

expect_all_has() {	# on standard output or error
	cat "$err" >>"$out"
	expect_out_has "$1"
}
goes() {	# goes N TYPE END: the N-th job
	n="$(json "\$.jobs[$1].offer.instance_type") $(json "\$.jobs[$1].expected_finish")"
	[ "$n" = "$2 2026-11-30T$3Z" ]
	ok $? "job $1 goes to $2 and ends at $3 (is $n)"
}

# Nothing fast: the deadline is missed whatever is done, and the plan says so and why.
chain_cloud
chain_job prep 5h -
chain_job train 7h42m - 'after: {job: prep}' 'deadline: +9h'
run submit prep.yaml train.yaml
run place
expect_exit 3 'a deadline behind the end of both is missed'
expect_all_has 'train: not placed: would end after the deadline: prep ends at 2026-11-30T05:05:00Z, the first possible end is 2026-11-30T12:52:00Z'
run place -o json
goes 0 slow 05:05:00
expect_json '$.jobs[1].offer' null
expect_json '$.jobs[1].refused.deadline' 1
train=$(json '$.jobs[1].id')
run place "$train" -o json
expect_exit 3 'nor by itself'
expect_json '$.jobs[0].refused.deadline' 1
expect_out_has 'prep ends at 2026-11-30T05:05:00Z'

# The same while prep runs: what is left of it counts, 3 h 5 min after two hours.
run tick --until +2h --step 5m
NOW=2026-11-30T02:00:00Z
run place -o json
expect_json '$.jobs[0].offer' null
expect_out_has 'prep ends at 2026-11-30T05:0[0-9]:[0-9]*Z, the first possible end is 2026-11-30T12:'
chain_job late 7h42m - 'after: {job: prep}' 'deadline: +12h'
run submit late.yaml
run place -o json
expect_json '$.jobs[1].offer.instance_type' slow 'one that has the time is placed behind it'
expect_json '$.jobs[1].expected_finish' "$("$AWK" 'match($0, /first possible end is 2026-11-30T[0-9:]*Z/) { print substr($0, RSTART + 22, 20); exit }' "$out")"
NOW=2026-11-30T00:00:00Z

# Which of the two is to be fast, the deadline of the second decides: the cheapest that keeps it.
chain() {	# chain DEADLINE
	chain_cloud
	chain_job prep 5h 2h
	chain_job train 7h42m 3h 'after: {job: prep}' "$1"
	run submit prep.yaml train.yaml
	run place -o json
}
chain 'priority: 0'
goes 0 slow 05:05:00
goes 1 slow 12:52:00
expect_json_near '$.total_cost' 128.666667 1e-5
chain 'deadline: +10h'
expect_exit 0
goes 0 fast 02:05:00
goes 1 slow 09:52:00
expect_json_near '$.total_cost' 202.833333 1e-5
expect_json '$.optimal' true
chain 'deadline: +9h'
goes 0 slow 05:05:00
goes 1 fast 08:10:00
expect_json_near '$.total_cost' 235.833333 1e-5
expect_json '$.jobs[1].refused.deadline' 1 'where it would be late behind that end'
chain 'deadline: +6h'
goes 0 fast 02:05:00
goes 1 fast 05:10:00
run place
expect_exit 0
expect_all_has '05:10'

# Further up the chain too.
chain_cloud
chain_job prep 5h 2h
chain_job train 7h42m - 'after: {job: prep}'
chain_job check 1h - 'after: {job: train}' 'deadline: +12h'
run submit prep.yaml train.yaml check.yaml
run place -o json
goes 0 fast 02:05:00
goes 1 slow 09:52:00
goes 2 slow 10:57:00
expect_json '$.optimal' true
run place "$(json '$.jobs[2].id')" -o json
goes 0 slow 10:57:00

# What starts later takes no quota, no machine and no rate of spending that counts now; of money it takes its part.
quota='limits: [{name: gpus, provider: aurora, unit: gpu, limit: 8}]'
chain_cloud "$quota"
chain_job prep 5h 2h
chain_job train 7h42m 3h 'after: {job: prep}' 'deadline: +9h'
run submit prep.yaml train.yaml
run place -o json
expect_exit 0
goes 0 slow 05:05:00
goes 1 fast 08:10:00
expect_json '$.optimal' true 'both are within the quota of 8, one after the other'
chain_job beside 1h 1h
run submit beside.yaml
run place -o json
expect_exit 3
expect_json '$.jobs[2].offer' null 'which the job beside them is not'
expect_json '$.jobs[2].binds' gpus

# While the one before it runs, and uses all of the quota and of the rate of spending, what it leaves at its end is what counts.
chain_cloud "$quota"
run budget set all -c 65 -p hour
run submit prep.yaml train.yaml
run tick --until +10m --step 1m
NOW=2026-11-30T00:10:00Z
run jobs -o json
expect_json '$.jobs[0].state' running
run place -o json
expect_exit 0
expect_json '$.jobs[0].name' train
expect_json '$.jobs[0].offer.instance_type' fast
run submit beside.yaml
run place -o json
expect_exit 4
expect_json '$.jobs[1].offer' null
expect_json '$.jobs[1].refused.over_budget' 1
expect_json '$.jobs[1].refused.no_quota' 1 'which is not so of one that is to start now'
job=$(json '$.jobs[1].id')
run -y job cancel "$job"
sed -i 's/limit: 8/limit: 4/' "$HOME/.config/berth/berth.yaml"
run place
expect_exit 3
expect_all_has 'train: not placed: over a quota by itself: gpus is 4 in all'
NOW=2026-11-30T00:00:00Z
chain_cloud
run budget set all -c 65 -p hour
run submit prep.yaml train.yaml
run place
expect_exit 0
expect_out_has 'train .*fast .* 185.00'
run budget set all -c 200 -p total
run place -o json
expect_exit 4
expect_json '$.jobs[1].offer' null '200 USD pay for one of them'

# Named alone, the first goes where it goes with those behind it named too, and where the tick puts it: they are in view, and not told of.
chain 'deadline: +10h'
run place prep -o json
expect_exit 0
goes 0 fast 02:05:00
expect_json '$.jobs[1].id' '' 'the one behind it is not told of'
expect_json_near '$.total_cost' 125 1e-5
expect_json '$.jobs[0].must_end' 2026-11-30T06:55:00Z
run place --replay placement
expect_exit 0
run place prep train -o json
goes 0 fast 02:05:00
goes 1 slow 09:52:00
run tick
run instances -o csv --columns type
expect_out fast
chain 'priority: 0'
run place prep -o json
goes 0 slow 05:05:00
chain_cloud
chain_job prep 5h 2h
chain_job train 7h42m - 'after: {job: prep}'
chain_job check 1h - 'after: {job: train}' 'deadline: +12h'
run submit prep.yaml train.yaml check.yaml
run place prep -o json
goes 0 fast 02:05:00
run place prep --for finish -o json
expect_exit 0 'an early finish looks at the named alone'
goes 0 fast 02:05:00
run place nobody
expect_exit 1
done_testing
