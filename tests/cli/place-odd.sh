#!/bin/sh
# Odd values of each rule of placement: refused with file, line, key and what to do, or the right plan; a name that nothing
# has is told, and none is quietly taken for another place.
. "$TOP_SRCDIR/tests/cli/lib.sh"

cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,vcpus,purchase,price_per_hour,currency
aws,us-east-1,cheap,A100-PCIE-40GB,8,96,on_demand,10,USD
aws,eu-west-1,mid,A100-SXM4-80GB,8,96,on_demand,20,USD
gcp,us-east-1,other,L4,1,8,on_demand,1,USD
CSV
printf 'schema: berth.config/1\n' >berth.yaml
run --config berth.yaml --store odd.db prices import offers.csv
expect_exit 0
job() {	# job LINE...
	printf 'schema: berth.job/1\nname: odd\nrun: make\naccelerators: "A100:8"\nwork: 10h\npurchase: [on_demand]\n' >odd.yaml
	for line; do printf '%s\n' "$line"; done >>odd.yaml
	run --config berth.yaml --store odd.db submit odd.yaml
}
place() {	# place CONFIG: the last job alone
	run --config "$1" --store odd.db submit odd.yaml -o json
	id=$(json '$.jobs[0].id')
	run --config "$1" --store odd.db place "$id" -o json
}
refused() {	# refused KEY-AND-WORDS LINE...
	words=$1
	shift
	job "$@"
	expect_exit 1 "refused: $*"
	expect_err_has "$words"
	expect_err_has 'odd.yaml:7:'
}
goes() {	# goes REGION|null EXIT LINE...
	region=$1 code=$2
	shift 2
	job "$@"
	[ "$status" -eq 0 ] || expect_exit 0 "taken: $*"
	place berth.yaml
	{ [ "$status" -eq "$code" ] && [ "$(json '$.jobs[0].offer.region')" = "$region" ]; } ||
	    { [ "$status" -eq "$code" ] && [ "$region" = null ] && [ "$(json '$.jobs[0].offer')" = null ]; }
	ok $? "$region, exit $code: $*"
}

# Where it may go: case does not matter, a name may have its provider, what nothing matches is named.
refused "key 'regions': pattern 1 is empty and matches nothing: leave it out, or say '\*'" 'regions: [""]'
refused "key 'providers': pattern 2 is empty" 'providers: [aws, ""]'
goes us-east-1 0 'regions: []'
goes us-east-1 0 'regions: [US-East-1]'
goes us-east-1 0 'regions: [aws/us-east-1, aws/us-east-1]'
goes eu-west-1 0 'regions: ["AWS/eu-*"]'
goes null 3 'regions: [us-eest-1]'
expect_err_has "no offer is of region 'us-eest-1': did you mean us-east-1\?"
goes null 3 'regions: [gcp/us-east-1]'
expect_json '$.jobs[0].refused.residency' 2
goes null 3 'regions: ["ü*"]'
expect_err_has "no offer is of region 'ü\*'"
goes us-east-1 0 'providers: [AWS]'
goes null 3 'providers: [awz]'
expect_err_has "no offer is of provider 'awz': did you mean aws\?"

# How far, and what moving the data costs, in any case of letters.
goes eu-west-1 0 'latency: {to: AWS/EU-Central-1, max: 60ms}'
goes null 3 'latency: {to: aws/eu-centrel-1, max: 60ms}'
expect_err_has "nobody knows where 'aws/eu-centrel-1' lies: did you mean eu-central-1\?"
refused "key 'latency.max': '0ms' is no time of a round trip" 'latency: {to: aws/us-east-1, max: 0ms}'
refused "key 'latency': the key 'max' is missing" 'latency: {to: aws/us-east-1}'
goes us-east-1 0 'data: {region: AWS/US-EAST-1, size: 10TB}'
expect_json_near '$.jobs[0].offer.egress_cost' 0 1e-9
goes eu-west-1 0 'data: {region: Aws/Eu-West-1, size: 10TB}'
expect_json_near '$.jobs[0].offer.egress_cost' 0 1e-9
goes us-east-1 0 'data: {region: aws/eu-west-1, size: 0}'
refused "key 'data': the key 'region' is missing" 'data: {size: 10TB}'
refused "key 'data': the key 'size' is missing" 'data: {region: aws/eu-west-1}'

