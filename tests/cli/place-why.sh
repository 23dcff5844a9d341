#!/bin/sh
# What is told of a placement: numbers that are true, the limit that is meant, the money that decided.
. "$TOP_SRCDIR/tests/cli/lib.sh"

head='provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency'
od='purchase: [on_demand]'
conf() { { echo 'schema: berth.config/1'; for line; do printf '%s\n' "$line"; done; } >berth.yaml; }
market() {	# market NAME LINE...: a fresh store with these offers
	store=$HOME/$1.db
	rm -f "$store"*
	shift
	{ echo "$head"; for line; do echo "$line"; done; } >offers.csv
	b prices import offers.csv
}
b() { run --config berth.yaml --store "$store" "$@"; }
job() {	# job NAME ACCELERATORS LINE...
	printf 'schema: berth.job/1\nname: %s\nrun: make\naccelerators: "%s"\n' "$1" "$2" >job.yaml
	shift 2
	for line; do printf '%s\n' "$line"; done >>job.yaml
	b submit job.yaml
}
place() { b place "$@" -o json; }
said() {	# said TEXT NAME: of the last run, in whole lines
	tr '\n' ' ' <"$out" | tr -s ' ' >said
	grep -q -- "$1" said
	ok $? "$2 ($1)"
}
unsaid() {
	tr '\n' ' ' <"$out" | tr -s ' ' >said
	! grep -q -- "$1" said
	ok $? "$2 (not: $1)"
}
conf

# A link that no machine has: the number is that of links, not that of another rule.
market f bolt,us-west-2,h1,H100-SXM5-80GB,1,on_demand,3,USD acme,us-east-1,h8,H100-SXM5-80GB,8,on_demand,20,USD
job slow H100-SXM5-80GB:8 'work: 8h' 'nodes: 2' 'link: 5000GB' "$od"
place
expect_exit 3 "a link that no machine has"
expect_err_has 'needs 5000 GB/s between them, the fastest that is known has 900'
expect_json '$.jobs[0].refused.gang' 1
expect_json '$.jobs[0].refused.fabric' 1
! grep -q 'on one machine, the most' "$err"
ok $? "the number is of links"
market fu acme,us-east-1,l4,L4,8,on_demand,20,USD
job slow L4:8 'work: 8h' 'link: 64GB' "$od"
place
expect_err_has 'needs 64 GB/s between them, (and of none is it known|the fastest that is known has [0-9.]+)\.'

# Of equal ends the cheapest is told.
market e acme,us-east-1,dear,H100-SXM5-80GB,1,on_demand,20,USD bolt,us-west-2,cheap,H100-SXM5-80GB,1,on_demand,2,USD
job late H100-SXM5-80GB:1 'work: 10h' "$od" 'deadline: 2026-11-30T22:00:00Z'
place
expect_err_has 'the first possible end is 2026-11-30T22:05:00Z, for 20.17 USD'

# An accelerator that nobody offers is named, with what there is.
market a acme,us-east-1,h8,H100-SXM5-80GB,8,on_demand,20,USD acme,us-east-1,l4,L4,1,on_demand,1,USD
job none A10:1 'work: 1h' "$od"
place
expect_exit 3
expect_err_has "not placed: no offer has the accelerator 'A10': they have (H100-SXM5-80GB, L4|L4, H100-SXM5-80GB)\. 2 offers seen"

# Data in one region keep the job there: what they cost to move is told, in words and as a key.
market d aws,eu-west-1,home,H100-SXM5-80GB,1,on_demand,2.9,USD aws,eu-west-1,other,H100-SXM5-80GB,1,on_demand,3.1,USD \
	aws,us-west-2,away,H100-SXM5-80GB,1,on_demand,2.6,USD
job stay H100-SXM5-80GB:1 'work: 10h' "$od" 'data: {region: aws/eu-west-1, size: 10TB}'
place
expect_exit 0
expect_json '$.jobs[0].offer.instance_type' home
expect_json '$.jobs[0].cheaper_but_for_egress.offer' 'aws us-west-2 away on_demand'
expect_json_near '$.jobs[0].cheaper_but_for_egress.would_save' 3.025 1e-6
awk -v e="$(json '$.jobs[0].cheaper_but_for_egress.egress_cost')" -v c="$(json '$.jobs[0].cheaper_but_for_egress.expected_cost')" \
	-v k="$(json '$.jobs[0].expected_cost')" 'BEGIN { d = c - e - k + 3.025; exit !(e > 50 && d < 1e-6 && d > -1e-6) }'
