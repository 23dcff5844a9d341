#!/bin/sh
# Each rule of placement by itself: without it the job goes to one place, with it to another, and the output says why.
. "$TOP_SRCDIR/tests/cli/lib.sh"

cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,vcpus,purchase,price_per_hour,currency
aws,us-east-1,cheap,A100-PCIE-40GB,8,96,on_demand,10,USD
aws,us-east-1,cheap,A100-PCIE-40GB,8,96,spot,4,USD
aws,eu-west-1,mid,A100-SXM4-80GB,8,96,on_demand,20,USD
gcp,europe-west4,fast,H100-SXM5-80GB,8,208,on_demand,60,USD
aws,us-east-1,small,L4,1,8,on_demand,0.8,USD
aws,eu-west-1,small,L4,1,8,on_demand,1.0,USD
own,cellar,box,L40S,8,64,on_demand,30,USD
CSV
: >none.yaml
printf 'schema: berth.config/1\n' >berth.yaml

# place FIELD=VALUE-OF-THE-FIRST-JOB LINES...: a fresh store with one job of these lines
one() {
	rm -f one.db*
	run --config berth.yaml --store one.db prices import offers.csv
	printf 'schema: berth.job/1\nname: one\nrun: make\n' >one.yaml
	for line; do printf '%s\n' "$line"; done >>one.yaml
	run --config berth.yaml --store one.db submit one.yaml
	[ "$status" -eq 0 ] || expect_exit 0
	run --config berth.yaml --store one.db place -o json
}
goes() {	# goes TYPE REGION WHAT
	[ "$(json '$.jobs[0].offer.instance_type')/$(json '$.jobs[0].offer.region')" = "$1/$2" ]
	ok $? "$3: $1 in $2 (is $(json '$.jobs[0].offer.instance_type')/$(json '$.jobs[0].offer.region'))"
}
od='purchase: [on_demand]'

