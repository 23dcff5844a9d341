#!/bin/sh
# Cards of one group that differ in speed: demand of a group is that on its fastest card. Rates of the vendor's sheets, dense BF16:
# H100 SXM5 989 TFLOPS, PCIe 756; sums by hand, and programs by GLPK.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run init
# Eight weeks by day and night; the loads drop the form of the card, as many sources never tell it.
awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 56 * 24; h++)
		print 1791201600 + 3600 * h "," 12 + (h % 24 < 10 ? 6 : 0) + (h * 7919) % 101 / 50 ",team,H100-SXM5-80GB"
}' >use.csv
run record csv use.csv
expect_exit 0
offers() {	# offers PCIE GROUP: USD an hour reserved of a PCIe card, and of one that does not say what it is
	cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,slow,H100-PCIE-80GB,1,on_demand,,,,1.9,USD
acme,r1,slow,H100-PCIE-80GB,1,reserved,12,none,0,$1,USD
bold,r1,fast,H100-SXM5-80GB,1,on_demand,,,,2,USD
bold,r1,fast,H100-SXM5-80GB,1,reserved,12,none,0,0.95,USD
calm,r1,plain,H100-80GB,1,reserved,12,none,0,$2,USD
CSV
	run prices import offers.csv
	expect_exit 0
}
rate() { awk "BEGIN { printf \"%.6f\", $1 }"; }
plan='plan team --horizon 4w --paths 40 --no-spot --list-prices --max-term 12 --provider acme,bold,calm'
glpk() {	# glpk WHAT: the program that berth wrote costs as much by GLPK
	if command -v glpsol >/dev/null 2>&1; then
		glpsol --lp plan.lp --mipgap 0 -w plan.sol >/dev/null 2>&1
		expect_json_near "$1" "$(awk '$1 == "s" { print $6 }' plan.sol)" 0.01 "as GLPK finds"
	else
		skip "GLPK on --write-lp" "no glpsol"
	fi
}

# 0.90 for 756 of 989 is 1.18 for the whole: the faster at 0.95 is cheaper, and so it is on demand.
offers 0.90 9
run plan team --horizon 4w --paths 40 --no-spot --list-prices --max-term 12 --provider bold -o json
alone=$(json '$.totals.expected_cost')
run $plan -o json --write-lp plan.lp
expect_exit 0
expect_json '$.series[0].accelerator' H100-80GB
expect_json '$.series[0].reference' H100-SXM5-80GB
expect_json '$.series[0].buys[0].instance_type' fast
expect_json '$.series[0].buys[0].accelerator' H100-SXM5-80GB
expect_json_near '$.series[0].buys[0].speed' 1 1e-9
expect_json '$.series[0].buys[1].count' ''
expect_json '$.series[0].rest[0].offer' 'bold r1 fast on_demand'
expect_json_near '$.totals.expected_cost' "$alone" 1e-6 "slower cards change nothing"
expect_out_has 'each H100-PCIE-80GB counts as 0.76 H100-SXM5-80GB, as they are rated at bf16'
glpk '$.totals.expected_cost'

# 0.70 is 0.916: now it is the slower one, at its rate.
offers 0.70 9
run $plan -o json --write-lp plan.lp
expect_json '$.series[0].buys[0].instance_type' slow
n=$(json '$.series[0].buys[0].count')
[ "${n:-0}" -ge 16 ]
ok $? "more of the slower cards than of the faster: $n"
expect_json_near '$.series[0].buys[0].gpus' "$(rate "$n * 756 / 989")" 2e-6
expect_json_near '$.series[0].buys[0].speed' "$(rate '756 / 989')" 2e-6
expect_json_near '$.series[0].buys[0].effective_price_per_gpu_hour' "$(rate '0.70 * 989 / 756')" 2e-6
expect_json_near '$.series[0].buys[0].bound' "$(rate "$n * 0.70 * 672")" 1e-6 "USD of all cards"
expect_out_has 'slow reserved 12 months, nothing upfront, each 0.76 H100-SXM5-80GB'
glpk '$.totals.expected_cost'
# Rates at another precision: FP64 is 34 and 26 TFLOPS.
run $plan --precision fp64 -o json
expect_json_near '$.series[0].buys[0].speed' "$(rate '26 / 34')" 2e-6

# A card that does not say which of the group it is counts as the fastest.
offers 0.90 0.94
run $plan -o json
expect_json '$.series[0].buys[0].instance_type' plain
expect_json_near '$.series[0].buys[0].speed' 1 1e-9

# Who says which card it was is believed.
run $plan --gpu H100-PCIE-80GB -o json
expect_json '$.series[0].reference' H100-PCIE-80GB
expect_json '$.series[0].buys[0].instance_type' slow
expect_json_near '$.series[0].buys[0].speed' 1 1e-9
expect_out_lacks 'counts as 0.76'
run $plan --gpu H100-PCIE-80GB --also H100-SXM5-80GB -o json
expect_json '$.series[0].buys[0].instance_type' fast
expect_json_near '$.series[0].buys[0].speed' "$(rate '989 / 756')" 2e-6

# What is owned counts at its rate too: eight cards carry 6.115; at start dates whole GPUs of all of them, 6.
offers 9 9
run $plan -o json
none=$(json '$.series[0].buys[0].count')
printf 'provider,region,instance_type,accelerator,accelerator_count,count,from,to,term_months,price_per_hour\nacme,r1,slow,H100-PCIE-80GB,1,8,2026-03-01,2029-03-01,36,1\n' >own.csv
run commitments import own.csv
expect_exit 0
run $plan -o json --write-lp plan.lp
expect_json '$.series[0].rest[0].purchase' owned
expect_json_near '$.series[0].rest[0].gpus' "$(rate '8 * 756 / 989')" 2e-6
expect_json '$.series[0].rest[0].offer' 'acme r1 slow reserved 36 months, nothing upfront, owned, each 0.76 H100-SXM5-80GB'
with=$(json '$.series[0].buys[0].count')
glpk '$.totals.expected_cost'
run $plan --starts 1w -o json --write-lp plan.lp
expect_exit 0
glpk '$.series[0].schedule.expected_cost'
[ "$with" -lt $((none - 5)) ] && [ "$with" -ge $((none - 8)) ]
ok $? "beside them $with are bought, not $none"
done_testing
