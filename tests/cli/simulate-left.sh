#!/bin/sh
# berth simulate commit with series that no share can be told of: they are shown and named, and all means are those of the
# others.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run init --no-prices
# 28 days from 2026-08-24. The split is at h 336: `gone` stops with it, `vast` is beyond all
# plans, `grows` is so behind the split only.
awk 'BEGIN { print "timestamp,gpus,series"; for (h = 0; h < 672; h++) { t = 1787529600 + 3600 * h
	print t ",8,even"; print t "," (h % 2 ? 6 : 2) ",odd"; print t "," (h < 336 ? 4 : 0) ",gone"
	print t ",3000000,vast"; print t "," (h < 336 ? 5 : 3000000) ",grows"; print t ",0,none" } }' >use.csv
run record csv use.csv
expect_exit 0
run simulate commit even odd --reserved 0.4,0.7 -o json
expect_exit 0
expect_json '$.by[0].left_out' null
grep -v '"created"' "$out" | sed -n '/"policies"/,/\]/p' >alone
run simulate commit even odd gone vast grows none --reserved 0.4,0.7 -o json
expect_exit 0
expect_err_has '^series gone is in no mean: there was no demand behind the split$'
expect_err_has '^series none is in no mean: there was no demand behind the split$'
expect_err_has 'left out: series vast: a peak of [0-9]* GPUs is more than the 1048576 that a plan can hold'
expect_err_has 'left out: series grows: most of its hours ask for more than the 1048576 GPUs'
[ "$(grep -c 'is in no mean\|left out' "$err")" -eq 4 ]
ok $? "each is named once, for both prices"
sed -n '/"policies"/,/\]/p' "$out" >beside
# Without reserved ones the mean is 1; hindsight has 8 of 8 at 0.4 and 0.7, and of `odd` (2 and 6 by turns, mean 4) 6 at 0.4
# (2.4 of 4), 2 at 0.7 (1.4 + 2 of 4).
expect_json '$.policies[0].runs' 4
expect_json '$.policies[0].mean' 1.000000
expect_json_near '$.policies[5].mean' "$(awk 'BEGIN { print (0.4 + 0.7 + 2.4 / 4 + 3.4 / 4) / 4 }')" 1e-6
[ "$(grep -c '"runs": 4' alone)" -eq 6 ] && [ "$(grep -c '"runs": 4' beside)" -eq 6 ]
ok $? "as many runs are in the means as of those alone"
for f in alone beside; do
	awk '/"name": "(on_demand|reserve_mean|reserve_p95|best_of_past|hindsight)"/ { k = $2 } /"(mean|over_hindsight|worst_over_hindsight)"/ { if (k) print k, $0 }
		/}/ { k = "" }' $f >$f.fixed
done
cmp alone.fixed beside.fixed
ok $? "and rules that learn of no other series have the same means"
[ -s alone.fixed ] && ! grep -q 'null\|nan' beside
ok $? "all of them numbers"
# by: 12 entries a series, in the order of their names on the command line
expect_json '$.by[24].series' gone
expect_json '$.by[24].left_out' no_demand
expect_json '$.by[24].mean' null
expect_json '$.by[24].cost' 0.000
expect_json '$.by[36].series' vast
expect_json '$.by[36].left_out' too_large
expect_json '$.by[36].cost' null
expect_json '$.by[48].left_out' too_large

run simulate commit even gone vast -o csv
expect_out_has '^series,reserved,policy,reserved_gpus,mean,over_hindsight,left_out$'
expect_out_has '^vast,0.6,hindsight,,,,too_large$'
expect_out_has '^gone,0.6,on_demand,0,,,no_demand$'
expect_out_has '^even,0.6,hindsight,8,0\.(6|59999)[0-9]*,(1|0\.99999|1\.00000)[0-9]*,$'
COLUMNS=80 run simulate commit even gone vast --svg c.svg
expect_exit 0
! grep -qi nan "$out" c.svg
ok $? "neither the table nor the chart has what is no number"
[ "$(awk 'length > 80' "$out" | wc -l)" -eq 0 ]
ok $? "no line is wider than the terminal"
expect_out_has '^hindsight  .* 0.6000$'
sed 's/,even$/,a-team-with-a-long-name\/a-model-with-another/' use.csv | grep 'timestamp\|another' >long.csv
run record csv long.csv
COLUMNS=80 run simulate commit a-team-with-a-long-name/a-model-with-another gone vast
expect_exit 0
[ "$(awk 'length > 80' "$out" | wc -l)" -eq 0 ]
ok $? "nor with a long name"
expect_out_has '^a-team.*another .* hindsight '

# Where none is left there is nothing to show.
run simulate commit vast
expect_exit 1
expect_err_has 'series vast: a peak of'
done_testing