ok $? "both costs and what would be saved add up"
b place -e
said 'aws us-west-2 away on_demand would cost 3.0[23] USD less but for [0-9.]* USD of egress' "what decided"
market dn aws,eu-west-1,home,H100-SXM5-80GB,1,on_demand,2.9,USD aws,us-west-2,away,H100-SXM5-80GB,1,on_demand,3.6,USD
job stay H100-SXM5-80GB:1 'work: 10h' "$od" 'data: {region: aws/eu-west-1, size: 10TB}'
place
expect_json '$.jobs[0].cheaper_but_for_egress' null "the dearer one is not told, egress or not"

# A limit that keeps jobs out is worth a job, and no money; one that only sends a job elsewhere is worth what it saves.
market s acme,us-east-1,quad,H100-SXM5-80GB,4,on_demand,8,USD
conf 'limits:' '  - {name: org, provider: acme, limit: 7, unit: gpu}'
job one H100-SXM5-80GB:4 'work: 2h' "$od"
job two H100-SXM5-80GB:4 'work: 2h' "$od"
place
expect_exit 3
expect_json '$.limits[0].shadow_price' null "the price of a job that is left out is no money"
expect_json '$.jobs[1].binds' org
expect_json '$.jobs[1].shadow_price' null
expect_json '$.jobs[1].kept_out_by[0]' org
b explain placement
said 'org binds, 3 gpu are left (1 gpu more would place one more job)' "what more of it would do"
unsaid 'USD a gpu' "and it has no price"
market t acme,us-east-1,quad,H100-SXM5-80GB,4,on_demand,8,USD bolt,us-west-2,quad,H100-SXM5-80GB,4,on_demand,10,USD
job one H100-SXM5-80GB:4 'work: 2h' "$od"
job two H100-SXM5-80GB:4 'work: 2h' "$od"
place
expect_exit 0
awk -v s="$(json '$.limits[0].shadow_price')" 'BEGIN { exit !(s > 0.5 && s <= 4.2) }'
ok $? "where it saves money that is told (is $(json '$.limits[0].shadow_price'))"
b place -o json
expect_json '$.jobs[0].kept_out_by[0]' '' "nobody is kept out"
conf

# The budgets that are too small by themselves are named, with what each leaves.
market b acme,us-east-1,quad,H100-SXM5-80GB,4,on_demand,8,USD
b budget set all --cap 5 --period day
b budget set user:ann --cap 2 --period day
b budget set user:bob --cap 1 --period day
b budget set all --cap 5000 --period month
job one H100-SXM5-80GB:4 'work: 1h' "$od" 'user: ann'
place
expect_exit 4
expect_err_has 'the cheapest costs 8.67 USD, budget all/day leaves 5.00, budget user:ann/day leaves 2.00\.'
job two H100-SXM5-80GB:4 'work: 1h' "$od" 'user: ann' 'max_cost: 3'
place
said 'the cheapest costs 8.67 USD, its max_cost leaves 3.00, budget all/day leaves 5.00, budget user:ann/day leaves 2.00\.' \
	"the job's own cap beside them"

# Each limit that by itself keeps a job out is told; who is kept out by her own gave way to nobody.
caps() {	# caps ALL: ann has 10 USD of her own, a job costs 8.67
	market u acme,us-east-1,quad,H100-SXM5-80GB,4,on_demand,8,USD
	b budget set all --cap "$1" --period day
	b budget set user:ann --cap 10 --period day
	for k in 1 2; do job "a$k" H100-SXM5-80GB:4 'work: 1h' "$od" 'user: ann'; done
	for k in 1 2 3; do job "b$k" H100-SXM5-80GB:4 'work: 1h' "$od" 'user: bob'; done
	place
	expect_exit 4
}
caps 30
expect_json '$.jobs[1].name' a2
expect_json '$.jobs[1].offer' null
expect_json '$.jobs[1].kept_out_by[0]' 'budget all/day'
expect_json '$.jobs[1].kept_out_by[1]' 'budget user:ann/day' "her own budget is told beside that of all"
expect_json '$.jobs[1].fair_share.gave_way_to[0]' '' "she gave way to nobody: her own would not have let her"
b place -e
said "a2: not placed: other jobs take what is left; binds: budget all/day and budget user:ann/day\. " "both, in a sentence"
caps 50
expect_json '$.jobs[1].binds' 'budget user:ann/day' "where that of all leaves enough, hers alone"
expect_json '$.jobs[1].kept_out_by[0]' 'budget user:ann/day'
expect_json '$.jobs[1].kept_out_by[1]' ''

