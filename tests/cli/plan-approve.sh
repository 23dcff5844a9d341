#!/bin/sh
# berth plan --approve: what a kept plan buys becomes commitments, which the next plan counts; what is too old, or has
# another price by now, does not.
. "$TOP_SRCDIR/tests/cli/lib.sh"

now() { t=$1; shift; run --now "$t" "$@"; }
day=2026-11-30
T="${day}T12:00:00Z"
# flat: 10 GPUs at all times; two machines of 4 save, and a third that is used by half does not: 4.8 against 2 * 2.
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 0; h < 42 * 24; h++) print 1796040000 - 42 * 86400 + 3600 * h ",10,flat,H100" }' >use.csv
offers() {	# offers PRICE-OF-12-MONTHS [ON-DEMAND]
	cat >offers.csv <<-CSV
	provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour
	acme,r1,quad,H100,4,on_demand,,,,${2:-8}
	acme,r1,quad,H100,4,reserved,12,partial,8760,$1
	CSV
	now "$T" prices import offers.csv
	expect_exit 0
}
now "$T" record csv use.csv
offers 4

now "$T" plan --approve 1
expect_exit 1
expect_err_has 'no plan 1'
expect_err_has 'none is kept: `berth plan` makes one'
now "$T" plan flat --no-spot --paths 20 -o json
expect_exit 0
expect_json '$.id' 1
expect_json '$.series[0].buys[0].count' 2
now "$T" plan --approve 7
expect_exit 1
expect_err_has 'no plan 7'
expect_err_has "the newest is plan 1, of $day: .berth explain plan:1. shows it"
now "$T" plan flat --approve 1 -y
expect_exit 2
now "$T" plan flat --later
expect_exit 2
expect_err_has 'it goes with --approve alone'

# Without an answer nothing happens; a dry run says what would.
now "$T" plan --approve 1
expect_exit 2
expect_err_has 'give -y'
now "$T" plan --approve 1 --dry-run
expect_exit 0
expect_out_has "2 x acme r1 quad, 12 months, a part upfront, $day to 2027-11-30: 8760.00 USD upfront and 4.0000 an hour each"
expect_out_has '87600.00 USD in all .flat, 8 x H100.' "2 * (8760 + 4 * 8760)"
expect_err_has 'nothing is recorded'
now "$T" commitments -o json
expect_json '$.commitments' '[]'
now "$T" plan --approve 1 --dry-run -o json
expect_is_json berth.plan-approval/1
expect_json '$.dry_run' true
expect_json '$.commitments[0].id' null

# A plan of eight days ago is too old, until it is allowed.
now 2026-12-08T12:00:00Z plan --approve 1 -y
expect_exit 1
expect_err_has 'knows of nothing since .*8.0 days ago, more than the 1w'
expect_err_has 'berth plan. makes it again'
now 2026-12-08T12:00:00Z plan --approve 1 --dry-run --plan-age 9d
expect_exit 0

# Half a percent dearer is let pass, and is what is recorded; five are not, and name both prices. Effective: 4 + 1.
L=2026-12-01T12:00:00Z
T=$L
offers 4.25
now "$L" plan --approve 1 -y
expect_exit 6
expect_err_has 'is 5.2500 USD an hour used all the time now, it was 5.0000 .[+]5.0 %'
expect_err_has 'makes a plan of the prices of now'
offers 3.7
now "$L" plan --approve 1 -y
expect_exit 6
expect_err_has '.-6.0 %.'
# On demand may fall as far as two machines still save: to 5, what one costs that is used all the time.
offers 4 5.02
now "$L" plan --approve 1 --dry-run
expect_exit 0
offers 4 4.96
now "$L" plan --approve 1 -y
expect_exit 6
expect_err_has 'on demand acme r1 quad is 1.2400 USD a GPU-hour now, it was 2.0000 at the cheapest .-38.0 %.'
expect_err_has 'below 1.2500 less would be bought for series flat'
expect_err_has 'makes a plan of the prices of now'
now "$L" commitments -o json
expect_json '$.commitments' '[]'
offers 4.02
now "$L" plan --approve 1 -y -o json
expect_exit 0
expect_is_json berth.plan-approval/1
expect_json '$.plan' 1
expect_json '$.dry_run' false
expect_json '$.commitments[0].id' 1
expect_json '$.commitments[0].count' 2
expect_json '$.commitments[0].gpus' 8
expect_json_near '$.commitments[0].price_per_hour' 4.02 1e-9
expect_json '$.commitments[0].from' "$L"
expect_json '$.commitments[0].to' 2027-12-01T12:00:00Z
expect_json_near '$.bound' 87950.4 1e-6 "2 * (8760 + 4.02 * 8760)"
expect_json_near '$.upfront' 17520 1e-6
now "$L" commitments -o json
expect_json '$.commitments[0].source' plan:1
expect_json '$.commitments[0].note' 'series flat'
expect_json '$.commitments[0].payment' partial
expect_json '$.commitments[0].accelerator_count' 4
expect_json '$.commitments[1].id' ''

