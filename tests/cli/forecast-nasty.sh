#!/bin/sh
# Fifteen inputs that break forecasters, each from the file to the forecast, and cases that were reported of others.
NOW=2026-12-01T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

# hours N EXPRESSION [SERIES]: N hours to 2026-12-01 of "gpus" by an awk expression in i; "" leaves the row out.
hours() {
	awk -v n="$1" -v name="${3:-s}" 'BEGIN { print "series,timestamp,gpus"; pi = 3.14159265358979
		for (i = 0; i < n; i++) { t = 1796083200 - 3600 * (n - i); v = '"$2"'; if (v != "") printf "%s,%d,%s\n", name, t, v } }' \
	    </dev/null
}
fresh() {	# fresh FILE [OPTION...]: a store with nothing but that
	rm -f n.db*
	file=$1
	shift
	run --store n.db record csv "$file" "$@"
}
# Condition on columns of --points (3 mean, 4 p01, 6 p05, 9 p50, 12 p95, 14 p99) for all rows.
points() {
	awk -F, "NR > 1 && !($2) { bad++ } NR > 1 { n++ } END { exit (bad > 0 || n == 0) }" "$out"
	ok $? "$1"
}

# 1. All zero.
hours 500 0 >a.csv
fresh a.csv
run --store n.db forecast --horizon 2d --points -o csv
expect_exit 0 "1: all zero"
expect_err_has 'no demand'
points "1: every quantile is 0" '$3 == 0 && $4 == 0 && $14 == 0'
run --store n.db forecast --backtest --horizon 2d -o json
expect_exit 0 "1: a backtest of zeros ends well"
! grep -Eiq 'nan|inf' "$out"
ok $? "1: no 0/0 in the scores"

# 2. One point; none.
hours 1 12 >a.csv
fresh a.csv
run --store n.db forecast --horizon 2d --points -o csv
points "2: one point stays, in a band" '$3 == 12 && $4 < 12 && $14 > 12'
expect_err_has '1 observation'
printf 'series,timestamp,gpus\n' >a.csv
fresh a.csv
run --store n.db forecast
expect_exit 1 "2: an empty file leaves nothing to forecast"

# 3. Constant.
hours 800 64 >a.csv
fresh a.csv
run --store n.db forecast --horizon 1w --points -o csv
points "3: a constant stays; its P99 is no certainty" '$3 == 64 && $14 > 64 && $14 < 90'

# 4. NaN, Inf, empty, null; more than half missing.
hours 800 'i % 100 == 7 ? "NaN" : i % 100 == 8 ? "null" : i == 400 ? "Inf" : 10 + i % 3' >a.csv
fresh a.csv
expect_exit 8 "4: what is no number is refused by row"
expect_err_has 'a.csv:402: refused'
run --store n.db forecast --horizon 1d -o json
expect_json '$.series[0].history.missing' 17 "4: and counts as missing"
hours 800 'i % 50 < 30 && i % 799 ? "" : 10 + i % 2' >a.csv
fresh a.csv --step 1h
run --store n.db forecast
expect_exit 1 "4: more than half missing is refused"
expect_err_has '4[0-9][0-9] of 800 steps are missing.*--sparse'
run --store n.db forecast --sparse --horizon 1d --points -o csv
points "4: unless it is wanted" '$3 > 5 && $3 < 15'

# 5. A gap of three weeks: the phase is kept by the clock.
hours 2000 'i > 900 && i < 1404 ? "" : 50 + 30 * sin(i * pi / 12)' >a.csv
fresh a.csv
run --store n.db forecast --horizon 24h -o json
expect_json '$.series[0].gaps[0].from' "$(date -u -d @$((1796083200 - 3600 * 1099)) +%Y-%m-%dT%H:%M:%SZ)" "5: the gap is listed"
expect_json_near '$.series[0].points[6].mean' "$(awk 'BEGIN { print 50 + 30 * sin(2006 * 3.14159265 / 12) }')" 5