one 'accelerators: "A100:8"' 'work: 10h' "$od"
goes cheap us-east-1 'nothing but the cost'
one 'accelerators: "A100:48GB+:8"' 'work: 10h' "$od"
goes mid eu-west-1 'memory'
expect_json '$.jobs[0].refused.memory' 2
one 'variants:' '  - {name: int8, accelerator: "L4:1", memory: 20GB, work: 30h}' '  - {name: bf16, accelerator: "A100:8", memory: 60GB, work: 2h}' "$od"
goes small us-east-1 'memory per variant: the int8 variant fits the small card'
one 'variants:' '  - {name: int8, accelerator: "L4:1", memory: 40GB, work: 30h}' '  - {name: bf16, accelerator: "A100:8", memory: 60GB, work: 2h}' "$od"
goes mid eu-west-1 'memory per variant: too little on the small card, the other variant is taken'
one 'accelerators: ["A100:8", "L40S:8"]' 'work: 10h' "$od" 'regions: ["cellar", "eu-*"]'
goes mid eu-west-1 'residency'
expect_json '$.jobs[0].refused.residency' 2
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'providers: [gcp]'
expect_exit 3 'no A100 at the only provider that is allowed'
expect_json '$.jobs[0].refused.provider' 3
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'latency: {to: aws/eu-central-1, max: 60ms}'
goes mid eu-west-1 'latency'
expect_json '$.jobs[0].refused.latency' 2
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'latency: {to: aws/us-east-1, max: 60ms}'
goes cheap us-east-1 'latency to the other side'
one 'accelerators: "L40S:8"' 'work: 10h' "$od" 'latency: {to: aws/us-east-1, max: 60ms}'
expect_exit 3 'nobody knows how far the cellar is'
expect_json '$.jobs[0].refused.latency' 1
run --config berth.yaml --store one.db submit one.yaml
sed 's/max: 60ms/max: soon/' one.yaml >bad.yaml
run --config berth.yaml --store one.db submit bad.yaml
expect_exit 1 'a latency that is no time'
expect_err_has "latency.max.*say 40ms"
expect_err_has 'bad.yaml:7:'
one 'accelerators: ["L40S:8", "H100:8"]' 'work: 10h' "$od"
goes fast europe-west4 'a faster card is cheaper for the work'
one 'accelerators: ["A100:8", "L40S:8"]' 'work: 10h' "$od" 'link: 300GB'
[ "$(json '$.jobs[0].offer.accelerator')" != L40S ]
ok $? 'fabric: no gang on cards without a link'
expect_json '$.jobs[0].refused.fabric' 1
one 'accelerators: "L4:1"' 'work: 10h' "$od" 'link: 300GB'
goes small us-east-1 'a gang of one needs no link'
one 'accelerators: "L4:2"' 'work: 10h' "$od"
expect_exit 3 'a gang of two on machines of one'
expect_json '$.jobs[0].refused.gang' 2
expect_json '$.jobs[0].changes[0].what' gang 'what would change it: machines of one'
one 'accelerators: ["L4:2", "A100:8"]' 'work: 10h' "$od" 'regions: ["mars-*"]'
[ "$(json '$.jobs[0].refused.gang')" = 2 ] && [ "$(json '$.jobs[0].refused.residency')" -ge 1 ]
ok $? 'some are too small, and what is large enough lies elsewhere'
expect_json '$.jobs[0].changes[0].what' residency 'fewer on a machine would not help: the region keeps the others out'
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'data: {region: aws/eu-west-1, size: 100GB}'
goes cheap us-east-1 'little data travels'
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'data: {region: aws/eu-west-1, size: 10TB}'
goes mid eu-west-1 'egress: much data stays at home'
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'data: {region: gcp/europe-west4, size: 10TB}'
expect_json_near '$.jobs[0].offer.egress_cost' 1117.587090 1e-5
one 'accelerators: ["A100:8", "H100:8"]' 'work: 10h' "$od" 'deadline: 2026-11-30T16:00:00Z'
goes fast europe-west4 'a deadline that only the fast card keeps'
expect_json '$.jobs[0].refused.deadline' 2
expect_json '$.jobs[0].changes[0].what' deadline
expect_json '$.jobs[0].changes[0].at' 2026-11-30T22:05:00Z
one 'accelerators: ["H100:8", "A100:8"]' 'work: 1h' "$od" 'max_price: 15'
goes cheap us-east-1 'max_price'
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'max_cost: 90'
expect_exit 4 'max_cost'
expect_json '$.jobs[0].changes[0].what' over_budget
expect_json_near '$.jobs[0].changes[0].to' 100.833333 1e-6
one 'accelerators: "A100:8"' 'work: 10h' 'checkpoint: {size: 1GB, write: 10s}'
expect_json '$.jobs[0].offer.purchase' spot 'spot survival: a job that resumes'
one 'accelerators: "A100:8"' 'work: 10h' 'purchase: [on_demand, spot]'
expect_json '$.jobs[0].offer.purchase' on_demand 'a job that cannot resume would be lost'
expect_json '$.jobs[0].refused.cannot_resume' 1

# A deadline to the second: 10 h of work and 5 min of start.
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'deadline: 2026-11-30T22:05:00Z'
goes cheap us-east-1 'a deadline that is just kept'
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'deadline: 2026-11-30T22:04:59Z'
expect_exit 3 'one second less is infeasible'
expect_err_has 'first possible end is 2026-11-30T22:05:00Z, for 100.83 USD'
expect_json '$.jobs[0].changes[0].at' 2026-11-30T22:05:00Z
one 'accelerators: "A100:8"' 'work: 10h' "$od" 'regions: ["mars-*"]'
expect_exit 3 'residency leaves nothing'
expect_err_has 'region not among'