# Not twice; once they are forgotten, again. The next plan counts them.
now "$L" plan --approve 1 -y
expect_exit 1
expect_err_has 'plan 1 is approved already: commitment 1'
now "$L" plan flat --no-spot --paths 20 -o json
expect_exit 0
expect_json '$.id' 2
expect_json '$.series[0].buys' '[]'
now "$L" plan --approve 2 -y
expect_exit 3
expect_err_has 'plan 2 buys nothing'
now "$L" commitments delete 1
now "$L" plan --approve 1 -y
expect_exit 0
expect_err_has 'recorded: .berth commitments. lists it; nothing was ordered'
now "$L" commitments delete "$(now "$L" commitments -o csv --columns id; grep '^[0-9]' "$out")"

# Under a budget that a dearer price would pass (two machines bind 87360), what is asked on demand turns it no sooner.
offers 4
now "$L" plan flat --no-spot --paths 20 --budget 88000 -o json
id=$(json '$.id')
expect_json '$.series[0].buys[0].count' 2
awk -v f="$(json '$.series[0].what_changes_it.reserved_price_up.factor')" 'BEGIN { exit !(f > 1.007 && f < 1.008) }'
ok $? "... at 88000 / 87360 times the price it buys less"
offers 4 5.02
now "$L" plan --approve "$id" --dry-run
expect_exit 0
offers 4 4.96
now "$L" plan --approve "$id" --dry-run
expect_exit 6
expect_err_has 'below 1.2500 less would be bought'
offers 4

# What is not sold any more is not ordered.
sed -i '/,12,partial/d' offers.csv
now "$L" prices import offers.csv
now "$L" plan --approve 1 -y
expect_exit 6
expect_err_has 'acme r1 quad, 12 months, a part upfront is not on offer any more'

# Dates: a third machine of a month is bought again and again by the schedule; only what begins by now is recorded.
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,usage_price_per_hour
acme,r1,quad,H100,4,on_demand,,,,8,
acme,r1,quad,H100,4,reserved,1,none,0,4,0.5
CSV
now "$L" prices import offers.csv
now "$L" plan flat --no-spot --paths 20 --horizon 12w --starts 1w -o json
expect_exit 0
id=$(json '$.id')
n=0 first=0 bound=0
while b=$(json "\$.series[0].schedule.buys[$n].count"); [ -n "$b" ]; do
	[ "$(json "\$.series[0].schedule.buys[$n].t")" \> "$L" ] || first=$((first + 1))
	n=$((n + 1))
done
[ $first -ge 1 ] && [ $n -gt $first ]
ok $? "the schedule has purchases of now ($first) and of later ($n in all)"
cp "$out" schedule.json
expect_json_near '$.series[0].schedule.buys[0].price_per_hour' 4 1e-9
now "$L" plan --approve "$id" --dry-run -o json
expect_exit 0
expect_json '$.later' $((n - first))
expect_json "\$.commitments[$((first - 1))].from" "$L"
expect_json "\$.commitments[$first].from" ''
expect_json_near '$.commitments[0].usage_price_per_hour' 0.5 1e-9
now "$L" plan --approve "$id" --dry-run
expect_out_has 'left out: plan again before each, or give --later'
now "$L" plan --approve "$id" --later -y -o json
expect_exit 0
expect_json '$.later' 0
for k in $(seq 0 $((n - 1))); do
	json "\$.commitments[$k].from"; json "\$.commitments[$k].count"; json "\$.commitments[$k].to"
done >recorded
cp schedule.json "$out"
for k in $(seq 0 $((n - 1))); do
	t=$(json "\$.series[0].schedule.buys[$k].t")
	to=$(json "\$.series[0].schedule.buys[$k].until")
	[ "$t" \> "$L" ] || { t=$L to=2026-12-31T22:00:00Z; }	# 730 hours of a month from now on
	echo "$t"; json "\$.series[0].schedule.buys[$k].count"; echo "$to"
done >planned
diff planned recorded >&2
ok $? "what is recorded begins, and ends, as the schedule says"
# Steps of a ladder are dated as well.
now "$L" commitments --all -o csv --columns id
for i in $(grep '^[0-9]' "$out"); do now "$L" commitments delete "$i"; done
now "$L" plan flat --no-spot --paths 20 --ladder 2 -o json
id=$(json '$.id')
expect_json_near '$.series[0].ladder.steps[0].upfront' 0 1e-9
step=$(json '$.series[0].ladder.steps[0].count') all=$(json '$.series[0].buys[0].count')
[ "$step" -lt "$all" ]
ok $? "the first step is a part"
now "$L" plan --approve "$id" -y -o json
expect_json '$.commitments[0].count' "$step"
expect_json '$.later' 1
done_testing
