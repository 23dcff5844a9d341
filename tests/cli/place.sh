#!/bin/sh
# berth place and explain: rules, costs, limits, what is kept, exit statuses.
. "$TOP_SRCDIR/tests/cli/lib.sh"

# submit NAME ACCELERATORS HOURS [LINE ...]: a job; its id goes to $id
submit() {
	name=$1 gpus=$2 hours=$3
	shift 3
	{
		printf 'schema: berth.job/1\nname: %s\naccelerators: "%s"\nwork: %s\ncheckpoint:\n  size: 1GB\n  write: 10s\n' \
		    "$name" "$gpus" "$hours"
		for line; do printf '%s\n' "$line"; done
		printf 'run: |\n  true\n'
	} >"$name.yaml"
	run submit "$name.yaml" -o json
	id=$(json '$.jobs[0].id')
	[ -n "$id" ] || id=$(json '$.ids[0]')
}

run place
expect_exit 0 "an empty queue is no error"

cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,vcpus,purchase,price_per_hour,currency
acme,us-west,forty,A100-40GB,1,12,on_demand,1.25,USD
rover,us,eighty,A100-80GB,1,16,on_demand,1.75,USD
rover,us,eighty8,A100-80GB,8,128,on_demand,14.0,USD
big,us-east,ten,A10G,1,4,on_demand,1.0,USD
big,us-east,hopper,H100,8,192,on_demand,56,USD
big,us-east,v4,V100-16GB,4,32,on_demand,12.24,USD
big,us-east,v4,V100-16GB,4,32,spot,4.00,USD
CSV
submit one A100-80GB:1 10h
eighty=$id
run place
expect_exit 3 "a job, and no offers"
expect_err_has 'berth prices'

run prices import offers.csv
expect_exit 0

# 10 h at 1.75 and 5 min of start-up: 10.0833 h.
run place -o json
expect_exit 0
expect_is_json berth.placement/1
expect_json '$.jobs[0].offer.provider' rover
expect_json '$.jobs[0].offer.instance_type' eighty
# 10 h, 5 min of start-up and 10 s after each 2 h but the last, at 1.75 USD.
expect_json_near '$.jobs[0].expected_cost' 17.665278 1e-6
expect_json_near '$.total_cost' 17.665278 1e-6
expect_json_near '$.lower_bound' 17.665278 1e-6
expect_json '$.jobs[0].start' 2026-11-30T12:05:00Z
expect_json '$.jobs[0].expected_finish' 2026-11-30T22:05:40Z
expect_json '$.jobs[0].candidates_seen' 7
expect_json '$.jobs[0].refused.accelerator' 5
expect_json '$.jobs[0].refused.dearer' 1
expect_json '$.jobs[0].runner_up.instance_type' eighty8

run explain "$eighty"
expect_exit 0
expect_out_has 'rover us eighty on_demand: 17.67 USD'
expect_out_has 'rover us eighty8 on_demand \+123.66 USD'
run explain "$eighty" -o json
expect_is_json berth.explanation/1
expect_json '$.decisions[0].decision.offer.provider' rover
run job cancel "$eighty"

# Any A100; with a least memory; another name is never met by its beginning.
submit any A100:1 10h
run place "$id" -o json
expect_json '$.jobs[0].offer.instance_type' forty
run job cancel "$id"
submit mem A100:48GB..:1 10h
run place "$id" -o json
expect_json '$.jobs[0].offer.instance_type' eighty
run job cancel "$id"
submit ten A10:1 1h
run place "$id" -o json
expect_exit 3 "an A10 is asked for, A10G and A100 are there"
expect_json '$.jobs[0].offer' null
expect_json '$.jobs[0].refused.accelerator' 7
run job cancel "$id"

# A gang larger than any machine is not placed, with the numbers.
submit gang A100-80GB:16 1h
run place "$id"
expect_exit 3
expect_err_has 'needs 16 on one machine, the most on one is 8'
run job cancel "$id"

