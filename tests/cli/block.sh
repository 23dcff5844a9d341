#!/bin/sh
# Block lists of the user's own: what each key keeps away, a job's list beside that of berth.yaml, and what is told of them.
. "$TOP_SRCDIR/tests/cli/lib.sh"

cat >offers.csv <<CSV
provider,account,region,zone,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency
aws,main,us-east-1,us-east-1a,g6,L4,2,on_demand,1,USD
aws,main,us-east-1,us-east-1b,g6,L4,2,on_demand,2,USD
aws,lab,us-west-2,us-west-2a,g6,L4,2,on_demand,3,USD
gcp,two,us-east4,us-east4-a,g2,L4,2,spot,4,USD
gcp,two,us-east4,us-east4-a,g2,L4,2,on_demand,5,USD
CSV
run --store b.db prices import offers.csv
expect_exit 0
submit() {	# submit LINE: a job on two L4 with one line more
	printf 'schema: berth.job/1\nname: j\naccelerators: ["L4:2"]\nwork: 1h\npurchase: [on_demand, spot]\ncheckpoint: {size: 1GB, write: 10s}\nrun: make\n%s\n' "$1" >job.yaml
	run --store b.db submit job.yaml
	id=$(cut -d' ' -f1 "$out")
}
place() {	# place RULES: the job under this list of berth.yaml
	printf 'schema: berth.config/1\nblock: [%s]\n' "$1" >berth.yaml
	run --config berth.yaml --store b.db place --list-prices -o json "$id"
}
submit ''
place ''
expect_json '$.jobs[0].offer.zone' us-east-1a
expect_json '$.jobs[0].refused.blocked' '' "an empty list blocks nothing"
blocks() {	# blocks RULES N ZONE: so many offers, and where the job goes then
	place "$1"
	expect_json '$.jobs[0].refused.blocked' "$2"
	expect_json '$.jobs[0].offer.zone' "$3"
}
blocks '{zone: us-east-1a}' 1 us-east-1b
blocks '{region: us-east-1}' 2 us-west-2a
blocks '{provider: aws}' 3 us-east4-a
blocks '{provider: AWS}' 3 us-east4-a
blocks '{instance_type: g6}' 3 us-east4-a
blocks '{region: "us-*-?"}' 3 us-east4-a
blocks '{provider: aws, region: us-west-2}, {zone: "*a", provider: aws}' 2 us-east-1b
blocks '{purchase: on_demand}' 4 us-east4-a
expect_json '$.jobs[0].offer.purchase' spot
place '{accelerator: L4}'
expect_exit 3
expect_json '$.jobs[0].offer' null
expect_json '$.jobs[0].refused.blocked' 5
expect_err_has "'accelerator=L4' of berth.yaml blocks 5 offers"
run --store b.db explain "$id"
expect_out_has '5  blocked: on a block list'
place ''
expect_json '$.jobs[0].offer.zone' us-east-1a "what is taken off the list is free at once"

# A job's own list, beside that of berth.yaml.
submit 'block: [{zone: us-east-1a}, {provider: gcp, purchase: spot}]'
expect_exit 0
blocks '' 2 us-east-1b
blocks '{zone: us-east-1b}' 3 us-west-2a
place '{provider: aws}'
expect_json '$.jobs[0].offer.purchase' on_demand
place '{provider: aws}, {provider: gcp}'
expect_exit 3
expect_err_has "'provider=aws' of berth.yaml blocks 3 offers"
submit 'block: [{instance_type: "g*"}]'
place ''
expect_exit 3
expect_err_has "'instance_type=g\*' of the job blocks 5 offers"

# An account that berth.yaml has.
mkdir -p .config/berth
printf 'schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\npools:\n  - {region: west, zone: a, instance_type: two, accelerator: L4, accelerator_count: 2, startup: 1m, on_demand: {price: 2, capacity: 9}}\n' >one.trace
two='schema: berth.config/1
accounts:
  - {name: one, provider: replay, trace: one.trace}
  - {name: other, provider: replay, trace: one.trace}'
