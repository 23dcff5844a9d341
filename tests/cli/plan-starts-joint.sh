#!/bin/sh
# berth plan --starts with quotas, shares and a budget, of one series and of several at once: GLPK solves the program that is
# written.
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir -p "$HOME/.config/berth"
limits() {
	{ echo 'schema: berth.config/1'; echo 'limits:'; cat; } >"$HOME/.config/berth/berth.yaml"
}
run init
# Six weeks: by day up to 22 GPUs, at night up to 10.
awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 42 * 24; h++) {
		t = 1791806400 + 3600 * h; w = sin(6.2831853 * h / 24)
		print t "," int(15 + 7 * w) ",day,H100\n" t "," int(6 - 4 * w) ",night,H100"
		if (h % 6 == 0)
			print t "," int(4 + 2 * w) ",slow,H100"
	}
}' >use.csv
run record csv use.csv
expect_exit 0
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,vcpus,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,quad,H100,4,80,on_demand,,,,8.4,USD
acme,r1,quad,H100,4,80,reserved,1,none,0,5.4,USD
acme,r1,quad,H100,4,80,reserved,3,none,0,5.2,USD
acme,r1,two,H100,2,50,reserved,1,none,0,2.66,USD
acme,r1,quad,H100,4,80,spot,,,,4,USD
bold,r1,one,H100,1,20,on_demand,,,,3,USD
bold,r1,one,H100,1,20,reserved,1,none,0,2.2,USD
CSV
run prices import offers.csv
expect_exit 0

total() {	# total FIELD: of the schedules of all series
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' -v f="schedule.$1" '
		substr($1, length($1) - length(f) + 1) == f { n += $2 } END { printf "%.6f", n }'
}
proven() {
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '/schedule.optimal/ { n++; y += $2 == "true" } END { exit !(n > 0 && n == y) }'
}
same() {	# same WHAT PLAN...
	what=$1
	shift
	run "$@" -o json --write-lp x.lp
	expect_exit 0
	proven
	ok $? "$what: the schedule is proven"
	if ! command -v glpsol >/dev/null 2>&1; then
		skip "$what" "no glpsol"
		return
	fi
	timeout 100 glpsol --lp x.lp --mipgap 0 -w x.sol >glpk.out 2>&1
	theirs=$(awk '$1 == "s" && $5 == "o" { print $6 }' x.sol)
	awk -v a="$(total expected_cost)" -v b="$theirs" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(b > 0 && d <= 2e-6 + 1e-9 * b) }'
	ok $? "$what: its cost ($(total expected_cost)) is GLPK's optimum ($theirs)"
}

base='--horizon 4w --starts 1w --max-term 12 --paths 12 --list-prices --provider acme,bold'
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 16, unit: gpu }
Y
same "one quota over all offers of a provider" plan day $base
awk -v p="$(json '$.series[0].schedule.quotas[0].price_per_month')" 'BEGIN { exit !(p > 0) }'
ok $? "one more GPU of it is worth something"
run plan day $base
expect_out_has 'schedule: quota cards of 16 GPUs binds: one GPU more of it would save'
same "a quota and a least share" plan day $base --share 'bold=0.3..'
same "a quota, shares and a budget" plan day $base --share 'bold=0.3..0.8' --budget 6000
expect_out_has 'schedule: the budget binds'
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 18, unit: gpu }
  - { name: hourly, provider: acme, purchase: on_demand, limit: 4, unit: gpu }
  - { name: cores, provider: acme, limit: 320, unit: vcpu }
Y
same "nested quotas" plan day $base
same "nested quotas and a limit of all that is on demand" plan day $base --on-demand-limit 6

# Several series: hour by hour, they peak at different times.
base='--horizon 4d --starts 2d --max-term 12 --paths 3 --service-level 0.6 --list-prices --provider acme,bold'
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 20, unit: gpu }
Y
same "two series under one quota" plan day night $base
id=$(json '$.id') cost=$(total expected_cost) price=$(json '$.series[0].schedule.quotas[0].price_per_month')
expect_out_has 'all series under these quotas and this budget were planned together'
expect_json '$.series[1].schedule.quotas[0].price_per_month' "$price"
run plan --replay "$id"
expect_exit 0 "it is replayed byte for byte"
expect_out_has 'byte for byte'
run explain "plan:$id"
expect_out_has 'for all series that it counts together: one GPU more of it would save'
same "and a share in each" plan day night $base --share 'bold=0.25..0.9'
same "and a budget" plan day night $base --budget 900
awk -v b="$(total bound)" 'BEGIN { exit !(b > 0 && b <= 900.000001) }'
ok $? "which both keep together"
same "three series, one of them with longer steps" plan day night slow $base --no-spot
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 21, unit: gpu }
Y
run plan day night $base -o json
awk -v a="$cost" -v b="$(total expected_cost)" -v p="$price" 'BEGIN { s = (a - b) * 730 / 96; exit !(p > 0 && s >= -1e-6 && s <= 2 * p) }'
ok $? "one more GPU saves about its price"
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 20, unit: gpu }
  - { name: cores, provider: acme, limit: 330, unit: vcpu }
  - { name: all, limit: 30, unit: gpu }
Y
same "two series under nested quotas" plan day night $base
costs=$(total expected_cost)
limits <<'Y'
  - { name: cards, provider: acme, accelerator: H100, limit: 400, unit: gpu }
Y
same "a quota that does not bind" plan day night $base
awk -v a="$(total expected_cost)" -v b="$costs" 'BEGIN { exit !(a < b) }'
ok $? "costs less"
rm "$HOME/.config/berth/berth.yaml"
same "a budget alone" plan day night $base --budget 900
same "nothing shared" plan day night $base --no-spot
done_testing
