#!/bin/sh
# Rules before the cost that alone keep a better offer away: which one change would admit it, what it would cost, and that it does.
. "$TOP_SRCDIR/tests/cli/lib.sh"

cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency,as_of
acme,eu-west-1,home,A100-SXM4-80GB,8,on_demand,40,USD,2026-11-30T11:00:00Z
acme,us-east-1,far,A100-SXM4-80GB,8,on_demand,20,USD,2026-11-30T11:00:00Z
acme,eu-west-1,small,A100-PCIE-40GB,8,on_demand,24,USD,2026-11-30T11:00:00Z
beta,eu-west-1,other,A100-SXM4-80GB,8,on_demand,30,USD,2026-11-30T11:00:00Z
acme,eu-west-1,home,A100-SXM4-80GB,8,spot,8,USD,2026-11-30T11:00:00Z
acme,eu-west-1,old,A100-SXM4-80GB,8,on_demand,10,USD,2026-10-01T11:00:00Z
acme,eu-west-1,fast,H100-SXM5-80GB,8,on_demand,50,USD,2026-11-30T11:00:00Z
acme,eu-west-1,slow,L40S,8,on_demand,12,USD,2026-11-30T11:00:00Z
CSV

place() {	# place LINE...: a fresh store with one job of these lines, by berth.yaml
	rm -f one.db*
	run --config berth.yaml --store one.db prices import offers.csv
	printf 'schema: berth.job/1\nname: one\nrun: make\nwork: 10h\n' >one.yaml
	for line; do printf '%s\n' "$line"; done >>one.yaml
	run --config berth.yaml --store one.db submit one.yaml
	[ "$status" -eq 0 ] || expect_exit 0
	run --config berth.yaml --store one.db place -o json
	id=$(json '$.jobs[0].id')
	cost=$(json '$.jobs[0].expected_cost')
	type=$(json '$.jobs[0].offer.instance_type')/$(json '$.jobs[0].offer.region')
}
goes() {	# goes TYPE/REGION WHAT
	[ "$type" = "$1" ]
	ok $? "$2: $1 (is $type)"
}
told() {	# told RULE WHAT: of that change, its place in $at, and its cost in $would
	at=0
	while [ "$(json "\$.jobs[0].changes[$at].what")" != "$1" ] && [ $at -lt 12 ]; do at=$((at + 1)); done
	would=$(json "\$.jobs[0].changes[$at].expected_cost")
	to=$(json "\$.jobs[0].changes[$at].to")
	subject=$(json "\$.jobs[0].changes[$at].subject")
	[ -n "$would" ] && [ "$would" != null ]
	ok $? "$2: $(json "\$.jobs[0].changes[$at].text")"
	run --config berth.yaml --store one.db explain "$id"
}
costs() {	# costs WHAT: as much as was told
	[ "$cost" = "$would" ]
	ok $? "$1 costs what was told: $would (is $cost)"
}
plain='schema: berth.config/1
prices: {list_age: 30d}'
printf '%s\n' "$plain" >berth.yaml
job='accelerators: "A100:80GB:8"'
od='purchase: [on_demand]'
eu='regions: ["eu-*"]'
acme='providers: [acme]'

place "$job" "$od" "$eu" "$acme"
goes home/eu-west-1 'all rules'
# The better offers, each kept away by one rule: the price that is too old (10), the region (20), the other provider (30).
expect_json '$.jobs[0].changes[0].what' price_stale
expect_json '$.jobs[0].changes[1].what' residency
expect_json '$.jobs[0].changes[2].what' provider
told residency 'the region'
tr -s ' \n' ' ' <"$out" >said
grep -q 'or with us-east-1 among its regions it could go to acme us-east-1 far on_demand for 201.67 USD, 201.67 less' said
ok $? "in plain words ($(cat said))"
[ "$subject" = us-east-1 ]
ok $? "the region is named"
place "$job" "$od" 'regions: ["eu-*", us-east-1]' "$acme"
goes far/us-east-1 'with that region'
costs 'far away'

place "$job" "$od" "$eu" "$acme"
told provider 'the provider'
place "$job" "$od" "$eu" 'providers: [acme, beta]'
goes other/eu-west-1 'with that provider'
costs 'the other provider'