# 6. Duplicates: the same row twice is one; of others at the same time the higher counts, and they are told.
hours 400 '20 + i % 5' >a.csv
{ cat a.csv; tail -n +2 a.csv | head -50; } >b.csv
fresh a.csv
run --store n.db forecast --horizon 1d -o csv --points
cp "$out" "$TEST_TMP/once"
run --store n.db record csv b.csv
expect_out_has '400 there already|450 there already|there already'
run --store n.db forecast --horizon 1d -o csv --points
cmp -s "$out" "$TEST_TMP/once"
ok $? "6: rows that come again change nothing"
printf 'series,timestamp,gpus\ns,1796079600,99\ns,1796079600,50\n' >b.csv
run --store n.db record csv b.csv
expect_out_has '2 rows read: 1 stored, 1 there already'
expect_err_has 'b.csv:3: another row has another value for the same series and time: the higher one counts .1 such row.'
run --store n.db series --samples -o csv
expect_out_has '^2026-11-30T23:00:00Z,99,99,s$' "6: of two values of one time the higher counts, and a warning says so"
printf 'series,timestamp,gpus\ns,1796079600,50\ns,1796079600,99\n' >b.csv
run --store n.db record csv b.csv
run --store n.db series --samples -o csv
expect_out_has '^2026-11-30T23:00:00Z,99,99,s$' "6: in whatever order they stand"
printf 'series,timestamp,gpus\ns,1796079600,50\n' >b.csv
run --store n.db record csv b.csv
run --store n.db series --samples -o csv
expect_out_has '^2026-11-30T23:00:00Z,50,50,s$' "6: a later file corrects"

# 7. Out of order.
{ head -1 a.csv; tail -n +2 a.csv | sort -t, -k3,3 -k2,2r; } >b.csv
fresh b.csv
run --store n.db forecast --horizon 1d -o csv --points
cmp -s "$out" "$TEST_TMP/once"
ok $? "7: shuffled rows give the forecast of sorted ones"

# 8. Days of 23 and 25 hours: office hours of Berlin over 25 October 2026 keep to the wall clock.
hours 1200 '(int((t + (t < 1792890000 ? 7200 : 3600)) / 3600) % 24) >= 9 && (int((t + (t < 1792890000 ? 7200 : 3600)) / 3600) % 24) < 17 ? 100 : 20' >a.csv
fresh a.csv
run --store n.db forecast --horizon 24h --zone Europe/Berlin --points -o csv
awk -F, 'NR > 1 { h = (substr($2, 12, 2) + 1) % 24; want = h >= 9 && h < 17 ? 100 : 20; d = $3 - want; if (d > 5 || d < -5) bad++ }
	END { exit bad > 0 }' "$out"
ok $? "8: hours follow the wall clock after the day of 25 hours"
run --store n.db forecast --horizon 24h --zone Europe/Berlin -o json
expect_json '$.series[0].history.samples' 1200 "8: no hour is lost"

# 9. A level shift to a tenth; a spike is none.
hours 1200 '(i < 1000 ? 400 : 40) + i % 7' >a.csv
fresh a.csv
run --store n.db forecast --horizon 1w -o json
expect_json '$.series[0].shifts[0].t' "$(date -u -d @$((1796083200 - 3600 * 200)) +%Y-%m-%dT%H:%M:%SZ)" "9: the shift is dated to the hour"
awk -v p="$(json '$.series[0].peak.p95')" 'BEGIN { exit !(p < 120) }'
ok $? "9: a week later old peaks do not drive P95"
hours 1200 '40 + i % 7 + (i == 1100 ? 400 : 0)' >a.csv
fresh a.csv
run --store n.db forecast --horizon 1w -o json
expect_json '$.series[0].shifts[0].t' '' "9: an hour's spike is no shift"
hours 2000 'i % 24 < 11 ? 60 + i % 5 : i % 7 == 0 ? 1 : 0' >a.csv
fresh a.csv
run --store n.db forecast --horizon 1w -o json
expect_json '$.series[0].shifts[0].t' '' "9: nor is a part of a day at the end"

# 10. Negative.
hours 400 'i == 399 ? -5 : 3 - i % 4' >a.csv
fresh a.csv
expect_exit 8 "10: negative demand is refused by row"
run --store n.db forecast --horizon 1w --points -o csv
points "10: no forecast is negative" '$3 >= 0 && $4 >= 0'

# 11. Huge counts: the same forecast in another unit.
hours 600 '(40 + 9 * sin(i * pi / 12) + i % 5)' >a.csv
fresh a.csv
run --store n.db forecast --horizon 2d --points -o csv
cp "$out" "$TEST_TMP/small"
hours 600 '(40 + 9 * sin(i * pi / 12) + i % 5) * 1e12' >a.csv
fresh a.csv
run --store n.db forecast --horizon 2d --points -o csv
awk -F, 'FNR == 1 { next } NR == FNR { a[FNR] = $3; b[FNR] = $14; next } { d = $3 / 1e12 / a[FNR] - 1; e = $14 / 1e12 / b[FNR] - 1
	if (d * d > 1e-8 || e * e > 1e-8) bad++ } END { exit bad > 0 }' "$TEST_TMP/small" "$out"
