#!/bin/sh
# What a plan is made on: sums of series that add up, what was waited for, patterns, and what no GPUs are bought for.
NOW=2026-12-01T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

# Two teams that share H100s, one by day and one by night; a third on L4s that has H100s too.
awk 'BEGIN { print "series,timestamp,gpus,team,accelerator"; for (i = 0; i < 1000; i++) { t = 1796083200 - 3600 * (1000 - i)
	printf "day,%d,%.2f,nlp,H100\n", t, (i % 24 < 12 ? 40 : 8) + (i * 7919) % 101 / 50
	printf "night,%d,%.2f,bio,H100\n", t, (i % 24 < 12 ? 8 : 40) + (i * 131) % 103 / 50
	printf "small,%d,4,mix,L4\nlarge,%d,6,mix,H100\n", t, t } }' >u.csv
run record csv u.csv
awk 'BEGIN { print "timestamp,value,accelerator"; for (i = 0; i < 400; i++) printf "%d,900,H100\n", 1796083200 - 3600 * (400 - i) }' >r.csv
run record csv -s api --unit req/s r.csv
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,one,H100,1,on_demand,,,,2,USD
acme,r1,one,H100,1,reserved,1,none,0,1.2,USD
acme,r1,one,L4,1,on_demand,,,,1,USD
CSV
run prices import offers.csv
expect_exit 0

run plan day night --horizon 4w --no-spot -o json
expect_exit 0
apart=$(json '$.totals.expected_cost') each=$(json '$.series[0].peak' | awk -v b="$(json '$.series[1].peak')" '{ print $1 + b }')
run plan day night --by accelerator --horizon 4w --no-spot -o json
expect_exit 0
expect_json '$.series[0].name' accelerator=H100
expect_json '$.series[0].accelerator' H100
expect_json '$.series[0].of[0]' day
expect_json '$.series[0].of[1]' night
expect_json '$.series[1].name' ''
expect_json_near '$.series[0].mean' 50 3 "the mean of the sum"
peak=$(json '$.series[0].peak')
awk -v p="$peak" -v e="$each" -v a="$apart" -v c="$(json '$.totals.expected_cost')" 'BEGIN { exit !(p < e - 15 && c < a) }'
ok $? "day and night together peak lower ($peak) than each alone ($each), and cost less"
grep -q 'demand is the sum of day, night' "$out"
ok $? "the plan says what was added up"
run forecast day night --by accelerator --horizon 4w -o json
expect_json_near '$.series[3].peak.p95' "$peak" 2.5 "the peak is that of the forecast's sum"
run plan day night --total --horizon 4w -o json
expect_json '$.series[0].name' total
expect_json_near '$.series[0].peak' "$peak" 5
run plan --replay 2 -o json
expect_exit 0 "a plan of sums comes out the same again"

# A team with two kinds of GPU is none that a machine can be bought for.
run plan --by team --horizon 4w -o json
expect_exit 8
expect_err_has 'left out: team=mix adds up (L4 and H100|H100 and L4), and each is bought by itself: plan --by accelerator'
expect_err_has 'left out: series api counts req/s: a plan buys GPUs'
expect_json '$.series[0].name' team=bio
expect_json '$.series[1].name' team=nlp
expect_json '$.series[2].name' ''
run plan small large --total
expect_exit 3
expect_err_has 'total adds up'
run plan small large --total --gpu H100 --horizon 4w -o json
expect_exit 0
expect_json_near '$.series[0].mean' 10 1 "one that is named for all serves all"
run plan api
expect_exit 3
expect_err_has 'next: berth forecast api'
run plan --by team,accelerator
expect_exit 2
expect_err_has 'would be bought twice'
run plan --by team --total
expect_exit 2
run plan 'd*' --horizon 4w -o json
expect_exit 0
expect_json '$.series[0].name' day "patterns pick, as for forecasts"
run plan dai
expect_exit 1
expect_err_has "did you mean 'day'"

# What waited is planned for where it is asked for; else it is said.
awk 'BEGIN { print "JobID|User|Account|State|Submit|Start|End|AllocTRES|ReqTRES"
	for (d = 1; d < 29; d++) for (j = 0; j < 3; j++)
		printf "%d|u|nlp|COMPLETED|2026-11-%02dT00:00:00|2026-11-%02dT%02d:00:00|2026-11-%02dT%02d:00:00|gres/gpu:h100=8|gres/gpu:h100=8\n",
		    d * 10 + j, d, d, j * 8, d, j * 8 + 7 }' >j.txt
run --store q.db record sacct j.txt --by accelerator
run --store q.db prices import offers.csv
run --store q.db plan accelerator=H100 --horizon 4w -o json
expect_json '$.series[0].requested' false
expect_json_near '$.series[0].queued_mean' 8 1
expect_json_near '$.series[0].mean' 7 1.5
grep -q -- '--requested plans for them too' "$out"
ok $? "the plan says that more was waited for"
run --store q.db plan accelerator=H100 --requested --horizon 4w -o json
expect_exit 0
expect_json '$.series[0].requested' true
expect_json_near '$.series[0].mean' 15 3 "what ran and what waited"
grep -q 'demand is what ran and what waited' "$out"
ok $? "and that it is in"
# Office hours, and silence since 14 hours: paths that lie below every level of the past are raised half of what is more than a tenth.
awk 'BEGIN { print "series,timestamp,gpus,accelerator"; for (i = 0; i < 1694; i++) { t = 1796083200 - 3600 * (1694 - i)
	x = int(i / 24) % 7 < 5 && i % 24 >= 8 && i % 24 < 20 ? 60 : 10
	printf "office,%d,%d,H100\n", t, i < 1680 ? x + (i * 7919) % 20 : 0
	printf "open,%d,%d,H100\n", t, x + (i * 7919) % 20 } }' >office.csv
run record csv office.csv
run plan office --horizon 26w --no-spot -o json
expect_exit 0
least=$(awk -F, '$1 == "office" { v[n++] = $3 }
	END {
		for (i = 1; i <= n; i++) {
			sum += v[n - i]
			if (i == 168 || i == 672 || i == n)
				least = least == "" || sum / i < least ? sum / i : least
		}
		print least
	}' office.csv)
by=$(sed -n 's/.*they are raised by \([0-9.]*\) %.*/\1/p' "$out")
awk -v least="$least" -v by="$by" -v mean="$(json '$.series[0].mean')" 'BEGIN {
	f = 1 + by / 100
	d = 2 * log(f) + 0.1 - log(least / (mean / f))
	exit !(by > 0 && mean < least && d < 0.003 && d > -0.003) }'
ok $? "paths below the least level of the past ($least) come half of the way beyond a tenth nearer to it (raised by $by %)"
run plan open --horizon 26w --no-spot -o json
expect_exit 0
[ "$(grep -c 'they are raised' "$out")" -eq 0 ]
ok $? "without the silence nothing is raised"
done_testing