place "$job" "$od" "$eu" "$acme"
told price_stale 'an old price'
expect_out_has 'with its price of 2026-10-01T11:00:00Z confirmed, or'
[ "$to" = 5270400.000000 ]
ok $? "61 days, as it is of 60 and an hour (is $to s)"
printf 'schema: berth.config/1\nprices: {list_age: 61d}\n' >berth.yaml
place "$job" "$od" "$eu" "$acme"
goes old/eu-west-1 'with prices of that age'
costs 'the old one'
printf 'schema: berth.config/1\nprices: {list_age: 60d}\n' >berth.yaml
place "$job" "$od" "$eu" "$acme"
goes home/eu-west-1 'with a day less'
printf '%s\n' "$plain" >berth.yaml

place 'accelerators: "A100:80GB:8"' "$od" 'checkpoint: {size: 1GB, write: 10s}' "$eu" "$acme" 'block: [{instance_type: old}]'
told purchase 'spot'
[ "$subject" = spot ]
ok $? "spot is named"
expect_out_has 'with spot among its purchases it could go to acme eu-west-1 home spot'
place 'accelerators: "A100:80GB:8"' 'purchase: [on_demand, spot]' 'checkpoint: {size: 1GB, write: 10s}' "$eu" "$acme"
goes home/eu-west-1 'spot allowed'
expect_json '$.jobs[0].offer.purchase' spot
costs 'spot'

# Block lists: of the job, of berth.yaml; where two rules hit, neither alone is told.
place "$job" "$od" "$acme" 'block: [{region: "us-*"}]'
told blocked 'the block list of the job'
expect_out_has "without 'region=us-\*' in the block list of the job it could go to acme us-east-1 far"
place "$job" "$od" "$acme"
goes far/us-east-1 'without it'
costs 'what was blocked'
printf '%s\nblock: [{region: "us-*"}]\n' "$plain" >berth.yaml
place "$job" "$od" "$acme"
told blocked 'the block list of berth.yaml'
tr -s ' \n' ' ' <"$out" >said
grep -q "without 'region=us-\*' in the block list of berth.yaml it could go to acme us-east-1 far on_demand for 201.67 USD" said
ok $? "it says whose it is"
place "$job" "$od" "$acme" 'block: [{instance_type: far}]'
! grep -q '"what": "blocked"' "$out"
ok $? "two rules block it: neither alone would do"
printf '%s\n' "$plain" >berth.yaml

# Memory of a variant, a link, latency: the number that would do, and the least bit short of it.
place "$job" "$od" "$eu" "$acme"
goes home/eu-west-1 'of 80 GiB'
place 'variants: [{name: big, accelerator: "A100:8", memory: 60GB}]' "$od" "$eu" "$acme" 'block: [{instance_type: old}]'
told memory 'memory'
tr -s ' \n' ' ' <"$out" >said
grep -q 'with memory of at most 40 GiB per accelerator (it asks for 60)' said
ok $? "what it asks for, and what there is ($(cat said))"
place 'variants: [{name: big, accelerator: "A100:8", memory: 40GB}]' "$od" "$eu" "$acme" 'block: [{instance_type: old}]'
goes small/eu-west-1 'with that memory'
costs 'the small card'
place 'variants: [{name: big, accelerator: "A100:8", memory: 42GB}]' "$od" "$eu" "$acme" 'block: [{instance_type: old}]'
goes home/eu-west-1 'with a little more'

linked() { place "accelerators: [\"A100:80GB:8\", \"$1:8\"]" "$od" "$eu" "$acme" 'block: [{instance_type: old}]' "$2"; }
sed -i 's/fast\(.*\),50,/fast\1,200,/' offers.csv
linked H100 'link: 700GB'
goes fast/eu-west-1 'fast links'
told fabric 'a link'
tr -s ' \n' ' ' <"$out" >said
grep -q 'with a link of at most 600GB (it asks for 700GB) it could go to acme eu-west-1 home' said
ok $? "in plain words ($(cat said))"
linked H100 'link: 601GB'
goes fast/eu-west-1 'a little more than told'
linked H100 'link: 600GB'
goes home/eu-west-1 'with the link that is told'
costs 'slower links'
linked L40S 'link: 300GB'
goes home/eu-west-1 'a link that is known'
told fabric 'no link'
expect_out_has 'without its link of 300GB, as none is known there, it could go to'
linked L40S 'retries: 1'
goes slow/eu-west-1 'without it'
costs 'cards on a bus'
sed -i 's/fast\(.*\),200,/fast\1,50,/' offers.csv