# Money and time at their edges.
goes null 3 'max_price: 0'
expect_json '$.jobs[0].refused.max_price' 2
goes us-east-1 0 'max_price: 10'
goes null 3 'max_price: 9.999999'
goes null 4 'max_cost: 0'
refused "key 'max_price': money: 'nan'" 'max_price: nan'
refused "key 'max_price': an amount of money must not be negative" 'max_price: -1'
refused "key 'max_cost': money: '1e300' is out of range" 'max_cost: 1e300'
refused "key 'deadline': lies in the past" 'deadline: 2026-11-30T12:00:00Z'
refused "key 'priority': 1001 is not in -1000..1000" 'priority: 1001'
refused "key 'nodes': 0 is not in 1..4096" 'nodes: 0'
refused "key 'link': must be more than 0" 'link: 0GB'
job 'max_price: 1' 'max_price: 2'
expect_exit 1 'a key that contradicts itself'
expect_err_has 'odd.yaml:8:'

# Reserved alone, with nothing owned.
printf 'schema: berth.job/1\nname: odd\nrun: make\naccelerators: "A100:8"\nwork: 10h\npurchase: [reserved]\n' >odd.yaml
place berth.yaml
expect_exit 3
expect_err_has 'no owned commitment has a machine for it: `berth commitments`'

# A job that waits for itself, or two that wait for each other: none is stored.
printf 'schema: berth.job/1\nname: egg\nrun: make\naccelerators: "A100:8"\nwork: 1h\nafter: {job: hen}\n' >egg.yaml
sed -e 's/egg/x/;s/hen/egg/;s/: x/: hen/' egg.yaml >hen.yaml
run --config berth.yaml --store odd.db submit egg.yaml hen.yaml
expect_exit 1
expect_err_has "egg.yaml: after: no job 'hen' is known"
run --config berth.yaml --store odd.db jobs -o csv --columns name
expect_out_lacks 'egg|hen'

# Quotas: what they count is what their words say.
quota() {	# quota LINE...: the plain job under these limits
	printf 'schema: berth.config/1\nlimits:\n' >lim.yaml
	for line; do printf '  - %s\n' "$line"; done >>lim.yaml
	printf 'schema: berth.job/1\nname: odd\nrun: make\naccelerators: "A100:8"\nwork: 10h\npurchase: [on_demand]\n' >odd.yaml
	place lim.yaml
}
quota '{name: none, limit: 0}'
expect_exit 3
expect_json '$.jobs[0].refused.no_quota' 2
quota '{provider: aws, limit: 7}'
expect_exit 3 'less than one machine'
expect_err_has 'aws has 7 left' 'a limit without a name is called by what it counts'
quota '{name: family, accelerator: a100, limit: 0}'
expect_exit 3 'an A100 is every A100'
quota '{name: one, accelerator: A100-PCIE-40GB, limit: 0}'
expect_json '$.jobs[0].offer.region' eu-west-1 'and one product that one alone'
quota '{name: case, provider: AWS, region: US-EAST-1, purchase: on-demand, limit: 0}'
expect_json '$.jobs[0].offer.region' eu-west-1 'on-demand is on_demand'
quota '{name: typo, provider: awss, limit: 0}'
expect_exit 0
expect_err_has "limit 'typo' of berth.yaml counts none of the 3 offers"
expect_json '$.limits[0].offers' 0
bad() {	# bad WORDS LINE...
	words=$1
	shift
	quota "$@"
	expect_exit 1 "refused: $*"
	expect_err_has "$words"
	expect_err_has 'lim.yaml:[34]:'
}
bad "purchase': 'ondemnd' is none of on_demand, spot and reserved" '{name: a, purchase: ondemnd, limit: 0}'
bad "unit must be gpu, machine or vcpu, not 'gpus'" '{name: a, unit: gpus, limit: 0}'
bad "limit': -1 is not in 0..1099511627776" '{name: a, limit: -1}'
bad "limit': 'nan' is not a whole number" '{name: a, limit: nan}'
bad "the key 'limit' is missing" '{name: a, provider: aws}'
bad "'a' names another limit already" '{name: a, limit: 8}' '{name: a, limit: 16}'
bad "parent': there is no such key" '{name: a, parent: b, limit: 8}'
done_testing