# What many jobs lack is said once; of each by itself with --explain, and where few of them do.
submit many A100-80GB:16 1h
run submit -n 4 many.yaml
run place
expect_exit 3
expect_out_has "^$id many and 4 more: not placed: too few accelerators on one machine"
lines=$(grep -c ': not placed: too few' "$out")
[ "$lines" -eq 1 ]
ok $? "five jobs that lack the same are told of once ($lines)"
run place -e
lines=$(grep -c ': not placed: too few' "$out")
[ "$lines" -eq 5 ]
ok $? "--explain tells of each ($lines)"
run jobs -o csv --columns id --no-headers
# shellcheck disable=SC2046
run job cancel $(tail -n 2 "$out")
run place
lines=$(grep -c ': not placed: too few' "$out")
[ "$lines" -eq 3 ]
ok $? "three are told of one by one ($lines)"
run jobs -o csv --columns id --no-headers
# shellcheck disable=SC2046
run job cancel $(cat "$out")

# Deadline, price, money.
submit late A100-80GB:1 10h 'deadline: 2026-11-30T20:00:00Z'
run place "$id"
expect_exit 3
expect_err_has 'first possible end is 2026-11-30T22:05:40Z, for 17.67 USD'
run job cancel "$id"
submit cheap A100-80GB:1 10h 'max_price: 1.00'
run place "$id"
expect_exit 3
expect_err_has 'asks 1.75 USD an hour'
run job cancel "$id"

# Spot: 10 h with interruptions costs more than 10 h, and less than on demand.
submit spot V100:4 10h
run place "$id" -o json
expect_json '$.jobs[0].offer.purchase' spot
awk -v c="$(json '$.jobs[0].expected_cost')" 'BEGIN { exit !(c > 40 && c < 60) }'
ok $? "10 h of spot at 4.00 cost between 40 and 60 USD"
first=$(json '$.jobs[0].expected_cost')
run job cancel "$id"

# Quotas count what they say: 64 vCPUs are two machines of 32; the grant for spot is its own.
mkdir -p "$HOME/.config/berth"
cat >"$HOME/.config/berth/berth.yaml" <<YAML
schema: berth.config/1
limits:
  - name: big vCPUs
    provider: big
    purchase: on_demand
    unit: vcpu
    limit: 64
YAML
for k in a b c; do submit "v$k" V100:4 10h 'purchase: [on_demand]'; done
run place -o json
expect_exit 3 "three jobs, two machines"
placed=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | grep -c 'offer.instance_type	v4$')
[ "$placed" -eq 2 ]
ok $? "two of three are placed ($placed)"
expect_out_has '"binds": "big vCPUs"'
submit hop H100:8 1h
run place "$id"
expect_exit 3 "a machine of 192 vCPUs is over a quota of 64"
expect_err_has 'big vCPUs has 64 left'

# The same input, the same placement.
run place -o json
grep -v solve_s "$out" >first
run place -o json
grep -v solve_s "$out" | cmp -s - first
ok $? "two runs place the same"

# A dry run keeps nothing.
run place --dry-run
run explain "$id" -n 100 -o json
before=$(grep -c '"decision"' "$out")
run place "$id" --dry-run
run explain "$id" -n 100 -o json
[ "$(grep -c '"decision"' "$out")" -eq "$before" ]
ok $? "--dry-run keeps no decision"
run explain j-nobody
expect_exit 1
run place j-nobody
expect_exit 1

# Fair shares: four GPUs, three jobs of alice's before one of bob's: one each. Of one user the first goes first.
mkdir fair && cd fair || exit 1
cat >berth.yaml <<YAML
schema: berth.config/1
limits:
  - {name: four, accelerator: "L4", limit: 4, unit: gpu}
YAML
printf 'provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency\nacme,r1,two,L4,2,on_demand,2,USD\n' >offers.csv
run --config berth.yaml --store fair.db prices import offers.csv
for j in one:alice two:alice three:alice four:bob; do
	printf 'schema: berth.job/1\nname: %s\nuser: %s\naccelerators: ["L4:2"]\nwork: 1h\npurchase: [on_demand]\nrun: make\n' "${j%:*}" "${j#*:}" >job.yaml
	run --config berth.yaml --store fair.db submit job.yaml
	expect_exit 0
done
run --config berth.yaml --store fair.db place --list-prices -o csv --columns name,provider
expect_out one,acme
expect_out two,
expect_out three,
expect_out four,acme
done_testing
