#!/bin/sh
# Patterns of regions, alone or with their provider (acme/eu-*), mean the same wherever regions are named.
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir -p "$HOME/.config/berth"
run init
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 0; h < 28 * 24; h++) print 1793620800 + 3600 * h ",2,day,H100" }' >use.csv
run record csv use.csv
cat >offers.csv <<'CSV'
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour
acme,eu-1,a,H100,1,on_demand,2
acme,us-1,b,H100,1,on_demand,3
bold,eu-1,c,H100,1,on_demand,4
bold,us-1,d,H100,1,on_demand,5
CSV
run prices import offers.csv
expect_exit 0

listed() {	# listed WHAT TYPES PATTERN...
	what=$1 types=$2
	shift 2
	run prices list --provider acme,bold -o csv --columns instance_type $(for p; do printf ' --region %s' "$p"; done)
	[ "$(sed 1d "$out" | sort | tr -d '\n')" = "$types" ]
	ok $? "prices list: $what"
	run plan day --horizon 1w --paths 5 --no-spot --list-prices --provider acme,bold $(for p; do printf ' --region %s' "$p"; done) -o json
	expect_json '$.series[0].rest[0].offer' "$(awk -F, -v t="$types" '$3 == substr(t, 1, 1) { print $1, $2, $3, "on_demand" }' offers.csv)" "plan: $what"
}
listed "a region" ac 'eu-*'
listed "a region of one provider" c 'bold/eu-*'
listed "in either case" d 'BOLD/Us-?'
listed "of all providers" bd '*/us-1'
listed "one of two patterns" ad 'acme/eu-1' 'bold/u*'
run plan day --horizon 1w --paths 5 --list-prices -r acme/mars-1 -o json
expect_exit 3
expect_err_has "'acme/mars-1': no offer is of such a region"
run plan day --horizon 1w --paths 5 --list-prices -r acme/us1 -r eu-1 -o json
expect_exit 0
expect_err_has "did you mean acme/us-1"

# The same where a configuration names them.
printf 'schema: berth.config/1\nblock:\n  - { region: acme/* }\n  - { region: bold/eu-* }\n' >"$HOME/.config/berth/berth.yaml"
run plan day --horizon 1w --paths 5 --no-spot --list-prices --provider acme,bold -o json
expect_json '$.series[0].rest[0].offer' "bold us-1 d on_demand" "a block list"
printf 'schema: berth.config/1\nlimits:\n  - { name: few, region: acme/eu-*, limit: 1 }\n' >"$HOME/.config/berth/berth.yaml"
run plan day --horizon 1w --paths 5 --no-spot --list-prices --provider acme,bold -o json
expect_json '$.quotas[0].usable' 1 "a quota"
awk -v c="$(json '$.series[0].expected_cost')" 'BEGIN { exit !(c > 835 && c < 850) }'
ok $? "it counts the one offer: one GPU at 2 USD, one at 3"
done_testing
