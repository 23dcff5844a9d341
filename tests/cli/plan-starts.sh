#!/bin/sh
# berth plan --starts: what to buy when, beside commitments that end; checked by arithmetic and by GLPK on the program that it
# writes. And berth commitments, which says what is owned.
. "$TOP_SRCDIR/tests/cli/lib.sh"

awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 42 * 24; h++) {
		t = 1792411200 + 3600 * h
		d = int(h / 24) % 7
		print t ",12,flat,H100\n" t "," (d < 5 ? 12 + 8 * sin(6.2831853 * (h % 24) / 24) : 5) ",web,H100"
	}
}' >use.csv
run record csv use.csv
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,quad,H100,4,on_demand,,,,8,USD
acme,r1,quad,H100,4,reserved,1,none,0,6,USD
acme,r1,quad,H100,4,reserved,3,none,0,5.4,USD
acme,r1,quad,H100,4,reserved,12,none,0,4.8,USD
CSV
run prices import offers.csv
expect_exit 0

run commitments
expect_exit 0
expect_err_has 'commitments import FILE'
printf 'provider,accelerator,count,from,to\nacme,H101,3,2026-01-01,2027-01-01\n' >bad.csv
run commitments import bad.csv
expect_exit 1
expect_err_has "no accelerator called 'H101'.*H100"
expect_err_has 'bad.csv:2'
printf 'provider,accelerator,count,from,to\nacme,H100,3,2026-01-01,2027-01-01\nacme,H100,3,2027-01-01,2026-01-01\n' >bad.csv
run commitments import bad.csv
expect_exit 1
expect_err_has 'ends before it begins'
expect_err_has 'bad.csv:3'
printf 'provider,accelerator,count,from\nacme,H100,3,2026-01-01\n' >bad.csv
run commitments import bad.csv
expect_exit 1
expect_err_has "bad.csv.*'to'"
run commitments --all -o json
expect_json '$.commitments' '[]' "a file with a fault changes nothing"

# Three machines, 12 GPUs, are owned until 2027-03-01: from then on three of 12 months, 6578 hours of the horizon to 2027-11-29.
cat >own.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,count,from,to,term_months,price_per_hour,note
acme,r1,quad,H100,4,3,2026-03-01,2027-03-01,12,4.8,first
CSV
run commitments import own.csv -o json
expect_exit 0
expect_is_json berth.commitments/1
expect_json '$.commitments[0].gpus' 12
expect_json '$.commitments[0].to' 2027-03-01T00:00:00Z
run commitments import own.csv
expect_err_has '1 of 1 were known already'
run plan flat --no-spot --max-term 12 --paths 60 --starts 8w -o json
expect_exit 0
expect_is_json berth.plan/1
expect_json '$.series[0].schedule.buys[0].t' 2027-03-01T00:00:00Z
expect_json '$.series[0].schedule.buys[0].count' 3
expect_json '$.series[0].schedule.buys[0].term_months' 12
expect_json '$.series[0].schedule.buys[0].until' 2028-02-29T00:00:00Z "8760 hours in a leap year"
expect_json '$.series[0].schedule.buys[1].t' ''
expect_json '$.series[0].schedule.optimal' true
end=$(json '$.as_of' | sed 's/Z//')
hours=$(awk -v e="$(date -u -d "$(printf %s "$end" | tr T " ") UTC + 8736 hours" +%s 2>/dev/null || echo 0)" 'BEGIN { printf "%d", (e - 1803859200) / 3600 }')
if [ "$hours" -gt 0 ]; then
	expect_json_near '$.series[0].schedule.bound' "$(awk -v h="$hours" 'BEGIN { printf "%.6f", 3 * 4.8 * h }')" 1e-6
else
	skip "money of the purchase" "date cannot add hours"
fi
expect_out_has 'end on 2027-03-01, inside the horizon'
run plan flat --no-spot --max-term 12
expect_out_has 'starts says what to do then'

# A project of ten weeks: shorter terms for its time. GLPK solves the program that is written.
cat >road.yaml <<'Y'
schema: berth.roadmap/1
events:
  - {name: project, series: "web", gpus: 30, start: 2027-02-01, duration: 10w}
