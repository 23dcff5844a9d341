#!/bin/sh
# The queue: submit, jobs, job show, cancel and retry.
. "$TOP_SRCDIR/tests/cli/lib.sh"

cat >a.yaml <<'Y'
schema: berth.job/1
name: alpha
user: ada
project: nlp
accelerators: ["A100-80GB:8"]
work: 10h
run: echo train
Y
cat >bad.yaml <<'Y'
schema: berth.job/1
name: beta
acelerators: ["H100:8"]
work: 10h
run: echo train
Y
sed 's/A100-80GB:8/A100-8:8/' a.yaml >unknown.yaml

run submit a.yaml bad.yaml
expect_exit 1
expect_err_has 'bad.yaml:3:1'
expect_err_has "acelerators.*accelerators"
run submit unknown.yaml
expect_exit 1
expect_err_has 'A100-80GB'
# A name is for lists: 255 bytes, in the file and on the command line.
long=$(printf '%0255d' 0)
sed "s/^name: .*/name: x$long/" a.yaml >long.yaml
run submit long.yaml
expect_exit 1
expect_err_has "key 'name': 256 bytes long, at most 255"
expect_err_has 'long.yaml:[0-9]+:7'
for key in user project; do
	{ grep -v "^$key:" a.yaml; echo "$key: x$long"; } >long.yaml
	run submit long.yaml
	expect_err_has "key '$key': 256 bytes long"
	run submit --$key "x$long" a.yaml
	expect_exit 2
	expect_err_has "256 bytes long, at most 255"
	expect_err_has "at: --$key"
done
sed "s/^name: .*/name: $long/" a.yaml >long.yaml
run submit --dry-run long.yaml
expect_exit 0 "so much is allowed"
run submit missing.yaml
expect_exit 1
expect_err_has 'missing.yaml'
run jobs -o json
expect_exit 0 "one bad file leaves the queue empty, and readable"
expect_json '$.jobs[0].id' ''

run submit --dry-run a.yaml
expect_exit 0
run jobs -o json
expect_json '$.jobs[0].id' '' "a dry run queues nothing"

run submit -o json a.yaml
expect_exit 0
expect_is_json berth.submit/1
expect_json '$.jobs[0].name' alpha
id=$(json '$.jobs[0].id')
run submit --priority 5 --name urgent --count 2 a.yaml
expect_lines 2
run jobs -o json
expect_is_json berth.jobs/1
expect_json '$.jobs[0].name' urgent
expect_json '$.jobs[2].id' "$id"
expect_json '$.jobs[2].variants[0].accelerator' A100-80GB
expect_json '$.jobs[2].variants[0].count' 8
expect_json '$.jobs[2].cost' 0.000000
expect_json '$.jobs[2].max_price' null
run jobs --user bob
expect_lines 1 "only the heading for a user without jobs"
run jobs --state quued
expect_exit 2
expect_err_has 'quued'

run job "$id"
expect_exit 0
expect_out_has 'queued'
expect_out_has 'job.submitted'
run job show "$id" -o json
expect_is_json berth.job/1
expect_json '$.run' 'echo train'
expect_json '$.events[0].type' job.submitted
run job j-
expect_exit 1 "a beginning that fits several jobs is refused"
run job nothing
expect_exit 1
expect_err_has 'berth jobs --all'

run job cancel "$id" -o json
expect_json '$.jobs[0].state' cancelled
run job cancel "$id"
expect_exit 1
expect_err_has 'is cancelled'
run job retry "$id"
expect_exit 0
run jobs --state queued -o json
expect_json '$.jobs[2].id' "$id"

run_in "$(cat a.yaml)" submit -
expect_exit 0 "a job from standard input"
for o in table wide csv yaml; do
	run jobs -o $o
	expect_exit 0
	expect_out_has alpha
done
run instances -o json
expect_is_json berth.instances/1
run instances release 7
expect_exit 1
run instances release x
expect_exit 2
done_testing