# Prices that are none, and that are old: left out and listed, never taken for 0.
cp offers.csv all.csv
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,vcpus,purchase,price_per_hour,currency,as_of
aws,us-east-1,nothing,A100-PCIE-40GB,8,96,on_demand,,USD,2026-11-30T11:00:00Z
aws,us-east-1,yuan,A100-PCIE-40GB,8,96,on_demand,3,XTS,2026-11-30T11:00:00Z
aws,us-east-1,old,A100-PCIE-40GB,8,96,on_demand,5,USD,2026-11-28T11:00:00Z
aws,us-east-1,fresh,A100-PCIE-40GB,8,96,on_demand,6,USD,2026-11-30T11:00:00Z
CSV
one 'accelerators: "A100:8"' 'work: 10h' "$od"
goes old us-east-1 'a price of two days ago, if any age will do'
expect_json '$.jobs[0].price_as_of' 2026-11-28T11:00:00Z
run --config berth.yaml --store one.db place --price-age 24h -o json
goes fresh us-east-1 'at most a day old'
expect_json '$.jobs[0].refused.price_stale' 1
expect_json '$.jobs[0].refused.price_unknown' 2
run --config berth.yaml --store one.db explain "$(json '$.jobs[0].id')"
expect_out_has 'its price is of 2026-11-30T11:00:00Z'

# A spot price of more than a day is refused by its rule, whatever it asks; the list price of the same day stays.
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,vcpus,purchase,price_per_hour,currency,as_of
aws,us-east-1,gone,A100-PCIE-40GB,8,96,spot,1,USD,2026-11-29T11:59:59Z
aws,us-east-1,near,A100-PCIE-40GB,8,96,spot,3,USD,2026-11-29T12:00:01Z
aws,us-east-1,list,A100-PCIE-40GB,8,96,on_demand,20,USD,2026-11-29T11:59:59Z
CSV
one 'accelerators: "A100:8"' 'work: 10h' 'checkpoint: {size: 1GB, write: 10s}'
goes near us-east-1 'a spot price of just under a day'
expect_json '$.jobs[0].refused.price_stale' 1
expect_err_has '1 offer left out, the price is too old: `berth prices refresh`'
run --config berth.yaml --store one.db place --spot-age 25h -o json
goes gone us-east-1 'where older spot prices may be'
run --config berth.yaml --store one.db place --price-age 1h -o json
expect_exit 3 "an age of all prices holds of spot prices too"
expect_json '$.jobs[0].refused.price_stale' 3
expect_err_has 'price too old.*`berth prices refresh`'
printf 'schema: berth.config/1\nprices: {spot_age: 2d, list_age: 3d}\n' >wide.yaml
run --config wide.yaml --store one.db place -o json
goes gone us-east-1 'where berth.yaml allows it'
run --config wide.yaml --store one.db --now 2026-12-02T13:00:00Z place -o json
expect_exit 3 "a day later all are too old"
run --config wide.yaml --store one.db --now 2026-12-02T11:00:00Z place -o json
goes list us-east-1 'three days for a list price'
run --config wide.yaml --store one.db --now 2026-12-02T11:00:00Z tick --dry-run -o json
expect_exit 0
cp all.csv offers.csv

# A price of the runner-up just under what is told wins, just over it does not.
one 'accelerators: "A100:8"' 'work: 10h' "$od"
expect_json '$.jobs[0].changes[0].what' price
to=$(json '$.jobs[0].changes[0].to')
sed "s/^aws,eu-west-1,mid,\\(.*\\),20,USD/aws,eu-west-1,mid,\\1,$to,USD/" offers.csv >kept.csv
cp offers.csv all.csv
cp kept.csv offers.csv
one 'accelerators: "A100:8"' 'work: 10h' "$od"
goes mid eu-west-1 'the price that would change it does'
awk -F, -v OFS=, -v p="$to" '$3 == "mid" { $8 = p + 0.001 } { print }' all.csv >offers.csv
one 'accelerators: "A100:8"' 'work: 10h' "$od"
goes cheap us-east-1 'a little more does not'
cp all.csv offers.csv