Y
run plan web --no-spot --max-term 12 --events road.yaml --paths 60 --starts 4w --write-lp x.lp -o json
expect_exit 0
ours=$(json '$.series[0].schedule.expected_cost') id=$(json '$.id')
grep -A30 '"schedule"' "$out" | grep -q '"term_months": [13],'
ok $? "terms of a month or three are bought for the project"
if command -v glpsol >/dev/null 2>&1; then
	timeout 100 glpsol --lp x.lp -w x.sol >/dev/null 2>&1
	theirs=$(awk '$1 == "s" && $2 == "mip" { print $6 }' x.sol)
	awk -v a="$ours" -v b="$theirs" 'BEGIN { d = a - b; exit !(b > 0 && d <= 1e-6 + 1e-9 * b && d >= -1e-6 - 1e-9 * b) }'
	ok $? "GLPK's optimum ($theirs) is the plan's cost ($ours)"
else
	skip "the plan against GLPK" "no glpsol"
fi
run plan web --no-spot --max-term 12 --events road.yaml --paths 60 --starts 4w --budget 30000 -o json
awk -v b="$(json '$.series[0].schedule.bound')" -v c="$(json '$.series[0].schedule.expected_cost')" \
	-v l="$(json '$.series[0].schedule.lower_bound')" 'BEGIN { exit !(b <= 30000.000001 && c - l >= 0 && c - l <= 4.8 * 8760) }'
ok $? "a budget is kept, within one purchase of the bound"
expect_out_has 'schedule: the budget binds'
run plan web --no-spot --max-term 12 --events road.yaml --paths 60 --starts 4w --budget 0 -o json
expect_json '$.series[0].schedule.buys' '[]'
run plan flat web --no-spot --max-term 12 --paths 60 --starts 4w --budget 60000 -o json
awk -v a="$(json '$.series[0].schedule.bound')" -v b="$(json '$.series[1].schedule.bound')" 'BEGIN { exit !(a + b > 0 && a + b <= 60000.000001) }'
ok $? "two series share a budget"

# The plan comes out the same when prices, history and what is owned have gone on since.
sed 's/,4.8,/,4.7,/; s/,8,/,9,/' offers.csv >later.csv
NOW=2026-12-07T12:00:00Z
run prices import later.csv
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 42 * 24; h < 49 * 24; h++) print 1792411200 + 3600 * h ",20,web,H100" }' >more.csv
run record csv more.csv
expect_exit 0
run plan --replay "$id"
expect_exit 0 "the plan is replayed after prices and history went on"
expect_out_has 'byte for byte'
printf 'provider,accelerator,count,from,to\nacme,H100,9,2026-12-01,2028-01-01\n' >own2.csv
run commitments import own2.csv
run plan --replay "$id"
expect_exit 0 "and after something was bought"
run commitments delete 1
expect_exit 0
run plan --replay "$id"
expect_exit 1 "what was taken away is told"
expect_err_has 'comes out otherwise'
run commitments delete 1
expect_exit 1

# Shares and quotas at all times: half of it with a dearer provider, and no more than eight GPUs of the cheap one.
cat >more.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
bold,r1,quad,H100,4,reserved,3,none,0,5.8,USD
bold,r1,quad,H100,4,reserved,12,none,0,5.2,USD
CSV
run prices import more.csv
run plan web --no-spot --max-term 12 --paths 60 --starts 8w -o json
free=$(json '$.series[0].schedule.expected_cost')
run plan web --no-spot --max-term 12 --paths 60 --starts 8w --share 'bold=0.5..' --write-lp x.lp -o json
expect_exit 0
shared=$(json '$.series[0].schedule.expected_cost') lower=$(json '$.series[0].schedule.lower_bound')
awk -v f="$free" -v c="$shared" -v l="$lower" 'BEGIN { exit !(c > f && l <= c) }'
ok $? "a share costs something ($free, $shared, bound $lower)"
if command -v glpsol >/dev/null 2>&1; then
	timeout 100 glpsol --lp x.lp --tmlim 10 -w x.sol >/dev/null 2>&1
	awk -v a="$shared" -v l="$lower" '$1 == "s" && $2 == "mip" { b = $6 } END { exit !(b > 0 && a <= 1.01 * b && l <= b * (1 + 1e-9)) }' x.sol
	ok $? "within 1 % of what GLPK finds in 10 s ($(awk '$1 == "s" { print $5, $6 }' x.sol))"
else
	skip "a share against GLPK" "no glpsol"