# With nobody's own limit in the way: whose turn it was, as a sentence.
market w acme,us-east-1,quad,H100-SXM5-80GB,4,on_demand,8,USD
conf 'limits:' '  - {name: org, provider: acme, limit: 8, unit: gpu}'
job a1 H100-SXM5-80GB:4 'work: 1h' "$od" 'user: ann'
job a2 H100-SXM5-80GB:4 'work: 1h' "$od" 'user: ann'
job b1 H100-SXM5-80GB:4 'work: 1h' "$od" 'user: bob'
b place -e
said "gave way to bob's j-[^ ]* by fair share: with it bob would hold 4 GPUs, ann 8" "a whole sentence"

# A gang of more machines than are owned: how many there are, and what would do, though no other job is there.
market g acme,us-east-1,h8,H100-SXM5-80GB,8,on_demand,30,USD
conf
printf 'provider,region,instance_type,accelerator,accelerator_count,count,from,to\nacme,us-east-1,h8,H100-SXM5-80GB,8,2,2026-01-01,2028-01-01\n' >own.csv
b commitments import own.csv
job gang H100-SXM5-80GB:8 'work: 2h' 'nodes: 5' 'purchase: [reserved]'
place
expect_exit 3
expect_err_has 'not placed: an owned commitment has 2 machines free, it needs 5\. 2 offers seen'
expect_json '$.jobs[0].changes[0].what' limit
expect_json '$.jobs[0].changes[0].subject' 'owned commitment'
expect_json '$.jobs[0].changes[0].to' 3.000000
expect_json '$.jobs[0].kept_out_by[0]' 'owned commitment'
expect_json '$.jobs[0].binds' 'owned commitment'
b place -e
said '3 machines more of owned commitment would place it on acme us-east-1 h8 reserved, paid x5 for 0.00 USD' "what would do"
market gm acme,us-east-1,h8,H100-SXM5-80GB,8,on_demand,30,USD
sed 's/,2,2026/,5,2026/' own.csv >more.csv
b commitments import more.csv
job gang H100-SXM5-80GB:8 'work: 2h' 'nodes: 5' 'purchase: [reserved]'
place
expect_exit 0 'with three more it has a place'
expect_json '$.jobs[0].offer.paid' true
market gd acme,us-east-1,h8,H100-SXM5-80GB,8,on_demand,30,USD
b commitments import own.csv
job gang H100-SXM5-80GB:8 'work: 2h' 'nodes: 3' 'purchase: [on_demand, reserved]'
place
expect_json '$.jobs[0].offer.paid' false
b place -e
said '1 machine more of owned commitment would let it go to acme us-east-1 h8 reserved, paid x3 for 0.00 USD' "and what is cheaper"