echo "$two" >.config/berth/berth.yaml
cp one.trace .config/berth/
run init --no-prices
run prices refresh
printf 'schema: berth.job/1\nname: j\naccelerators: ["L4:2"]\nwork: 1h\nrun: make\n' >job.yaml
run submit job.yaml
printf '%s\nblock: [{account: one}]\n' "$two" >.config/berth/berth.yaml
run place -o json
expect_json '$.jobs[0].offer.account' other
expect_json '$.jobs[0].refused.blocked' 1
printf '%s\nblock: [{account: o*}]\n' "$two" >.config/berth/berth.yaml
run tick --dry-run
expect_out_has 'would wait: not placed: on a block list'
run tick
run jobs -o json
tr '\n' ' ' <"$out" | grep -q "'account=o\*' of berth.yaml blocks 2 offers"
ok $? "the tick keeps to it, and the list of jobs says so"
run instances --all -o csv --columns id --no-headers
expect_no_out "nothing was rented"
echo "$two" >.config/berth/berth.yaml
run tick
run instances -o csv --columns account --no-headers
expect_lines 1 "and is rented once it is free"

# Odd input, with its place.
cd "$HOME" || exit 99
submit ''
place '{provider: awz}'
expect_exit 0
expect_err_has "'provider=awz' under block of berth.yaml hits none of the 5 offers"
for bad in '{}=blocks nothing' '{provider: ""}=no blanks' '{provider: "a b"}=no blanks' '{providr: aws}=did you mean' 'aws=' \
    '{provider: [aws]}=' '{provider: aws, provider: gcp}='; do
	place "${bad%=*}"
	[ "$status" -eq 1 ] && grep -q 'berth.yaml:2:' "$err" && grep -q -e "${bad##*=}" "$err"
	ok $? "block: [${bad%=*}] is refused"
	submit "block: [${bad%=*}]"
	[ "$status" -ne 0 ] && grep -q 'job.yaml:8:' "$err"
	ok $? "and so it is in a job"
done
submit ''
place '{region: "[u"}, {zone: "北京-*"}, {instance_type: "****************************"}'
expect_exit 3 "patterns of every kind"
# A plan buys nothing of what is blocked: the cheaper reservation lies with aws.
cat >term.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
aws,us-east-1,g6,L4,1,on_demand,,,,1,USD
aws,us-east-1,g6,L4,1,reserved,12,none,0,0.4,USD
gcp,us-east4,g2,L4,1,on_demand,,,,1.1,USD
gcp,us-east4,g2,L4,1,reserved,12,none,0,0.5,USD
CSV
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 0; h < 24 * 28; h++) print 1791806400 + 3600 * h ",8,steady,L4" }' >use.csv
run --store p.db prices import term.csv
run --store p.db record csv use.csv
plan() {	# plan RULES: the reservations under this list
	printf 'schema: berth.config/1\nblock: [%s]\n' "$1" >berth.yaml
	run --config berth.yaml --store p.db plan --horizon 4w --paths 5 --no-spot --list-prices -o json
}
plan ''
expect_json '$.series[0].buys[0].provider' aws
expect_json '$.series[0].refused.blocked' ''
id=$(json '$.id')
plan '{provider: aws}'
expect_json '$.series[0].buys[0].provider' gcp
expect_json '$.series[0].refused.blocked' 2
run --config berth.yaml --store p.db plan --horizon 4w --paths 5 --no-spot --list-prices
tr '\n' ' ' <"$out" | tr -s ' ' | grep -q 'on a block list'
ok $? "it tells of them"
plan '{purchase: reserved}'
expect_json '$.series[0].buys[0].provider' '' "no reservation at all"
expect_json '$.series[0].refused.blocked' 2
plan '{accelerator: L4}'
expect_exit 3
expect_err_has 'blocked 4'
run --config berth.yaml --store p.db plan --replay "$id" -o json
expect_json '$.same' true "made again as it was, by the list of that day"
done_testing