ok $? "11: 1e12 times the demand is 1e12 times the forecast"

# 12. A horizon longer than the history.
hours 60 '20 + 10 * sin(i * pi / 12)' >a.csv
fresh a.csv
run --store n.db forecast --horizon 4w --points -o csv
expect_exit 0 "12: a horizon longer than the history"
expect_err_has 'longer than the history'
points "12: it is bounded" '$3 >= 0 && $14 < 200'

# 13. Five years by the hour, a year ahead.
hours 43800 '100 + i / 400 + 20 * sin(i * pi / 12) + (i * 7919) % 101 / 10' >a.csv
fresh a.csv
run --store n.db forecast --horizon 52w --brief
expect_exit 0 "13: five years by the hour, a year ahead"

# 14. 29 February, and a leap second.
awk 'BEGIN { print "series,timestamp,gpus"; for (i = 0; i < 24 * 45; i++) printf "s,%d,%d\n", 1706745600 + 3600 * i, 20 + i % 24 }' >a.csv
fresh a.csv
run --store n.db forecast --horizon 24h -o json
expect_json '$.series[0].history.samples' 1080
expect_json '$.series[0].history.missing' 0 "14: 29 February has its hours"
printf 'series,timestamp,gpus\ns,2016-12-31T22:59:60Z,4\ns,2016-12-31T23:59:60Z,4\ns,2017-01-01T00:00:00Z,6\n' >a.csv
fresh a.csv
run --store n.db series --samples -o csv
expect_out_has '2016-12-31T23:00:00Z,4'
expect_out_has '2017-01-01T00:00:00Z,6'

# 15. Irregular sampling: 5 and 90 minutes with jitter make time-weighted hours.
awk 'BEGIN { print "series,timestamp,gpus"; t = 1793000000; for (i = 0; i < 3000; i++) { t += i % 7 == 3 ? 5400 + i % 60 : 300 + i % 11
	printf "s,%d,%d\n", t, 30 + i % 2 } }' >a.csv
fresh a.csv
expect_exit 0 "15: irregular sampling"
run --store n.db forecast --horizon 1d --points -o csv
points "15: the level is that of the samples" '$3 > 29.5 && $3 < 31.5'

# A last hour that is not over is left out; times that lie ahead are refused by row.
awk 'BEGIN { print "series,timestamp,gpus"; for (i = 0; i < 12 * 48 + 5; i++) printf "s,%d,%d\n", 1796083200 - 300 * (12 * 48 - i), i < 12 * 48 ? 20 : 90 }' >a.csv
rm -f n.db*
NOW=2026-12-01T00:25:00Z
run --store n.db record csv a.csv
run --store n.db forecast --horizon 1d -o json
expect_json '$.series[0].history.to' 2026-11-30T23:00:00Z "a trailing hour of 25 minutes is dropped"
expect_json '$.as_of' 2026-12-01T00:00:00Z
expect_json_near '$.series[0].points[0].mean' 20 1
NOW=2026-12-01T00:00:00Z
printf 'series,timestamp,gpus\ns,2026-12-04T00:00:00Z,5\n' >b.csv
run --store n.db record csv b.csv
expect_exit 8
expect_err_has 'b.csv:2: refused: .* lies more than a day ahead'

# And: order of series, intermittent, censored.
{ hours 400 '20 + i % 5' a; hours 400 '30 + i % 7' b | tail -n +2; } >a.csv
fresh a.csv
run --store n.db forecast a b --horizon 1d --points -o csv
sort "$out" >"$TEST_TMP/ab"
run --store n.db forecast b a --horizon 1d --points -o csv
sort "$out" | cmp -s - "$TEST_TMP/ab"
ok $? "the order of series changes nothing"
hours 2000 'i % 100 == 50 ? 8 : 0' >a.csv
fresh a.csv
run --store n.db forecast --horizon 1w --points -o csv
points "intermittent: P50 is 0 and P99 is not" '$9 == 0 && $14 > 0'
hours 2000 'i % 97 == 3 ? 16 : 0' >a.csv
fresh a.csv
run --store n.db forecast --horizon 1w -o json
expect_json '$.series[0].peak_gpus.p50' 16 "a job of 16 GPUs each four days: the peak of a week is 16, nothing between"
expect_json '$.series[0].peak_gpus.p99' 16

