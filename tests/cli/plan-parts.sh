#!/bin/sh
# Offers in two parts, a price for every hour and one for each hour of use: price lists, plans by the lower envelope of
# offers, owned commitments and the placement of jobs on them.
. "$TOP_SRCDIR/tests/cli/lib.sh"

head='provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,usage_price_per_hour,currency'
offers() {	# offers USE: of what is reserved in parts
	cat >offers.csv <<CSV
$head
acme,r1,one,H100,1,on_demand,,,,2,,USD
acme,r1,one,H100,1,reserved,12,none,0,1,,USD
acme,r1,one,H100,1,reserved,12,partial,876,0.1,$1,USD
CSV
	run prices import offers.csv
}

# One machine, term and payment is sold in parts and plain: two offers; at over 100,000 USD with its use it is not believed.
printf '%s\n' "$head" 'acme,r1,one,H100,1,reserved,12,none,0,1,,USD' 'acme,r1,one,H100,1,reserved,12,none,0,0.2,1.2,USD' \
    'acme,r1,two,H100,1,reserved,12,none,0,60000,60000,USD' >both.csv
run --store both.db prices import both.csv
expect_exit 0
expect_err_has 'both.csv:4: price unknown'
run --store both.db prices list -o json
expect_json '$.offers[0].price_per_hour' 1.000000
expect_json '$.offers[1].price_per_hour' 0.200000
expect_json '$.offers[1].usage_price_per_hour' 1.200000
expect_json '$.offers[2].price_per_gpu_hour' null
run --store both.db prices import both.csv
run --store both.db --now 2026-12-01T12:00:00Z prices diff -o json
expect_json '$.offers[0].change' '' 'read again nothing moves'

# The price list: kept, shown, written and read again, compared.
offers 1.2
expect_exit 0
run prices list --gpu H100 --purchase reserved -o json
expect_json '$.offers[0].usage_price_per_hour' 0.000000
expect_json '$.offers[1].usage_price_per_hour' 1.200000
expect_json '$.offers[1].price_per_gpu_hour' 1.400000 'the price of a GPU-hour is that of one that is used'
run prices list --gpu H100 --purchase on_demand -o json
expect_out_has '"usage_price_per_hour": null' 'unless it is reserved'
run prices list -o csv
cp "$out" list.csv
cut -d, -f10- list.csv >list.prices
run --store again.db prices import list.csv
run --store again.db prices list -o csv
cut -d, -f10- "$out" | cmp -s - list.prices
ok $? "a list that was written reads back the same"
run prices list -o wide
expect_out_has 'USE \$/H'
offers 1.3
run --now 2026-12-01T12:00:00Z prices diff --since 2026-11-30T11:00:00Z -o json
run --now 2026-12-01T12:00:00Z prices list --purchase reserved -o json
expect_json '$.offers[1].usage_price_per_hour' 1.300000 'a price of use that moves is a new price'
offers 1.2
refused() {	# refused ROW WHY
	printf '%s\n%s\n' "$head" "$1" >bad.csv
	run --store bad.db prices import bad.csv
	expect_exit 8
	expect_err_has "bad.csv:2: refused: usage_price_per_hour '.*': $2"
}
refused 'acme,r1,one,H100,1,reserved,12,none,0,1,-1,USD' 'not a price'
refused 'acme,r1,one,H100,1,reserved,12,none,0,1,lots,USD' 'not a price'
refused 'acme,r1,one,H100,1,on_demand,,,,1,0.5,USD' 'only reserved offers'
printf '%s\nacme,r1,one,H100,1,reserved,12,none,0,0,0.5,USD\n' "$head" >use.csv
run --store use.db prices import use.csv
expect_exit 0 "use alone can be paid for"
run --store use.db prices list -o json
expect_json '$.offers[0].price_per_gpu_hour' 0.500000

# Of a day 8 GPUs are always in use, 4 more for 12 hours, 4 more for 2: plain, in parts, on demand. In parts 0.20 + 1.20 beat
# on demand from 0.2 / 0.8 of the time on, and plain ones beat them from 0.8 / 1.2 on.
awk 'BEGIN { print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 56 * 24; h++) print 1791201600 + 3600 * h "," 8 + (h % 24 < 12 ? 4 : 0) + (h % 24 < 2 ? 4 : 0) ",day,H100" }' >day.csv
run record csv day.csv
run plan day --horizon 4w --no-spot --paths 60 --write-lp plan.lp -o json
expect_exit 0
expect_json '$.series[0].buys[0].count' 8
expect_json '$.series[0].buys[0].usage_price_per_hour' 0.000000
expect_json '$.series[0].buys[1].count' 4
expect_json '$.series[0].buys[1].usage_price_per_hour' 1.200000
expect_json_near '$.series[0].buys[1].break_even_utilisation' 0.25 1e-6
expect_json_near '$.series[0].buys[1].effective_price_per_gpu_hour' 1.4 1e-6
expect_json_near '$.series[0].buys[1].bound' 537.6 1e-3
awk -v c="$(json '$.series[0].buys[1].expected_cost')" -v u="$(json '$.series[0].buys[1].utilisation')" \
    'BEGIN { w = 537.6 + 1.2 * u * 4 * 672; exit !(c > w - 0.01 && c < w + 0.01 && u > 0.45 && u < 0.56) }'