sed 's/^acme,us-east-1/aws,us-east-1/; s/^acme,eu-west-1/aws,eu-west-1/' offers.csv >aws.csv
mv offers.csv acme.csv
mv aws.csv offers.csv
place "$job" "$od" 'latency: {to: aws/eu-central-1, max: 60ms}' 'block: [{instance_type: old}, {provider: beta}]'
goes home/eu-west-1 'near'
told latency 'latency'
expect_out_has 'with a latency of up to [0-9.]+ms to aws/eu-central-1 \(it allows 60\)'
place "$job" "$od" "latency: {to: aws/eu-central-1, max: $(awk -v x="$to" 'BEGIN { printf "%.10g", x }')ms}" 'block: [{instance_type: old}, {provider: beta}]'
goes far/us-east-1 'as far as told'
costs 'far away'
place "$job" "$od" "latency: {to: aws/eu-central-1, max: $(awk -v x="$to" 'BEGIN { printf "%.10g", x - 0.1 }')ms}" 'block: [{instance_type: old}, {provider: beta}]'
goes home/eu-west-1 'a tenth of a millisecond less is too little'
mv acme.csv offers.csv

# A dearer hour may be the cheaper job; told of one that is placed, too.
mv offers.csv acme.csv
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency
acme,eu-west-1,home,A100-SXM4-80GB,8,on_demand,40,USD
acme,eu-west-1,fast,H100-SXM5-80GB,8,on_demand,50,USD
CSV
place 'accelerators: ["A100:80GB:8", "H100:8"]' "$od" 'max_price: 45'
goes home/eu-west-1 'under max_price'
told max_price 'a price'
[ "$to" = 50.000000 ]
ok $? "50 USD an hour (is $to)"
place 'accelerators: ["A100:80GB:8", "H100:8"]' "$od" 'max_price: 50'
goes fast/eu-west-1 'with that price'
costs 'the faster one'
place 'accelerators: ["A100:80GB:8", "H100:8"]' "$od" 'max_price: 49.99'
goes home/eu-west-1 'a cent less is too little'
mv acme.csv offers.csv

# Nothing fits: what would admit it, and the best that it could not have.
place "$job" "$od" 'regions: ["mars-*"]' "$acme" 'block: [{instance_type: old}]'
expect_exit 3
expect_json '$.jobs[0].nearest.rule' residency
expect_json '$.jobs[0].nearest.offer' 'acme us-east-1 far on_demand'
told residency 'nowhere'
expect_out_has 'what would change it: with us-east-1 among its regions it could go to acme us-east-1 far'
place "$job" "$od" 'regions: ["mars-*", us-east-1]' "$acme" 'block: [{instance_type: old}]'
goes far/us-east-1 'with that region'
costs 'the region'
place "$job" "$od" 'regions: ["mars-*"]' 'providers: [gamma]'
expect_exit 3
expect_json '$.jobs[0].changes[0].what' '' 'two rules keep all away: no one change would do'

# Under a deadline the policy for spot has its say: what is told is taken.
dl='deadline: +40h'
cp='checkpoint: {size: 1GB, write: 10s}'
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency
acme,eu-west-1,home,A100-SXM4-80GB,8,on_demand,40,USD
acme,us-east-1,far,A100-SXM4-80GB,8,on_demand,38,USD
acme,us-east-1,far,A100-SXM4-80GB,8,spot,10,USD
CSV
place "$job" "$dl" "$cp" "$eu" 'purchase: [on_demand, spot]'
goes home/eu-west-1 'on demand at home'
told residency 'spot far away'
place "$job" "$dl" "$cp" 'purchase: [on_demand, spot]' 'regions: ["eu-*", us-east-1]'
goes far/us-east-1 'with that region'
expect_json '$.jobs[0].offer.purchase' spot
costs 'spot'

# In a tick, offers that no account can create.
NOW=2026-11-30T00:00:00Z
mkdir -p .config/berth
cat >one.trace <<EOT
schema: berth.replay/1
start: 2026-11-30T00:00:00Z
pools:
  - {provider: aurora, region: r, zone: a, instance_type: h100, accelerator: H100-SXM5-80GB, accelerator_count: 1, startup: [3m, 3m], on_demand: {price: 4, capacity: 4}}
