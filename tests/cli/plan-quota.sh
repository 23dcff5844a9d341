#!/bin/sh
# Quotas of berth plan hold for all offers and series that they count, in each hour: GLPK solves the program that is written.
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir -p "$HOME/.config/berth"
limits() {
	{ echo 'schema: berth.config/1'; echo 'limits:'; cat; } >"$HOME/.config/berth/berth.yaml"
}
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 60, unit: gpu }
Y
run init
# Seven weeks: a working day of up to 90 GPUs, and a night shift of up to 40.
awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 49 * 24; h++) {
		t = 1791806400 + 3600 * h; w = sin(6.2831853 * h / 24)
		print t "," int(60 + 30 * w) ",day,H100\n" t "," int(24 - 16 * w) ",night,H100"
	}
}' >use.csv
run record csv use.csv
expect_exit 0
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,vcpus,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,octo,H100,8,200,on_demand,,,,16,USD
acme,r1,octo,H100,8,200,reserved,12,none,0,9.6,USD
acme,r1,quad,H100,4,80,on_demand,,,,8.4,USD
acme,r1,quad,H100,4,80,reserved,12,none,0,5.2,USD
acme,r1,quad,H100,4,80,spot,,,,4,USD
bold,r1,one,H100,1,20,on_demand,,,,3,USD
bold,r1,one,H100,1,20,reserved,12,none,0,2.2,USD
CSV
run prices import offers.csv

glpk() {	# glpk: the optimum of x.lp
	timeout 200 glpsol --lp x.lp --mipgap 0 -w x.sol >glpk.out 2>&1
	awk '$1 == "s" { print $6 == "" ? $NF : $6 }' x.sol
}
same() {	# same WHAT
	if ! command -v glpsol >/dev/null 2>&1; then
		skip "$1" "no glpsol"
		return
	fi
	ours=$(json '$.totals.expected_cost') theirs=$(glpk)
	awk -v a="$ours" -v b="$theirs" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(b > 0 && d <= 1e-5 + 1e-9 * b) }'
	ok $? "$1: the plan's cost ($ours) is GLPK's optimum ($theirs)"
}
taken() {	# taken: GPUs of acme, at most, that the plan takes: reserved, and on demand and spot at their busiest
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '
		$1 ~ /buys\[[0-9]+\]\.provider$/ { mine = $2 == "acme" }
		$1 ~ /buys\[[0-9]+\]\.gpus$/ && mine { n += $2 }
		$1 ~ /rest\[[0-9]+\]\.offer$/ { mine = $2 ~ /^acme/ }
		$1 ~ /rest\[[0-9]+\]\.gpus$/ && mine { n += $2 }
		END { print n + 0 }'
}

# One series, one quota over what is reserved, on spot and on demand: the rest is with the dearer provider.
plan='plan day --horizon 4w --max-term 12 --paths 60 --provider acme,bold --list-prices'
run $plan -o json --write-lp x.lp
expect_exit 0
expect_is_json berth.plan/1
same "one quota over all offers of a provider"
[ "$(taken)" -le 60 ] && [ "$(taken)" -ge 56 ]
ok $? "60 GPUs are all that acme gives ($(taken))"
id=$(json '$.id')
price=$(json '$.quotas[0].price_per_month')
expect_json '$.quotas[0].limit' cards
expect_json '$.quotas[0].usable' 60
awk -v p="$price" 'BEGIN { exit !(p > 0) }'
ok $? "one more GPU is worth something ($price USD a month)"
run $plan
expect_out_has 'quota cards of 60 GPUs binds: one GPU more of it would save'
run plan --replay "$id"
expect_exit 0 "the plan is replayed byte for byte"
run explain "plan:$id"
expect_out_has 'quota cards of 60 GPUs binds'

# The price is what the linear program says: four more GPUs, whole quads, save about so much.
run $plan -o json
cost=$(json '$.totals.expected_cost')
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 64, unit: gpu }
Y
run $plan -o json
awk -v a="$cost" -v b="$(json '$.totals.expected_cost')" -v p="$price" 'BEGIN { s = (a - b) * 730 / 672; exit !(s > 0 && s <= 4 * p * 1.3 && s >= 4 * p * 0.4) }'
ok $? "four more GPUs of it save $(awk -v a="$cost" -v b="$(json '$.totals.expected_cost')" 'BEGIN { print (a - b) * 730 / 672 }') USD a month"

# Nested: the region's cards, on demand within them, and the cores of all.
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 60, unit: gpu }
  - { name: hourly, provider: acme, purchase: on_demand, limit: 16, unit: gpu }
  - { name: cores, provider: acme, limit: 1360, unit: vcpu }
Y
run $plan -o json --write-lp x.lp
same "nested quotas"
run $plan --share 'bold=0.2..' --budget 40000 -o json --write-lp x.lp
same "nested quotas, a least share and a budget"
run $plan --on-demand-limit 30 -o json --write-lp x.lp
same "nested quotas and a limit of all that is on demand"
run $plan --on-demand-limit 0 -o json --write-lp x.lp
expect_exit 0
same "nested quotas and nothing on demand"

# Two series under one quota, hour by hour: they peak at different times.
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 80, unit: gpu }
Y
two='plan day night --horizon 1d --max-term 12 --paths 6 --service-level 0.8 --no-spot --provider acme,bold --list-prices'
run $two -o json --write-lp x.lp
expect_exit 0
same "two series under one quota"
awk -v a="$(json '$.series[0].buys[0].gpus')" -v b="$(json '$.series[1].buys[0].gpus')" 'BEGIN { exit !(a + b <= 80) }'
ok $? "what is reserved for both keeps it"
run $two
expect_out_has 'all were planned together'
run $two --budget 300 -o json --write-lp x.lp
expect_exit 0
same "two series under one quota and one budget"

# What would change the plan of both, and when the quota is too small for both together: each alone stays below it.
run $two -o json
expect_json '$.series[0].what_changes_it.demand_up.gpus' "$(json '$.series[1].what_changes_it.demand_up.gpus')"
awk -v more="$(json '$.series[0].what_changes_it.demand_up.gpus')" -v less="$(json '$.series[0].what_changes_it.demand_down.gpus')" \
	-v now="$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '$1 ~ /buys\[[0-9]+\]\.gpus$/ { n += $2 } END { print n }')" 'BEGIN { exit !(less < now && now < more) }'
ok $? "more demand buys more for both, less buys less"
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 93, unit: gpu }
Y
run plan day -o json --horizon 1w --list-prices
expect_json '$.quota_runway[0].limit' ''
run plan day night -o json --horizon 1w --list-prices
expect_json '$.quota_runway[0].series' day
expect_json '$.quota_runway[1].series' night
expect_json '$.quota_runway[1].series_counted' 2
expect_json '$.quota_runway[1].reached' "$(json '$.quota_runway[0].reached')"
run plan day night --horizon 1w --list-prices
expect_out_has 'too small from [-0-9]* on for the 95 % quantile of demand of the 2 series that it counts together'
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 104, unit: gpu }
Y
run plan day night -o json --horizon 1w --list-prices
expect_json '$.quota_runway[0].limit' '' "what is busy at different hours is not added up by its peaks"

# No provider but acme: the quota cannot carry the peaks.
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 40, unit: gpu }
Y
run plan day --horizon 4w --max-term 12 --paths 60 --list-prices --provider acme
expect_exit 3
expect_err_has 'quota cards \(40 GPUs\) is too small from'
expect_err_has 'a peak of [0-9]+ GPUs cannot be carried: within all limits at most 40 can be owned, reserved or had on demand'
done_testing
