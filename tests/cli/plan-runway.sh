#!/bin/sh
# When a quota that counts no machine on demand is too small: only what limits on demand leave has to be reserved.
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir -p "$HOME/.config/berth"
limits() {	# limits ON_DEMAND RESERVED
	cat >"$HOME/.config/berth/berth.yaml" <<Y
schema: berth.config/1
limits:
  - { name: hourly, provider: acme, limit: $1, purchase: on_demand }
  - { name: kept, provider: acme, limit: $2, purchase: reserved }
Y
}
run init
# Ten weeks in which a day has two thirds of a GPU more than the one before; and two series that never move.
awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 70 * 24; h++) {
		t = 1789992000 + 3600 * h
		print t "," int(h / 36) + (h % 24 < 12 ? 2 : 0) ",up,L4\n" t ",30,one,L4\n" t ",30,two,L4"
	}
}' >use.csv
run record csv use.csv
expect_exit 0
offers() {	# offers MORE: rows of other providers
	cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,one,L4,1,on_demand,,,,1,USD
acme,r1,one,L4,1,reserved,12,none,0,0.6,USD
$1
CSV
	run prices import offers.csv
	expect_exit 0
}
offers 'bold,r1,one,L4,1,reserved,12,none,0,9,USD'
run forecast up --horizon 26w -o json
awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" >f.flat
reached() {	# reached GPUS: the first step whose P95 passes them
	awk -F '\t' -v most="$1" '
		$1 ~ /\.t$/ { t = $2 }
		$1 ~ /\.p95$/ && $1 !~ /peak/ && !done && $2 + 0 > most { print t; done = 1 }' f.flat
}
first=$(reached 30) both=$(reached 68)
[ -n "$first" ] && [ -n "$both" ] && [ "$both" \> "$first" ]
ok $? "P95 is over 30 GPUs from $first on, over 68 from $both on"
up='plan up --horizon 26w --no-spot --list-prices --max-term 12 --service-level 0.5 --provider acme'

# 30 are reserved and 38 on demand carry the rest until then.
limits 38 30
run $up -o json
expect_exit 0
got=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '
	$1 ~ /quota_runway\[[0-9]+\]\./ { sub(/.*quota_runway\[/, "", $1); split($1, k, "]."); v[k[1], k[2]] = $2 }
	END { for (i = 0; (i, "limit") in v; i++) if (v[i, "limit"] == "kept") print v[i, "gpus"], v[i, "on_demand"], v[i, "reached"] }')
[ "$got" = "30 38.000 $both" ]
ok $? "the quota of 30 reserved is too small beside 38 on demand from $both on: $got"
expect_out_has 'quota kept, beside 38 GPUs to be had on demand that it does not count, is too small from '
# As many as are ever needed: nothing has to be reserved.
limits 100000 30
run $up -o json
expect_exit 0
expect_json '$.quota_runway[0].limit' '' "no quota is too small"
expect_out_lacks 'is too small from'
# Nor where another provider has them, at whatever price.
limits 38 30
offers 'calm,r1,one,L4,1,on_demand,,,,7,USD'
run plan up --horizon 26w --no-spot --list-prices --max-term 12 --service-level 0.5 -o json
expect_exit 0
awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '$1 ~ /quota_runway.*limit$/ && $2 == "kept" { n++ } END { exit n > 0 }'
ok $? "what calm has on demand need not be reserved"

# Two series of 30 share what is on demand: 40 and 16 are too few for 60, though enough for each; 50 and 16 are enough.
offers 'bold,r1,one,L4,1,reserved,12,none,0,9,USD'
for most in 40 50; do
	limits "$most" 16
	run plan one two --horizon 8w --no-spot --list-prices --max-term 12 --provider acme -o json
	expect_exit 0
	n=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '$1 ~ /^\$\.quota_runway.*limit$/ && $2 == "kept"' | wc -l)
	[ "$n" -eq $((most == 40 ? 2 : 0)) ]
	ok $? "with $most on demand for both, 16 reserved are $([ "$most" = 40 ] && echo too few || echo enough): told $n times"
	run plan one --horizon 8w --no-spot --list-prices --max-term 12 --provider acme -o json
	expect_json '$.quota_runway[0].limit' '' "for one of them they are enough"
done
done_testing
