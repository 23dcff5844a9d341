#!/bin/sh
# Reasons of berth plan against sums that are made here: quotas beside what they do not count, limits that cannot carry a peak,
# purchases in steps, terms that are bought again, spot without anything on demand, small changes.
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir -p "$HOME/.config/berth"
limits() {
	{ echo 'schema: berth.config/1'; echo 'limits:'; cat; } >"$HOME/.config/berth/berth.yaml"
}
run init
# Ten weeks in which a day has two GPUs more than the one before; 40 GPUs that never move; and 10 by day, 2 by night.
awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 70 * 24; h++) {
		t = 1789992000 + 3600 * h
		print t "," int(h / 12) + (h % 24 < 12 ? 2 : 0) ",up,H100\n" t ",40,flat,H100\n" t "," (h % 24 < 12 ? 10 : 2) ",day,H100"
	}
}' >use.csv
run record csv use.csv
expect_exit 0
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,usage_price_per_hour,currency
acme,r1,octo,H100,8,on_demand,,,,24,,USD
acme,r1,octo,H100,8,reserved,12,none,0,9.6,,USD
bolt,r1,one,H100,1,on_demand,,,,3.2,,USD
bolt,r1,one,H100,1,reserved,3,none,0,2.4,,USD
cove,r1,one,H100,1,spot,,,,1,,USD
dusk,r1,one,H100,1,on_demand,,,,4,,USD
dusk,r1,one,H100,1,reserved,12,none,0,0.2,1.9,USD
CSV
run prices import offers.csv
expect_exit 0
because() {	# because: the reasons of the first series, a line each
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '$1 ~ /^\$\.series\[0\]\.because\[/ { print $2 }'
}

# A quota on demand alone is held against what is not owned or bought: the first step whose P95 passes both together.
limits <<'Y'
  - { name: hourly, provider: acme, accelerator: H100, limit: 16, purchase: on_demand, unit: gpu }
Y
run forecast up --horizon 26w -o json
awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" >f.flat
reached() {	# reached GPUS
	awk -F '\t' -v most="$1" '
		$1 ~ /\.t$/ { t = $2 }
		$1 ~ /\.p95$/ && $1 !~ /peak/ && !done && $2 + 0 > most { print t; done = 1 }' f.flat
}
up='plan up --horizon 26w --no-spot --list-prices --max-term 12 --provider acme,bolt'
run $up -o json
expect_exit 0
bought=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '$1 ~ /buys\[[0-9]+\]\.gpus$/ { n += $2 } END { print n }')
at=$(reached $((bought + 16)))
[ "$bought" -ge 60 ] && [ -n "$at" ] && [ "$at" \> "$(reached 16)" ]
ok $? "it buys $bought GPUs, with which 16 on demand are too few from $at on, not from $(reached 16) on"
expect_json '$.quota_runway[0].limit' hourly
expect_json '$.quota_runway[0].gpus' 16
expect_json '$.quota_runway[0].beside' "$bought.000"
expect_json '$.quota_runway[0].reached' "$at"
run plan up --horizon 26w --no-spot --list-prices --max-term 12 --provider acme --service-level 0.5
expect_out_has 'GPU-hours of the demand can be served by nothing$'
expect_out_has 'to serve it too: ask for more of quota hourly \(16 GPUs\)'
run $up
expect_out_has "quota hourly, beside $bought GPUs owned or bought that it does not count, is too small from ${at%T*} on"

# The most that all limits let be had together, each of them that binds, and what to do; one that has room is not named.
limits <<'Y'
  - { name: a, provider: acme, limit: 8, unit: gpu }
  - { name: b, provider: bolt, limit: 3, unit: gpu }
  - { name: wide, accelerator: H100, limit: 40, unit: gpu }
Y
run plan flat --no-spot --list-prices --provider acme,bolt --horizon 4w
expect_exit 3
expect_err_has 'within all limits at most 11 can be owned, reserved or had on demand; quota a \(8 GPUs\) and quota b \(3 GPUs\) are too small together from 2026-11-30 on'
expect_err_has 'next: .*limits: of berth.yaml'
if grep -q wide "$err"; then false; else true; fi
ok $? "a quota with room for more is not named"
limits <<'Y'
  - { name: wide, accelerator: H100, limit: 11, unit: gpu }
Y
run plan flat --no-spot --list-prices --provider acme,bolt --horizon 4w
expect_err_has 'at most 11 can be owned.*; quota wide \(11 GPUs\) is too small from'
rm "$HOME/.config/berth/berth.yaml"
run plan flat --no-spot --list-prices --provider bolt --max-term 2 --horizon 4w --on-demand-limit 5
expect_exit 3
expect_err_has 'at most 5 can be owned.*; --on-demand-limit \(5 GPUs\) is too small from'

# Purchases in steps name their machines, and add up to the plan's.
run plan flat --no-spot --list-prices --provider acme,bolt --max-term 12 --ladder 3 --horizon 26w -o json
bought=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '$1 ~ /\.buys\[[0-9]+\]\.count$/ { n += $2 } END { print n }')
because >b.txt
said=$(grep '^in steps: on ' b.txt | grep -o '[0-9]* x ' | awk '{ n += $1 } END { print n }')
[ "$bought" = "$said" ] && [ "$bought" -gt 0 ]
ok $? "the steps name $said machines, the plan $bought"
grep -q '^in steps: on 2026-11-30 buy [0-9]* x acme r1 octo reserved 12 months' b.txt
ok $? "each step says which"
grep -q "^in steps: buy $bought machines in 3 steps, 2026-11-30 to 2027-01-25" b.txt
ok $? "after what they are in all"