# A budget that alone keeps a job out is named; so are two, and the job's own cap, for each what alone refuses all it could have.
market n acme,us-east-1,p5,H100-SXM5-80GB,8,on_demand,30,USD acme,us-west-2,p5,H100-SXM5-80GB,8,on_demand,40,USD
b budget set user:bob --cap 10
job alone H100-SXM5-80GB:8 'work: 2h' 'user: bob' "$od"
place
expect_exit 4
expect_json '$.jobs[0].changes[0].what' over_budget
expect_json '$.jobs[0].changes[0].subject' 'budget user:bob/month'
expect_json '$.jobs[0].kept_out_by[0]' 'budget user:bob/month'
expect_json '$.jobs[0].kept_out_by[1]' ''
b place -e
said '62.50 USD to spend would pay for acme us-east-1 p5 on_demand (budget user:bob/month leaves 10.00)' "in words"
b budget set all --cap 70
job own H100-SXM5-80GB:8 'work: 2h' "$od" 'max_cost: 5' 'user: ann'
place
expect_json '$.jobs[1].changes[0].subject' max_cost
expect_json '$.jobs[1].kept_out_by[0]' '' 'what all may spend would do'
b budget set all --cap 60
place
expect_json '$.jobs[0].changes[0].subject' 'budget all/month and budget user:bob/month'
expect_json '$.jobs[0].kept_out_by[1]' 'budget user:bob/month'
expect_json '$.jobs[1].changes[0].subject' 'max_cost and budget all/month'
expect_json '$.jobs[1].kept_out_by[0]' 'budget all/month'

# A quota that alone does is told the same way; of offers that different ones keep away it is none.
conf 'limits:' '  - {name: east, region: us-east-1, limit: 0, unit: gpu}' '  - {name: all, limit: 4, unit: gpu}'
market nq acme,us-east-1,p5,H100-SXM5-80GB,8,on_demand,30,USD acme,us-west-2,p5,H100-SXM5-80GB,8,on_demand,40,USD
job big H100-SXM5-80GB:8 'work: 2h' "$od" 'max_price: 20'
job two H100-SXM5-80GB:8 'work: 2h' "$od"
place
expect_json '$.jobs[0].kept_out_by[0]' '' 'its price is'
expect_json '$.jobs[1].kept_out_by[0]' all
expect_json '$.jobs[1].kept_out_by[1]' ''

# A max_price that is too low; and one offer is one.
conf
market m acme,us-east-1,p5,H100-SXM5-80GB,8,on_demand,30,USD
job low H100-SXM5-80GB:8 'work: 2h' "$od" 'max_price: 20'
job one H100-SXM5-80GB:8 'work: 2h' "$od"
b place -e
said ' what would change it: a max_price of 30 USD an hour would allow acme us-east-1 p5 on_demand for 62.50 USD' "a sentence"
said ' one: acme us-east-1 p5 on_demand: 62.50 USD, done by [^ ]* 1 offer seen ' "one, and nothing behind it"

# More of a quota goes to those before first: each waiting job is told what places it, and with so much it is placed.
limit() { conf 'limits:' "  - {name: org, limit: $1, unit: gpu}"; }
all() {	# all LIMIT: jobs of 8, 4, 1 and 4
	limit "$1"
	market t acme,us-east-1,one,H100-SXM5-80GB,1,on_demand,4,USD acme,us-east-1,quad,H100-SXM5-80GB,4,on_demand,16,USD \
		acme,us-east-1,oct,H100-SXM5-80GB,8,on_demand,32,USD
	job high H100-SXM5-80GB:8 'work: 1h' "$od" 'priority: 5'
	job four H100-SXM5-80GB:4 'work: 1h' "$od"
	job single H100-SXM5-80GB:1 'work: 1h' "$od"
	job again H100-SXM5-80GB:4 'work: 1h' "$od"
	place
}
tells() {	# tells JOB MORE
	[ "$(json "\$.jobs[$1].changes[0].to")" = "$2.000000" ]
	ok $? "job $1 is told $2 more: $(json "\$.jobs[$1].changes[0].text")"
}
has() {	# has LIMIT N WHAT: with that limit the N-th job has a place, and with one less it has not
	all "$1"
	[ "$(json "\$.jobs[$2].offer")" != null ]
	ok $? "$3: with $1 it is placed"
	all $(($1 - 1))
	[ "$(json "\$.jobs[$2].offer")" = null ]
	ok $? "$3: with $(($1 - 1)) it is not"
}
all 0
expect_exit 3
tells 0 8	# nothing goes before it that would fit beside
tells 2 1
tells 1 4	# of one or one other the user that holds less with it goes first
tells 3 17	# four, single, then the one of higher priority fits in what they take
b place -e
said '17 gpu more of org (j-[^ ]* and 2 more take a part of it first) would allow acme us-east-1 quad' "and how many"
has 8 0 high
has 1 2 single
has 4 1 four
has 17 3 again
done_testing
