#!/bin/sh
# defaults of berth.yaml: region, purchase and max_price are rails for jobs, replicas and plans; horizon and service_level for plans.
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/queue.sh"

cat >offers.csv <<'EOF'
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,price_per_hour
aurora,us-east-1,h8,H100-SXM5-80GB,8,on_demand,,30
aurora,eu-west-1,h8,H100-SXM5-80GB,8,on_demand,,50
aurora,eu-west-1,h8,H100-SXM5-80GB,8,reserved,12,24
borealis,us-east4,a3,H100-SXM5-80GB,8,spot,,12
borealis,us-east4,a3,H100-SXM5-80GB,8,reserved,12,18
EOF
awk 'BEGIN { print "time,gpus,accelerator"
	for (d = 1; d <= 28; d++) for (h = 0; h < 24; h++) printf "2026-11-%02dT%02d:00:00Z,%d,H100-SXM5-80GB\n", d, h, (h > 8 ? 24 : 12) }' >use.csv
job() {	# job NAME LINE...
	printf 'schema: berth.job/1\nname: %s\naccelerators: "H100-SXM5-80GB:8"\nwork: 2h\nrun: x\n' "$1" >job.yaml
	shift
	for line; do echo "$line" >>job.yaml; done
	run submit job.yaml
}
world() {	# world DEFAULTS: a fresh store with these, and one job that can resume and says nothing
	home "${1:+defaults: {$1\}}"
	run init --no-prices
	run prices import offers.csv
	run record csv use.csv
	job plain 'checkpoint: {write: 10s}'
}
goes() {	# goes PLACE WHAT
	run place -o json
	[ "$(json '$.jobs[0].offer.region')/$(json '$.jobs[0].offer.purchase')" = "$1" ]
	ok $? "$2: $1 (is $(json '$.jobs[0].offer.region')/$(json '$.jobs[0].offer.purchase'))"
}
world ''
goes us-east4/spot 'without defaults'
run plan -o json
expect_json '$.horizon_s' 31449600

world 'region: "eu-*"'
goes eu-west-1/on_demand 'in a region'
run plan -o json
expect_exit 0
grep -q us-east "$out"
[ $? -ne 0 ] && grep -q eu-west-1 "$out"
ok $? 'a plan buys there alone'
run plan --region 'us-*' -o json
grep -q eu-west-1 "$out"
[ $? -ne 0 ]
ok $? 'the command line goes first'
job own 'checkpoint: {write: 10s}' 'regions: [us-east-1]' 'purchase: [on_demand]'
run place -o json
expect_json '$.jobs[1].offer.region' us-east-1 "the job's own goes first"

world 'max_price: 31'
goes us-east4/spot 'under a price'
run plan -o json
expect_exit 0
grep -q '"price_per_hour": 50' "$out"
[ $? -ne 0 ]
ok $? 'a plan buys nothing dearer'
world 'max_price: 11'
run place
expect_exit 3
expect_err_has 'max_price'
job dear 'max_price: 60' 'purchase: [on_demand]'
run place -o json
expect_json '$.jobs[1].offer.region' us-east-1 "the job's own goes first"

world 'purchase: on_demand'
goes us-east-1/on_demand 'bought on demand'
run plan -o json
expect_exit 0
[ "$(grep -c '"purchase": "\(reserved\|spot\)"' "$out")" -eq 0 ]
ok $? 'a plan reserves nothing and takes no spot'
world 'purchase: spot'
goes us-east4/spot 'bought on spot'
job fixed
expect_exit 1
expect_err_has 'job.yaml: purchase under defaults of berth.yaml leaves the job nothing'
job fixed 'purchase: [on_demand]'
expect_exit 0 "which its own file may change"

# A plan is made again as berth.yaml was then.
world 'region: "eu-*", purchase: [on_demand, reserved], max_price: 60, horizon: 2w, service_level: 0.8'
run plan -o json
expect_json '$.horizon_s' 1209600
grep -q '"service_level": 0.8' "$out"
ok $? 'its service level'
berth_yaml 'defaults: {region: "us-*", horizon: 9w}'
run plan --replay 1
expect_exit 0
berth_yaml ''
run plan --replay 1
expect_exit 0
run forecast -o json
expect_exit 0

# Faults name the line.
berth_yaml 'defaults: {max_price: 0}'
run submit job.yaml
expect_exit 1
expect_err_has 'berth.yaml:2:'
berth_yaml 'defaults: {purchase: []}'
run place
expect_exit 1
expect_err_has 'allows nothing'
done_testing