# Terms that end inside the horizon are bought again, which is said; those that outlive it are not.
run plan flat --no-spot --list-prices --provider bolt --max-term 3 --horizon 26w
expect_out_has 'assumed: terms that end inside the horizon are bought again at the same price \(bolt r1 one reserved 3 months, nothing upfront\); --starts says when'
run plan flat --no-spot --list-prices --provider acme --horizon 26w
expect_out_has 'GPUs 1-40 are busy'
if grep -q 'bought again' "$out"; then false; else true; fi
ok $? "a year is not bought again in half of one"

# Where one more all but pays, the change that brings it is told with as many digits as it has.
run plan flat --no-spot --list-prices --provider bolt --max-term 3 --horizon 26w -o json
because >b.txt
saves=$(sed -n 's/^GPU 41 is busy .* and save \([0-9.]*\) USD.*/\1/p' b.txt)
awk -v p="$saves" '/reserved,3/ { sub(/none,0,2.4/, sprintf("none,0,%.6f", p * 1.0003)) } { print }' offers.csv >near.csv
run --store near.db init
run --store near.db record csv use.csv
run --store near.db prices import near.csv
run --store near.db plan flat --no-spot --list-prices --provider bolt --max-term 3 --horizon 26w
expect_out_has 'what would change it: with reserved prices 0.0[1-9] % lower, 41 GPUs would be bought'

run --store near.db plan flat --no-spot --list-prices --provider bolt --max-term 3 --horizon 26w --paths 60 --starts 4w
expect_out_has 'what would change the schedule: with .* %.*, other purchases of as many GPUs over all dates; first on [-0-9]* [0-9]* x bolt'

# What one more machine would do: on demand at 4, one of dusk costs 0.2 an hour and saves 2.1 for each hour of use.
run plan day --no-spot --list-prices --max-term 12 --provider dusk --horizon 4w -o json
because >b.txt
set -- $(sed -n 's/^GPU \([0-9]*\) is busy \([0-9.]*\) %.*: one more of dusk .* would cost \([0-9.]*\) USD an hour and save \([0-9.]*\) USD.*/\1 \2 \3 \4/p' b.txt)
awk -v busy="$2" -v costs="$3" -v saves="$4" 'BEGIN { d = saves - 2.1 * busy / 100; exit !(costs == 0.2 && d < 0.0012 && d > -0.0012 && saves <= costs) }'
ok $? "GPU $1, busy $2 %: one more costs $3 and saves $4"
# Beside spot, which serves the GPUs that would pay on demand: no more is saved than what spot asks.
run plan day --list-prices --max-term 12 --provider cove,dusk --horizon 4w --spot-share 1 -o json
because >b.txt
expect_json '$.series[0].buys' '[]'
set -- $(sed -n 's/^GPU \([0-9]*\) is busy .*: one more of dusk .* would cost \([0-9.]*\) USD an hour and save \([0-9.]*\) USD.*/\1 \2 \3/p' b.txt)
awk -v gpu="$1" -v costs="$2" -v saves="$3" 'BEGIN { exit !(gpu == 1 && saves < costs) }'
ok $? "GPU $1: one more costs $2 and saves $3"
grep -q '^against on demand alone, dusk r1 one .* would pay for the first 10 GPUs' b.txt
ok $? "what it would pay for is said against on demand alone"
sed '/reserved/s/none,0,2.4/none,0,3.195/; /dusk.*reserved/d' offers.csv >dear.csv
run --store dear.db init
run --store dear.db record csv use.csv
run --store dear.db prices import dear.csv
run --store dear.db plan day --no-spot --list-prices --provider bolt --max-term 3 --horizon 52w
expect_out_has 'would pay for the first [1-9]|no GPU is busy for 99.8 % of the time, the break-even of bolt'

# None on demand: what is reserved carries the peak, and spot is taken at its own price.
spot() {
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '
		$1 ~ /rest\[[0-9]+\]\.purchase$/ { spot = $2 == "spot" }
		$1 ~ /rest\[[0-9]+\]\.price_per_gpu_hour$/ && spot { print $2 }'
}
run plan day --list-prices --max-term 12 --provider acme,cove,dusk --on-demand-limit 0 --spot-share 0.5 --horizon 4w -o json
expect_exit 0
price=$(spot)
because | grep 'assumed: spot' | grep -q '(what is owned or reserved else), and costs'
ok $? "what is reserved serves where spot cannot be had"
run plan day --list-prices --max-term 12 --provider acme,cove,dusk --spot-share 0.5 --horizon 4w -o json
blend=$(spot)
awk -v p="$price" -v b="$blend" 'BEGIN { d = b - (0.8 * p + 0.2 * 3); exit !(p >= 1 && d < 1e-5 && d > -1e-5) }'
ok $? "spot costs $price, and $blend where on demand at 3 serves for a fifth of the time"

# Bounds are round.
run plan flat --starts 1m
expect_exit 2
expect_err_has 'between 1d and 157w'
run plan flat --horizon 520w
expect_err_has 'between 1h and 261w$'
done_testing