ok $? "what is bought in parts costs both: $(json '$.series[0].buys[1].expected_cost')"
cost=$(json '$.totals.expected_cost')
if command -v glpsol >/dev/null 2>&1; then
	glpsol --lp plan.lp --mipgap 0 -w plan.sol >/dev/null 2>&1
	awk -v c="$cost" '$1 == "s" { v = $NF } END { exit !(v > c - 1e-4 && v < c + 1e-4) }' plan.sol
	ok $? "GLPK says the same of --write-lp: $cost"
else
	skip "GLPK on --write-lp" "no glpsol"
fi
run plan --replay 1
expect_exit 0
run plan day --horizon 4w --no-spot --paths 60
expect_out_has 'in two parts: acme r1 one reserved 12 months, part upfront, use besides asks 0.2000'
tr -s ' \n' ' ' <"$out" | grep -q 'less than on demand from 25.0 % of the time on; from 66.7 % on acme r1 one reserved 12 months, nothing upfront is cheaper'
ok $? "the plan says from which use on it pays"
run plan day --horizon 4w --no-spot --paths 60 --starts 2w -o json
expect_exit 0
awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '/schedule.buys.*usage_price_per_hour/ && $2 > 1.19 && $2 < 1.21 { n++ } END { exit !n }'
ok $? "--starts buys of it"
awk -v a="$(json '$.series[0].schedule.expected_cost')" -v b="$cost" 'BEGIN { exit !(a > 0.9 * b && a <= b + 1e-4) }'
ok $? "a schedule costs no more than the plan at its first date: $(json '$.series[0].schedule.expected_cost')"
expect_out_has '1.2000 USD for each GPU-hour in use'

# Use that is dearer than on demand is never bought, however little is asked besides.
offers 2.5
run plan day --horizon 4w --no-spot --paths 60 -o json
expect_exit 0
expect_json '$.series[0].buys[1].count' ''
offers 99
run plan day --horizon 4w --no-spot --paths 60 -o json
expect_exit 0

# What is owned serves at its price of use, above plain ones that are bought for what is always in use: 6 of those (6.00 an hour, owned
# 2 x 0.5 + 4 x 0.5 x 0.5) are 0.20 an hour less than 2, with which 4 in parts would be bought for the rest.
own() {	# own USE
	printf 'provider,region,instance_type,accelerator,count,from,to,usage_price_per_hour\nacme,r1,one,H100,6,2026-06-01,2027-12-01,%s\n' "$1" >own.csv
}
offers 1.2
own 0.5
run commitments import own.csv
run commitments -o json
expect_json '$.commitments[0].usage_price_per_hour' 0.500000
run plan day --horizon 4w --no-spot --paths 60 -o json
expect_json '$.series[0].rest[0].purchase' owned
expect_json_near '$.series[0].rest[0].price_per_gpu_hour' 0.5 1e-9
expect_json '$.series[0].buys[0].count' 6
expect_json '$.series[0].buys[1].count' ''
expect_json_near '$.series[0].rest[0].expected_cost' 1344 20
own less
run commitments import own.csv
expect_exit 1
expect_err_has 'column usage_price_per_hour: .*less'
expect_err_has 'own.csv:2'

# A job on it costs that, so that a cheaper machine goes before it.
printf 'schema: berth.job/1\nname: o\nrun: make\naccelerators: "H100:1"\nwork: 10h\n' >o.yaml
cat >jobs.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency
acme,r1,one,H100,1,on_demand,2,USD
bold,r1,one,H100,1,on_demand,1.5,USD
CSV
for use in 1.1 1.7 ''; do
	own "$use"
	rm -f job.db
	run --store job.db prices import jobs.csv
	run --store job.db commitments import own.csv
	run --store job.db submit o.yaml
	run --store job.db place -o json
	case $use in
	1.7) expect_json '$.jobs[0].offer.provider' bold "at 1.70 the other is cheaper" ;;
	*) expect_json '$.jobs[0].offer.paid' true "at ${use:-0} the owned one is cheaper"
		awk -v c="$(json '$.jobs[0].expected_cost')" -v h="$(json '$.jobs[0].offer.expected_hours')" -v u="${use:-0}" \
		    'BEGIN { exit !(h > 9.9 && c > u * h - 0.001 && c < u * h + 0.001) }'
		ok $? "it costs ${use:-0} an hour: $(json '$.jobs[0].expected_cost')" ;;
	esac
done
done_testing