# Nested quotas: the account's 96 vCPUs bind, not the region's 192; raised by what is told the second job goes too.
nest() {
	cat >berth.yaml <<-YAML
	schema: berth.config/1
	limits:
	  - {name: aws east, provider: aws, region: us-east-1, limit: 192, unit: vcpu}
	  - {name: aws, provider: aws, limit: $1, unit: vcpu}
	YAML
	rm -f nest.db*
	run --config berth.yaml --store nest.db prices import offers.csv
	printf 'schema: berth.job/1\nname: n\nrun: make\naccelerators: "A100:8"\nwork: 10h\n%s\n' "$od" >n.yaml
	run --config berth.yaml --store nest.db submit n.yaml n.yaml
	run --config berth.yaml --store nest.db place -o json
}
nest 100
expect_exit 3 'the outer quota binds'
expect_json '$.jobs[1].binds' aws
expect_json '$.jobs[1].changes[0].what' limit
expect_json '$.jobs[1].changes[0].subject' aws
expect_json '$.jobs[1].changes[0].to' 92.000000
expect_json '$.optimal' true 'equal gangs under nested quotas are a flow: proven'
run --config berth.yaml --store nest.db explain placement
expect_out_has 'Z placement: 1 of 2 jobs'
tr -s ' \n' ' ' <"$out" >said
grep -q 'aws binds, 4 vcpu are left (92 vcpu more would place one more job)' said
ok $? "what binds, and how much more of it would do ($(cat said))"
nest 191
expect_exit 3 'one less than told is not enough'
nest 192
expect_exit 0 'what is told is enough'
run --config berth.yaml --store nest.db explain placement
expect_out_has '2 of 2 jobs placed'
run --config berth.yaml --store nest.db place -o json
expect_json '$.limits[1].name' aws

# What binds is told with how much more of it saves how much: that much does, one less nothing.
part() {	# part LIMIT: two jobs of 8 A100s, the second one dearer where the limit of us-east-1 binds
	printf 'schema: berth.config/1\nlimits:\n  - {name: east, provider: aws, region: us-east-1, limit: %s, unit: vcpu}\n' "$1" >berth.yaml
	rm -f part.db*
	run --config berth.yaml --store part.db prices import offers.csv
	printf 'schema: berth.job/1\nname: n\nrun: make\naccelerators: "A100:8"\nwork: 10h\n%s\n' "$od" >n.yaml
	run --config berth.yaml --store part.db submit n.yaml n.yaml
	run --config berth.yaml --store part.db place -o json
	total=$(json '$.total_cost')
}
part 100
before=$total
run --config berth.yaml --store part.db explain placement
tr -s ' \n' ' ' <"$out" >said
more=$(sed -n 's/.*(\([0-9]*\) vcpu more would save \([0-9.]*\) USD).*/\1/p' said)
saves=$(sed -n 's/.*(\([0-9]*\) vcpu more would save \([0-9.]*\) USD).*/\2/p' said)
part $((100 + more - 1))
expect_json_near '$.total_cost' "$before" 1e-6 "one less than told saves nothing"
part $((100 + more))
expect_json_near '$.total_cost' "$(awk -v b="$before" -v s="$saves" 'BEGIN { print b - s }')" 0.01 "what is told saves what is told"

# Priority: the later job goes first. Equal jobs: who came first.
printf 'schema: berth.config/1\nlimits:\n  - {name: one L4, accelerator: L4, limit: 1, unit: gpu}\n' >berth.yaml
for j in early:0 late:5; do
	printf 'schema: berth.job/1\nname: %s\nrun: make\naccelerators: "L4:1"\nwork: 1h\n%s\npriority: %s\n' "${j%:*}" "$od" "${j#*:}" >p.yaml
	run --config berth.yaml --store prio.db submit p.yaml
