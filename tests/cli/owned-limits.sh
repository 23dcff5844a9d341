#!/bin/sh
# Limits and block rules by purchase: a machine that an owned commitment pays for is reserved, until that ends.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/queue.sh"

# A cloud with two H100 machines owned until 06:00, and another that sells the same on spot.
cat >one.trace <<EOF
schema: berth.replay/1
start: $NOW
pools:
  - {provider: aurora, region: r, zone: a, instance_type: h100, accelerator: H100-SXM5-80GB, accelerator_count: 8, startup: [3m, 3m], on_demand: {price: 40, capacity: 8}}
  - {provider: borealis, region: r, zone: a, instance_type: h100, accelerator: H100-SXM5-80GB, accelerator_count: 8, startup: [3m, 3m], spot: {price: 12, capacity: 8}}
EOF
printf 'provider,region,instance_type,accelerator,accelerator_count,count,from,to,upfront,price_per_hour\naurora,r,h100,H100-SXM5-80GB,8,2,2026-11-30T00:00:00Z,2026-11-30T06:00:00Z,0,20\n' >own.csv
world() {	# world LINE NAME:PURCHASE...: one job of 2 h each, with this line in berth.yaml
	home "accounts: [{name: sky, provider: replay, trace: $PWD/one.trace}]
$1"
	shift
	begin
	run commitments import own.csv
	for job; do
		printf 'schema: berth.job/1\nname: %s\naccelerators: "H100-SXM5-80GB:8"\nwork: 2h\nrun: x\npurchase: [%s]\n' "${job%%:*}" "${job#*:}" >job.yaml
		run submit job.yaml
		expect_exit 0
	done
}
goes() {	# goes N PROVIDER WHAT
	[ "$(json "\$.jobs[$1].offer.provider")/$(json "\$.jobs[$1].offer.paid")" = "$2" ]
	ok $? "$3: $2 (is $(json "\$.jobs[$1].offer.provider")/$(json "\$.jobs[$1].offer.paid"))"
}

world 'limits: [{name: dear, unit: machine, limit: 0, purchase: on_demand}]' any:on_demand,spot,reserved own:reserved
run place -o json
goes 0 aurora/true 'a quota of on demand does not count what is owned'
goes 1 aurora/true 'nor for a job that asks for it'
world 'limits: [{name: dear, unit: machine, limit: 0, purchase: on_demand}]' one:on_demand two:on_demand three:on_demand
run place -o json
[ "$(grep -c '"paid": true' "$out")/$(grep -c '"offer": null' "$out")" = 2/1 ]
ok $? 'but what is on demand: two of three have a machine'

world 'limits: [{name: few, unit: machine, limit: 1, purchase: reserved}]' first:on_demand,spot,reserved second:on_demand,spot,reserved
run place -o json
goes 0 aurora/true 'a quota of what is reserved has room for one'
goes 1 borealis/false 'and counts the second'

world 'block: [{purchase: on_demand}]' any:on_demand,spot,reserved own:reserved
run place -o json
goes 0 aurora/true 'a rule against on demand leaves what is owned'
goes 1 aurora/true 'to each'

world 'block: [{purchase: reserved}]' any:on_demand,spot,reserved
run place -o json
goes 0 borealis/false 'a rule against what is reserved hits it'

# Running machines hold room by how they are paid: two owned ones fill a quota of reserved, and none on demand until they end.
world 'limits: [{name: few, unit: machine, limit: 2, purchase: reserved}, {name: dear, unit: machine, limit: 1, purchase: on_demand}]' one:reserved two:reserved
run tick --until +30m
is one running
printf 'schema: berth.job/1\nname: late\naccelerators: "H100-SXM5-80GB:8"\nwork: 1h\nrun: x\npurchase: [on_demand]\n' >job.yaml
run submit job.yaml
run place -o json
goes 0 aurora/false 'two owned machines take nothing of the quota on demand'
done_testing