# What was waited for is demand that did not run.
awk 'BEGIN { print "JobID|User|Account|State|Submit|Start|End|AllocTRES|ReqTRES"
	for (d = 1; d < 29; d++) for (j = 0; j < 3; j++)
		printf "%d|u|nlp|COMPLETED|2026-11-%02dT00:00:00|2026-11-%02dT%02d:00:00|2026-11-%02dT%02d:00:00|gres/gpu:h100=8|gres/gpu:h100=8\n",
		    d * 10 + j, d, d, j * 8, d, j * 8 + 7 }' >j.txt
rm -f n.db*
run --store n.db record sacct j.txt --by accelerator
run --store n.db forecast accelerator=H100 --horizon 1d -o json
expect_err_has 'accelerator=H100: [67]\.[0-9] GPUs ran and 8\.[0-9] were waited for'
running=$(json '$.series[0].points[1].mean')
run --store n.db forecast accelerator=H100 --requested --horizon 1d -o json
awk -v a="$running" -v b="$(json '$.series[0].points[1].mean')" 'BEGIN { exit !(a < 9 && b > 20) }'
ok $? "--requested forecasts both together ($running, $(json '$.series[0].points[1].mean'))"

# Columns that tell of the day are no labels; weekdays are found without them, and nothing is singular.
awk 'BEGIN { print "timestamp,gpus,promo,launch,is_weekend"; for (d = 0; d < 28; d++) { w = d % 7 > 4
	printf "%d,%d,0,%d,%d\n", 1788739200 + 86400 * d, w ? 6 : 18, w, w } }' >a.csv
fresh a.csv
expect_exit 0
expect_err_has "column 'promo' tells of the day"
expect_err_has "column 'is_weekend' tells of the day"
run --store n.db forecast --horizon 7d --points -o csv
points "18 on weekdays, 6 at weekends" '(NR <= 6 ? $3 - 18 : $3 - 6) ^ 2 < .0001'

# The cases as they were reported, where they lie.
cases=${BERTH_SHARED:-$TOP_SRCDIR/../shared}/cases/inputs
if [ -e "$cases/case-073-zeros.csv" ]; then
	case_run() {	# case_run FILE HORIZON
		fresh "$cases/case-$1.csv" --step 1d
		run --store n.db forecast --horizon "$2" --points -o csv
		expect_exit 0 "case $1"
	}
	case_run 073-zeros 14d
	points "073: 14 forecasts of 0" '$3 == 0 && $4 == 0 && $14 == 0 && NR <= 15'
	run --store n.db forecast --horizon 14d -o json
	expect_json '$.series[0].peak_gpus.p99' 0 "073: planned GPUs 0"
	case_run 073-one-nonzero 14d
	points "073: between 0 and 2" '$3 >= 0 && $4 >= 0 && $3 <= 2 && $14 <= 2'
	case_run 075-one 7d
	points "075: all 7 values are 12" '$3 == 12'
	expect_err_has '1 observation'
	case_run 075-two 7d
	points "075: two points: finite" '$3 >= 0 && $3 < 100'
	expect_err_has '2 observations'
	case_run 075-nine 7d
	points "075: nine points: 0 to 16" '$3 >= 0 && $3 <= 16'
	expect_err_has 'too few for a weekly season \(14 are needed\)'
	case_run 077-decline 14d
	points "077: nothing negative" '$3 >= 0 && $4 >= 0'
	points "077: nor does it rise again" '$3 <= 4'
	run --store n.db forecast --horizon 14d -o json
	awk -v p="$(json '$.series[0].peak_gpus.p95')" 'BEGIN { exit !(p == int(p) && p >= 0 && p <= 40) }'
	ok $? "077: planned GPUs are whole and not negative ($(json '$.series[0].peak_gpus.p95'))"
	fresh "$cases/case-079-collinear.csv"
	expect_err_has "column 'launch' tells of the day"
	run --store n.db forecast --horizon 7d --points -o csv
	expect_exit 0 "case 079-collinear"
	points "079: 18 on weekdays, 6 at weekends" '(NR <= 6 ? $3 - 18 : $3 - 6) ^ 2 < .0001'
	case_run 079-five 7d
	points "079: five points: 5 to 20" '$3 >= 5 && $3 <= 20'
else
	skip "cases 073 to 079" "$cases is not there"
fi
done_testing