fi
flat() { awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out"; }
flat | awk -F '\t' '
	/schedule.buys/ && $1 ~ /\.t$/ { t = $2 }
	/schedule.buys/ && $1 ~ /\.until$/ { u = $2 }
	/schedule.buys/ && $1 ~ /\.provider$/ { p = $2 }
	/schedule.buys/ && $1 ~ /\.gpus$/ { n++; from[n] = t; to[n] = u; of[n] = p; g[n] = $2 }
	END {
		for (i = 1; i <= n; i++) {
			all = mine = 0
			for (k = 1; k <= n; k++)
				if (from[k] <= from[i] && from[i] < to[k]) { all += g[k]; mine += of[k] == "bold" ? g[k] : 0 }
			if (mine < 0.5 * all) bad = 1
		}
		exit !(n > 0 && !bad)
	}'
ok $? "at each start half of what runs is bold's"
mkdir -p "$HOME/.config/berth"
printf 'schema: berth.config/1\nlimits:\n  - { name: few, provider: acme, limit: 8, unit: gpu }\n  - { name: bold, provider: bold, limit: 8, unit: gpu }\n' \
	>"$HOME/.config/berth/berth.yaml"
run plan web --no-spot --max-term 12 --paths 60 --starts 8w
expect_exit 3 "no quota lets the peak be carried"
printf 'schema: berth.config/1\nlimits:\n  - { name: few, provider: acme, limit: 16, unit: gpu }\n' >"$HOME/.config/berth/berth.yaml"
run plan web --no-spot --max-term 12 --paths 60 --starts 8w -o json
expect_exit 0
flat | awk -F '\t' '/schedule.buys/ && $1 ~ /\.provider$/ { b += $2 == "bold" } END { exit !(b > 0) }'
ok $? "what the quota of the cheaper does not let is bought of the other"
rm "$HOME/.config/berth/berth.yaml"

# What would change it: at prices just short of the factor the same is bought at the same dates, just past it something else.
signature() { flat | awk -F '\t' '/schedule.buys/ && $1 ~ /\.(t|provider|term_months|count)$/ { print $2 }' | cksum; }
prices() {	# prices FACTOR: of what is reserved
	rm -f turn.db
	{ cat offers.csv; tail -n +2 more.csv; } | awk -F, -v OFS=, -v f="$1" '$6 == "reserved" { $10 = sprintf("%.6f", $10 * f) } { print }' >turn.csv
	run --store turn.db record csv use.csv
	run --store turn.db prices import turn.csv
	run --store turn.db plan web --no-spot --max-term 12 --paths 60 --starts 8w -o json
	expect_exit 0
}
for side in up down; do
	prices 1
	f=$(json "\$.series[0].schedule.what_changes_it.reserved_price_$side.factor") was=$(signature)
	awk -v f="$f" 'BEGIN { exit !(f > 0.25 && f < 4 && f != 1) }'
	ok $? "reserved prices that go $side change the schedule at $f times as much"
	for off in 0.9999 1.0001; do
		prices "$(awk -v f="$f" -v o="$off" 'BEGIN { printf "%.9f", f * o }')"
		got=$(signature)
		case $side$off in up1* | down0*) [ "$got" != "$was" ] ;; *) [ "$got" = "$was" ] ;; esac
		ok $? "at $f times as much and a ten-thousandth ($off)"
	done
done

# Quotas of a schedule: what is owned elsewhere carries its part until it ends; from then on eight GPUs are too few for twelve.
cat >runway.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,quad,H100,4,on_demand,,,,8,USD
acme,r1,quad,H100,4,reserved,12,none,0,4.8,USD
calm,r1,quad,H100,4,on_demand,,,,12,USD
CSV
run prices import runway.csv
printf 'provider,accelerator,accelerator_count,count,from,to\ncalm,H100,4,2,2026-11-01,2027-04-15\n' >own3.csv
run commitments import own3.csv
expect_exit 0
for most in 8 20; do
	printf 'schema: berth.config/1\nlimits:\n  - { name: few, provider: acme, limit: %s, unit: gpu }\n' "$most" >"$HOME/.config/berth/berth.yaml"
	run plan flat --no-spot --max-term 12 --paths 60 --horizon 26w --starts 8w --list-prices --provider acme,calm -o json
	expect_exit 0
	if [ "$most" = 8 ]; then
		expect_json '$.series[0].schedule.quota_runway[0].limit' few
		expect_json '$.series[0].schedule.quota_runway[0].reached' 2027-04-15T00:00:00Z
		expect_json '$.series[0].schedule.quota_runway[0].ask_by' 2027-04-01T00:00:00Z
		expect_out_has 'schedule: quota few, beside what is owned or bought by then that it does not count, is too small from 2027-04-15 on'
	else
		expect_json '$.series[0].schedule.quota_runway[0].reached' '' "twenty are enough"
	fi
done
rm "$HOME/.config/berth/berth.yaml"
run plan flat --no-spot --paths 60 --starts 4w --write-lp no/such/place.lp
expect_exit 1
done_testing