EOT
sed 's/aurora/borea/; s/price: 4/price: 2/' one.trace >two.trace
printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/one.trace}\n' "$PWD" >.config/berth/berth.yaml
run init --no-prices
printf 'provider,region,zone,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency\nborea,r,a,h100,H100-SXM5-80GB,1,on_demand,2,USD\n' >list.csv
run prices import list.csv
printf 'schema: berth.job/1\nname: n\naccelerators: "H100-SXM5-80GB:1"\nwork: 2h\nrun: x\n' >job.yaml
run prices refresh
run submit job.yaml -o json
id=$(json '$.jobs[0].id')
run tick
run explain "$id"
expect_out_has 'place j-.*: aurora a h100 on_demand'
tr -s ' \n' ' ' <"$out" >said
grep -q 'with an account at borea it could go to borea a h100 on_demand for 4.17 USD, 4.17 less' said
ok $? "an account that is not there ($(cat said))"
printf '  - {name: sea, provider: replay, trace: %s/two.trace}\n' "$PWD" >>.config/berth/berth.yaml
run prices refresh
run submit job.yaml -o json
id=$(json '$.jobs[0].id')
run tick
run explain "$id"
expect_out_has 'place j-.*: borea a h100 on_demand: 4.17 USD' "with the account it goes there"

# Memory that is more than the job allows, and memory that nobody knows: numbers that are there, or none.
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency,as_of
acme,eu-west-1,big,A100-SXM4-80GB,8,on_demand,40,USD,2026-11-30T11:00:00Z
CSV
place 'variants: [{name: small, accelerator: "A100:8", memory: 20GiB..40GiB}]'
expect_json '$.jobs[0].refused.memory' 1
run --config berth.yaml --store one.db place -e
tr -s ' \n' ' ' <"$out" >said
grep -q 'the memory per accelerator does not fit: allows 40 GiB, the least is 80' said &&
    grep -q 'with memory of up to 80 GiB per accelerator (it allows 40) in variant small it could go to acme eu-west-1 big\|with memory of up to 80 GiB per accelerator (it allows 40) it could go to acme eu-west-1 big' said
ok $? "too much ($(cat said))"
sed -i 's/A100-SXM4-80GB/XPU-9/' offers.csv
place 'accelerators: "40GiB+:8"'
expect_json '$.jobs[0].refused.memory' 1
expect_json '$.jobs[0].changes[0].to' null
run --config berth.yaml --store one.db place -e
tr -s ' \n' ' ' <"$out" >said
grep -q 'does not fit: nobody says how much there is' said &&
    grep -q 'without its memory of 40 GiB per accelerator, as none is known there, it could go to acme eu-west-1 big' said && ! grep -q nan said
ok $? "unknown ($(cat said))"


# The cheapest that the money does not buy is an owned machine which another job has: what is told is the next one, which is free.
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency,as_of
acme,eu-west-1,home,A100-SXM4-80GB,8,on_demand,40,USD,2026-11-30T11:00:00Z
CSV
cat >own.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,count,from,to,usage_price_per_hour,price_per_hour
acme,eu-west-1,home,A100-SXM4-80GB,8,1,2026-06-01,2027-06-01,5,20
CSV
place 'accelerators: "A100:8"' 'user: ann' 'priority: 1'
run --config berth.yaml --store one.db commitments import own.csv
run --config berth.yaml --store one.db budget set user:ann --cap 60
run --config berth.yaml --store one.db budget set user:bob --cap 10
sed 's/ann/bob/; s/priority: 1/priority: 0/' one.yaml >two.yaml
run --config berth.yaml --store one.db submit two.yaml
run --config berth.yaml --store one.db place -o json
expect_json '$.jobs[0].expected_cost' "$(awk 'BEGIN { printf "%.6f", 5 * (10 + 5 / 60) }')"
expect_json '$.jobs[1].offer' null
expect_json '$.jobs[1].changes[0].what' over_budget
need=$(json '$.jobs[1].changes[0].to')
run --config berth.yaml --store one.db budget set user:bob --cap "$(awk -v x="$need" 'BEGIN { print x - 0.01 }')"
run --config berth.yaml --store one.db place -o json
expect_json '$.jobs[1].offer' null
run --config berth.yaml --store one.db budget set user:bob --cap "$need"
run --config berth.yaml --store one.db place -o json
expect_json '$.jobs[1].expected_cost' "$need"
done_testing