done
run --config berth.yaml --store prio.db prices import offers.csv
run --config berth.yaml --store prio.db place -o csv --columns name,provider
expect_out late,aws
expect_out early,

# Sixteen jobs of a lower priority do not outweigh a gang that takes the place of them all; levels of one alone never blur it.
printf 'schema: berth.config/1\nlimits:\n  - {name: L4s, accelerator: L4, limit: 16, unit: gpu}\n' >berth.yaml
printf 'schema: berth.job/1\nname: gang\nrun: make\naccelerators: "L4:1"\nnodes: 16\nwork: 1h\n%s\npriority: 1\n' "$od" >gang.yaml
printf 'schema: berth.job/1\nname: one\nrun: make\naccelerators: "L4:1"\nwork: 1h\n%s\n' "$od" >one.yaml
set --
for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do set -- "$@" one.yaml; done
run --config berth.yaml --store gang.db prices import offers.csv
run --config berth.yaml --store gang.db submit "$@" gang.yaml
run --config berth.yaml --store gang.db place -o json
expect_exit 3
expect_json '$.jobs[0].name' gang
expect_json '$.jobs[0].offer.machines' 16 'the gang of higher priority goes'
[ "$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | grep -c 'offer.instance_type	.')" -eq 1 ]
ok $? 'and nothing beside it'

# What a quota lacks is told beside what the other jobs take of it.
more() {	# more LIMIT: a gang of 16 behind a job of 8
	printf 'schema: berth.config/1\nlimits:\n  - {name: A100s, accelerator: "A100*", limit: %s, unit: gpu}\n' "$1" >berth.yaml
	rm -f more.db*
	run --config berth.yaml --store more.db prices import offers.csv
	printf 'schema: berth.job/1\nname: m\nrun: make\naccelerators: "A100:8"\nwork: 1h\n%s\n' "$od" >m.yaml
	sed -e '$ apriority: 5' m.yaml >first.yaml
	sed -e '$ anodes: 2' m.yaml >second.yaml
	run --config berth.yaml --store more.db submit first.yaml second.yaml
	run --config berth.yaml --store more.db place -o json
}
more 10
expect_exit 3
expect_json '$.jobs[1].changes[0].what' no_quota
expect_json '$.jobs[1].changes[0].to' 14.000000 '8 of 10 GPUs are taken: 16 need 14 more'
more 23
expect_exit 3 'one less is not enough'
more 24
expect_exit 0 'what is told is enough'

# A budget holds for all jobs together, by priority; what is unserved is told with what it would take.
printf 'schema: berth.config/1\n' >berth.yaml
for j in a:0 b:0 c:9; do
	printf 'schema: berth.job/1\nname: %s\nproject: nlp\nrun: make\naccelerators: "A100:8"\nwork: 10h\n%s\npriority: %s\n' "${j%:*}" "$od" "${j#*:}" >b.yaml
	run --config berth.yaml --store money.db submit b.yaml
done
run --config berth.yaml --store money.db prices import offers.csv
run --config berth.yaml --store money.db place
expect_exit 0 'without a budget all three go'
run --config berth.yaml --store money.db budget set project:nlp --cap 210 --period total
run --config berth.yaml --store money.db place -o json
expect_exit 4 'money for two'
expect_json '$.jobs[0].offer.instance_type' cheap
[ "$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | grep -c 'offer.instance_type	cheap$')" -eq 2 ]
ok $? 'two are placed'
expect_json '$.jobs[2].offer' null
expect_json '$.jobs[2].binds' 'budget project:nlp/total'
expect_json_near '$.jobs[2].changes[0].to' 92.5 1e-6
run --config berth.yaml --store money.db explain "$(json '$.jobs[2].id')"
expect_out_has '92.5 USD more of budget project:nlp/total would place it'

