#!/bin/sh
# berth forecast: what is kept of forecasts, how small it is, and that scores outlive them.
. "$TOP_SRCDIR/tests/cli/lib.sh"

# 1,000 hours up to 2026-11-30T00:00Z.
awk 'BEGIN { print "series,timestamp,gpus"
	for (i = 0; i < 1000; i++)
		printf "train,%d,%.2f\n", 1796083200 - 43200 - 3600 * (1000 - i), 40 + 15 * sin(i * 6.2831853 / 24) + (i * 7919) % 101 / 25 }' >t.csv
run record csv t.csv
expect_exit 0
rows() {	# rows TABLE: how many the store has
	"$BERTH" store export "$1" >"$TEST_TMP/rows" && grep -c '"as_of"' "$TEST_TMP/rows"
}

run forecast train --at 2026-11-05T00:00Z --horizon 4w --brief
expect_exit 0
rows forecast >"$TEST_TMP/n"
size=$(wc -c <"$TEST_TMP/rows")
[ "$size" -lt 24000 ]
ok $? "a forecast of four weeks of hours takes less than 12 KB ($size letters of hex and names)"
run forecast train --at 2026-11-06T12:00Z --horizon 1w --brief
run forecast --scores -o csv
grep '2026-11-06T12:00' "$out" >"$TEST_TMP/first"

n=1
for day in 06 07 08 09 10 11 12 20 21 22 23 24 25 26 27 28 29; do
	for hour in 00 12; do
		"$BERTH" -q forecast train --at "2026-11-${day}T$hour:00Z" --horizon 1w --brief >"$TEST_TMP/one" 2>&1 || ok 1 "--at $day $hour"
		n=$((n + 1))
	done
done
kept=$(rows forecast) scored=$(rows forecast_score)
# Of one week ahead, over for a week: those up to the 12th; of the others up to the 27th half go.
[ "$((kept + scored))" -eq "$n" ]
ok $? "no forecast of $n is lost: $kept are kept, $scored scored"
[ "$scored" -eq "$((14 + 8))" ]
ok $? "those that are over, and all but the first of a day that is two days old, are scores now ($scored)"
run forecast --scores -o csv
expect_lines $((n + 2)) "--scores has a row for each of $n"
grep '2026-11-06T12:00' "$out" >"$TEST_TMP/later"
cmp -s "$TEST_TMP/first" "$TEST_TMP/later" && [ -s "$TEST_TMP/later" ]
ok $? "the same score as before"

# The truth of later days changes nothing that is settled.
run forecast train --at 2026-11-06T00:00Z --horizon 1w --brief
expect_exit 0
run forecast --scores -o csv
grep -c '2026-11-06T00:00' "$out" >"$TEST_TMP/n"
[ "$(cat "$TEST_TMP/n")" -eq 1 ]
ok $? "made again, it has one score"
run --dry-run forecast train --horizon 1w --brief
run store export forecast_score
[ "$(wc -l <"$out")" -ge "$scored" ]
ok $? "a dry run settles nothing"
run store check
expect_exit 0
done_testing
