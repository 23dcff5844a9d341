#!/bin/sh
# Money for moving data to machines: reserved while a job is placed, booked once when its work begins there, told everywhere.
NOW=2026-12-01T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/queue.sh"

cloud() {	# cloud POOL...: a fresh home with one cloud of such pools
	home "accounts: [{name: toy, provider: replay, trace: $PWD/toy.trace, seed: 3}]"
	printf 'schema: berth.replay/1\nstart: %s\npools:\n' "$NOW" >toy.trace
	for pool; do
		echo "  - {instance_type: a3, accelerator: H100-SXM5-80GB, accelerator_count: 8, vcpus: 192, startup: 5m, $pool}" >>toy.trace
	done
	begin
}
job() {	# job NAME WORK [LINE...]
	printf 'schema: berth.job/1\nname: %s\nuser: ann\nproject: p1\naccelerators: "H100-SXM5-80GB:8"\nwork: %s\nrun: x\n' \
		"$1" "$2" >job.yaml
	shift 2
	for line; do echo "$line" >>job.yaml; done
	run submit job.yaml
	expect_exit 0
}
rows() { "$BERTH" --now "$NOW" budget ledger -o csv --columns kind,instance,amount,note | grep '^egress,'; }
usd() { awk "BEGIN { printf \"%.6f\", $1 }"; }
money() {	# money SPENT RESERVED TEXT
	run budget -o json
	expect_json_near '$.budgets[0].spent' "$1" 2e-6 "$3: spent"
	expect_json_near '$.budgets[0].reserved' "$2" 2e-6 "$3: reserved"
}
europe='provider: gcp, region: europe-west4, zone: a'
# 10 TB are 10^13 / 2^30 GiB, at the 0.09 USD a GiB that aws asks for what leaves it.
tera=$(usd '1e13 / 2^30 * 0.09')

# One job: reserved with the machine, booked when the work begins, once.
cloud "$europe, on_demand: {price: 30}"
run budget set all --cap 1500 --period total
job first 4h 'data: {region: aws/us-east-1, size: 10TB}'
job second 4h 'data: {region: aws/us-east-1, size: 10TB}'
run tick
expect_exit 4 "the cap pays one of them"
money 0 "$(usd "30 * (4 + 5 / 60) + $tera")" "while the machine starts"
[ -z "$(rows)" ]
ok $? "nothing is moved yet"
run tick --until +6m
NOW=2026-12-01T00:06:00Z
run tick
run tick
[ "$(rows)" = "egress,1,$tera,9313.23 GiB of input from aws/us-east-1" ]
ok $? "one row once the work has begun, whatever comes after ($(rows))"
run budget -o json
expect_json_near '$.spent.in_all.egress' "$tera" 1e-6
expect_json_near '$.budgets[0].reserved' "$(usd '30 * (4 + 5 / 60)')" 2 "what is still to be paid is the machine alone"
NOW=2026-12-01T00:00:00Z
run tick --until +12h
NOW=2026-12-01T12:00:00Z
is first 'done'
is second queued "the money that is left does not pay for its data"
all=$(usd "30 * (4 + 5 / 60) + $tera")
money "$all" 0 "at the end"
run jobs --all -o json
expect_json_near '$.jobs[0].cost' "$all" 2e-6 "it is in the job's cost"
run budget
expect_out_has "^spent in all: \\\$960.69 .compute \\\$122.50, egress \\\$838.19.$"
run report -o json
expect_json_near '$.spent' "$all" 2e-6
expect_json_near '$.egress' "$tera" 1e-6
expect_json_near '$.by_purchase.egress' "$tera" 1e-6
expect_json_near '$.by_purchase.on_demand' 122.5 1e-6
expect_json_near '$.by_user.ann' "$all" 2e-6
run report --html page.html
expect_out_has "by user  *ann \\\$960.69"
expect_out_has 'of it \$838.19 of egress'
grep -q '<span>spent, \$838.19 of it egress</span>' page.html
ok $? "the page tells of it"
grep -q '<td>user</td><td>ann</td>' page.html
ok $? "the page tells what each user spent"
grep -q '<td>gcp europe-west4, a</td>' page.html
ok $? "the page tells where each machine was, with its cloud and region"

# Where the data lies nothing is moved.
NOW=2026-12-01T00:00:00Z
cloud "$europe, on_demand: {price: 30}"
job home 1h 'data: {region: gcp/europe-west4, size: 10TB}'
run tick --until +2h
NOW=2026-12-01T02:00:00Z
is home 'done'
[ -z "$(rows)" ]
ok $? "input that is there costs nothing"
run report -o json
expect_json '$.egress' 0.000000

# Each machine that the work begins on has it moved; one that the probe refuses has not.
NOW=2026-12-01T00:00:00Z
cloud "$europe, spot: {price: 9, capacity: [[0h, 1], [80m, 0], [90m, 1]], notice: 2m, interruption_rate: 0.2}"
job taken 3h 'purchase: [spot]' 'checkpoint: {size: 1GB, write: 10s, interval: 10m}' 'data: {region: aws/us-east-1, size: 1TB}'
run tick --until +8h
NOW=2026-12-01T08:00:00Z
is taken 'done'
each=$(usd '1e12 / 2^30 * 0.09')
rows >rows
[ "$(cut -d, -f1-3 rows)" = "egress,1,$each
egress,2,$each" ]
ok $? "once for each of two machines ($(tr '\n' ' ' <rows))"
NOW=2026-12-01T00:00:00Z
cloud "$europe, broken: 1, on_demand: {price: 30, capacity: [[0h, 1]]}"
job refused 1h 'data: {region: aws/us-east-1, size: 1TB}'
run tick --until +1h
NOW=2026-12-01T01:00:00Z
run instances --all -o csv --columns verdict
expect_out_has '^reject'
[ -z "$(rows)" ]
ok $? "a machine that never begins moves nothing"

# A gang: an equal part each, one copy in all.
NOW=2026-12-01T00:00:00Z
cloud "$europe, on_demand: {price: 30, capacity: [[0h, 3]]}"
job gang 1h 'nodes: 3' 'data: {region: aws/us-east-1, size: 1TB}'
run tick --until +3h
NOW=2026-12-01T03:00:00Z
is gang 'done'
[ "$(rows | wc -l)" -eq 3 ]
ok $? "a row for each machine of a gang"
run budget -o json
expect_json_near '$.spent.in_all.egress' "$each" 1e-6 "one copy"

# The output of another job, from where that one ran: 0.12 USD a GiB from gcp to another cloud.
NOW=2026-12-01T00:00:00Z
cloud "$europe, on_demand: {price: 30}" 'provider: aws, region: us-east-1, zone: b, on_demand: {price: 40}'
job make 1h 'providers: [gcp]'
job use 1h 'providers: [aws]' 'after: {job: make, size: 100GB}'
run tick --until +4h
NOW=2026-12-01T04:00:00Z
is use 'done'
[ "$(rows)" = "egress,2,$(usd '1e11 / 2^30 * 0.12'),93.1323 GiB of output from gcp/europe-west4" ]
ok $? "the output is moved once ($(rows))"
done_testing