# An owned commitment: its machine costs nothing more, and is taken before the cheaper one.
cat >own.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,count,from,to
aws,eu-west-1,mid,A100-SXM4-80GB,8,1,2026-06-01,2027-06-01
CSV
printf 'schema: berth.job/1\nname: o\nrun: make\naccelerators: "A100:8"\nwork: 10h\n' >o.yaml
run --config berth.yaml --store own.db prices import offers.csv
run --config berth.yaml --store own.db submit o.yaml o.yaml
run --config berth.yaml --store own.db commitments import own.csv
expect_exit 0
run --config berth.yaml --store own.db place -o json
expect_json '$.jobs[0].offer.instance_type' mid
expect_json '$.jobs[0].offer.paid' true
expect_json_near '$.jobs[0].expected_cost' 0 1e-9
expect_json '$.jobs[1].offer.instance_type' cheap 'its one machine serves one job'

# One without a zone serves in each zone of its region, with one count for all: a block, a hold or other accounts do not lose it.
printf 'provider,region,zone,instance_type,accelerator,accelerator_count,vcpus,purchase,price_per_hour,currency\n' >zones.csv
for z in us-east-1a us-east-1b us-east-1c; do printf 'aws,us-east-1,%s,mid,A100-SXM4-80GB,8,96,on_demand,7.4,USD\n' $z; done >>zones.csv
printf 'provider,region,instance_type,accelerator,accelerator_count,count,from,to\naws,us-east-1,mid,A100-SXM4-80GB,8,2,2026-06-01,2027-06-01\n' >region.csv
printf 'schema: berth.config/1\n' >berth.yaml
run --config berth.yaml --store zones.db prices import zones.csv
run --config berth.yaml --store zones.db commitments import region.csv
expect_exit 0
sed '$ ablock: [{zone: us-east-1a}]' o.yaml >not-a.yaml
sed '$ ablock: [{zone: us-east-1a}, {zone: us-east-1b}]' o.yaml >only-c.yaml
run --config berth.yaml --store zones.db submit only-c.yaml not-a.yaml o.yaml
expect_exit 0
run --config berth.yaml --store zones.db place -o json
expect_json '$.jobs[0].offer.zone' us-east-1c
[ "$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | grep -c 'jobs\[[0-9]*\].offer.paid	true')" -eq 2 ]
ok $? 'its two machines serve two of the three, in whatever zone'
expect_json_near '$.total_cost' 74.616667 1e-5
expect_json '$.optimal' true

# The earliest end: two cards, two jobs, the slow one would make one of them late.
printf 'schema: berth.config/1\n' >berth.yaml
printf 'schema: berth.job/1\nname: f\nrun: make\naccelerators: ["A100:8", "H100:8"]\nwork: 10h\n%s\n' "$od" >f.yaml
run --config berth.yaml --store fin.db submit f.yaml
run --config berth.yaml --store fin.db prices import offers.csv
run --config berth.yaml --store fin.db place -o json
expect_json '$.jobs[0].offer.instance_type' cheap
run --config berth.yaml --store fin.db place --for finish -o json
expect_json '$.jobs[0].offer.instance_type' fast
expect_json '$.jobs[0].refused.later' 2
expect_json '$.all_done_by' "$(json '$.jobs[0].expected_finish')"

# A chain: the second job alone would go to the cheap machine; with 20 TB from the first, which must stay in Europe, not.
printf 'schema: berth.job/1\nname: prepare\nrun: make\naccelerators: "A100:8"\nwork: 1h\n%s\nregions: ["eu-*"]\n' "$od" >c1.yaml
printf 'schema: berth.job/1\nname: train\nrun: make\naccelerators: "A100:8"\nwork: 10h\n%s\nafter: {job: prepare, size: 20TB}\n' "$od" >c2.yaml
run --config berth.yaml --store chain.db submit c1.yaml c2.yaml
expect_exit 0
run --config berth.yaml --store chain.db prices import offers.csv
run --config berth.yaml --store chain.db place -o json
expect_json '$.jobs[0].offer.region' eu-west-1
expect_json '$.jobs[1].offer.region' eu-west-1
expect_json '$.optimal' true 'a chain where nothing binds is exact'
expect_json_near '$.jobs[1].offer.egress_cost' 0 1e-9
sed 's/20TB/1GB/' c2.yaml >c3.yaml
rm -f chain.db*
run --config berth.yaml --store chain.db submit c1.yaml c3.yaml
run --config berth.yaml --store chain.db prices import offers.csv
run --config berth.yaml --store chain.db place -o json
expect_json '$.jobs[1].offer.region' us-east-1
expect_json_near '$.jobs[1].offer.egress_cost' 0.018626 1e-6

