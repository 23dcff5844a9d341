#!/bin/sh
# Figures of berth plan against sums that are made here: quota runway, shares of providers, other accelerators at their speeds,
# and what would change a plan, tried through the price list.
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir -p "$HOME/.config/berth"
cat >"$HOME/.config/berth/berth.yaml" <<'Y'
schema: berth.config/1
limits:
  - { name: cards, provider: acme, accelerator: H100, limit: 60, unit: gpu, purchase: on_demand }
  - { name: cores, provider: acme, limit: 1600, unit: vcpu, purchase: on_demand }
  - { name: enough, provider: acme, accelerator: H100, limit: 5000, unit: gpu, purchase: on_demand }
Y
run init
# Ten weeks in which a day has two thirds of a GPU more than the one before; and 12 GPUs that never move.
awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 70 * 24; h++)
		print 1789992000 + 3600 * h "," int(h / 36) + (h % 24 < 12 ? 2 : 0) ",up,H100\n" 1789992000 + 3600 * h ",12,flat,H100"
}' >use.csv
run record csv use.csv
expect_exit 0
offers() {	# offers PRICE: of what is reserved
	cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,vcpus,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,octo,H100,8,200,on_demand,,,,16,USD
acme,r1,octo,H100,8,200,reserved,12,none,0,15.9,USD
acme,r1,quad,H100,4,100,on_demand,,,,8.4,USD
bold,r1,one,H100,1,20,on_demand,,,,2,USD
bold,r1,one,H100,1,20,reserved,12,none,0,$1,USD
calm,r1,one,H100,1,20,reserved,12,none,0,0.9,USD
cedar,r1,b200,B200,1,20,reserved,12,none,0,1.5,USD
elm,r1,one,H100,1,20,on_demand,,,,9,USD
CSV
	run prices import offers.csv
}
offers 0.8

# Runway: the first step whose P95 passes the quota, and two weeks before it; 60 GPUs are 15 quads, 1600 cores 16 of them.
run forecast up --horizon 26w -o json
cp "$out" f.json
awk -f "$TOP_SRCDIR/tests/cli/json.awk" f.json >f.flat
reached() {	# reached GPUS
	awk -F '\t' -v most="$1" '
		$1 ~ /\.t$/ { t = $2 }
		$1 ~ /\.p95$/ && $1 !~ /peak/ && !done && $2 + 0 > most { print t; done = 1 }' f.flat
}
run plan up --horizon 26w --no-spot --list-prices --max-term 6 --provider acme,elm -o json
expect_exit 0
expect_json '$.quota_runway[0].limit' cards
expect_json '$.quota_runway[0].gpus' 60
expect_json '$.quota_runway[0].reached' "$(reached 60)"
expect_json '$.quota_runway[1].limit' cores
expect_json '$.quota_runway[1].gpus' 64
expect_json '$.quota_runway[1].reached' "$(reached 64)"
expect_json '$.quota_runway[2].limit' ''
ask=$(date -u -d "$(json '$.quota_runway[1].reached') -14 days" +%Y-%m-%dT%H:%M:%SZ)
[ "$ask" \< "$NOW" ] && ask=$NOW
expect_json '$.quota_runway[1].ask_by' "$ask"

# Where the limits cannot carry the peak at all, it is said until when they do.
run plan up --horizon 26w --max-term 6 --no-spot --list-prices --provider acme
expect_exit 3
expect_err_has "quota cards \(60 GPUs\) is too small from $(reached 60 | cut -c1-10) on: ask for more by"

# Shares: at least 30 % with the dearer, of as many GPUs; each of them costs 0.1 USD an hour more.
plan='plan flat --no-spot --list-prices --max-term 12'
run $plan --provider 'bold,calm' -o json
all=$(json '$.series[0].buys[0].gpus') free=$(json '$.series[0].expected_cost')
run $plan --provider 'bold,calm' --share 'calm=0.3..' -o json
got=$(json '$.series[0].buys[1].gpus') want=$(awk -v n="$all" 'BEGIN { x = 0.3 * n; print (int(x) < x ? int(x) + 1 : int(x)) }')
[ "$(json '$.series[0].buys[1].provider')" = calm ] && [ "$got" = "$want" ]
ok $? "calm has $got of $all GPUs, the fewest that are 30 % of them ($want)"
expect_json_near '$.series[0].expected_cost' "$(awk -v f="$free" -v n="$want" 'BEGIN { printf "%.6f", f + 0.1 * n * 8736 }')" 0.01
run $plan --provider 'bold,calm' --share 'bold=0.2..0.4' -o json
awk -v b="$(json '$.series[0].buys[0].gpus')" -v c="$(json '$.series[0].buys[1].gpus')" 'BEGIN { s = b / (b + c); exit !(s >= 0.2 && s <= 0.4) }'
ok $? "a share of 20 to 40 % is kept"
run $plan --provider 'bold,calm' --share 'bold=0.7..' --share 'calm=0.6..' -o json
expect_exit 2 "least shares of more than all are refused"

# Use of each level, and break-even.
run $plan --provider bold -o json
awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '
	$1 ~ /^\$\.series\[0\]\.utilisation\[[0-9]+\]\.busy$/ { if (seen && $2 > last + 1e-9) rises = 1; last = $2; seen = 1 }
	END { exit !(seen && !rises) }'
ok $? "higher levels are busy for less of the time"
expect_json_near '$.series[0].buys[0].break_even_utilisation' 0.4 1e-6 "0.8 against 2 USD an hour"

# Other accelerators: a B200 counts for 2.275 H100s (2250 over 989), so 1.5 USD an hour is 0.66 for each; five carry 11.375 of the
# 12, and what is left costs less on demand than a sixth.
run $plan --provider 'bold,cedar' --also B200 -o json
expect_json '$.series[0].buys[0].provider' cedar
expect_json '$.series[0].buys[0].count' 5
expect_json_near '$.series[0].buys[0].gpus' "$(awk 'BEGIN { printf "%.6f", 5 * 2250 / 989 }')" 2e-6
expect_json_near '$.series[0].buys[0].bound' "$(awk 'BEGIN { printf "%.6f", 5 * 1.5 * 8736 }')" 1e-6

# What would change it: prices short of the factor buy the same number, those past it another.
few="plan up --horizon 26w --paths 60 --no-spot --list-prices --max-term 12 --provider bold"
run $few -o json
was=$(json '$.series[0].buys[0].gpus')
for side in up down; do
	run $few -o json
	f=$(json "\$.series[0].what_changes_it.reserved_price_$side.factor")
	told=$(json "\$.series[0].what_changes_it.reserved_price_$side.gpus")
	[ "$f" != null ]
	ok $? "reserved prices that go $side change the plan at $f times as much"
	for off in -0.0001 0.0001; do
		offers "$(awk -v f="$f" -v o="$off" 'BEGIN { printf "%.6f", 0.8 * f * (1 + o) }')"
		run $few -o json
		got=$(json '$.series[0].buys[0].gpus') want=$was
		case $side$off in up0* | down-*) want=$told ;; esac
		[ "${got:-0}" = "$want" ]
		ok $? "reserved at $f times as much and a ten-thousandth ($off): $want GPUs are bought (${got:-0})"
	done
	offers 0.8
done
done_testing