# The move counts in the budgets: 21.67 + 100.83 USD fit into 130, with the 18.63 USD for 1 TB across the ocean they do not.
lid() {	# lid CAP
	rm -f chain.db*
	sed 's/20TB/1TB/' c2.yaml >c4.yaml
	printf 'regions: ["us-*"]\n' >>c4.yaml
	run --config berth.yaml --store chain.db submit c1.yaml c4.yaml
	run --config berth.yaml --store chain.db prices import offers.csv
	run --config berth.yaml --store chain.db budget set all --cap "$1" --period total
	run --config berth.yaml --store chain.db place -o json
}
lid 130
expect_exit 4 'a plan is not over a budget by its moves'
expect_json '$.jobs[1].offer' null
expect_json '$.jobs[1].binds' 'budget all/total'
expect_json_near '$.total_cost' 21.666667 1e-6
lid 142
expect_exit 0 'with the money for the move both go'
expect_json_near '$.total_cost' 141.126451 1e-4
lid 141
expect_exit 4 'and not with a little less'

# However dear the move and low the priority, a job that can go is not left out.
rm -f chain.db*
set --
for k in 9 8 7; do
	sed -e 's/^name: .*/name: prepare/' -e "\$ apriority: $k" c1.yaml >"c1-$k.yaml"
	set -- "$@" "c1-$k.yaml"
done
sed -e 's/10h/1h/' -e '$ aregions: ["us-*"]' c2.yaml >far.yaml
run --config berth.yaml --store chain.db submit "$@" far.yaml
run --config berth.yaml --store chain.db prices import offers.csv
run --config berth.yaml --store chain.db place -o json
expect_exit 0 'a move of 20 TB is paid'
expect_json '$.jobs[3].offer.region' us-east-1
expect_json_near '$.jobs[3].offer.egress_cost' 372.529030 1e-6
sed 's/prepare/nobody/' c2.yaml >c4.yaml
run --config berth.yaml --store chain.db submit c4.yaml
expect_exit 1 'a job after one that nobody knows'
expect_err_has "no job 'nobody' is known"
# Data in a region that nobody knows: named, with what may be meant; one that an offer has is known.
mkdir astray && cd astray || exit 1
printf 'provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency\naws,us-west-2,two,L4,2,on_demand,2,USD\nlab,cellar,two,L4,2,on_demand,3,USD\n' >offers.csv
run --store astray.db prices import offers.csv
for r in aws/mars-1 aws/us-west-9 lab/cellar cellar us-west-2; do
	printf 'schema: berth.job/1\nname: far\naccelerators: ["L4:2"]\nwork: 1h\npurchase: [on_demand]\ndata: {region: %s, size: 10GiB}\nrun: make\n' "$r" >job.yaml
	run --store astray.db submit job.yaml
	id=$(cut -d' ' -f1 "$out")
	run --store astray.db place --list-prices "$id"
	case $r in
	aws/mars-1) expect_err_has "nobody knows where its data lie, in 'aws/mars-1'" ;;
	aws/us-west-9) expect_err_has 'did you mean aws/us-west-[12]' ;;
	*) ! grep -q 'nobody knows' "$err"; ok $? "$r is known" ;;
	esac
done
cd ..
done_testing
