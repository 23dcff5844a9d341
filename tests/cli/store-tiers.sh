#!/bin/sh
# berth store rollup: what old samples become, and that loads, sums, forecasts and checks are right afterwards.
. "$TOP_SRCDIR/tests/cli/lib.sh"
db=$HOME/.local/state/berth/berth.db
mkdir -p .config/berth
printf 'retention:\n  raw: 10d\n  hourly: 40d\n' >.config/berth/berth.yaml

# rows FROM_DAY TO_DAY [PLUS]: quarter hours of a team; a rhythm over the day, a burst of one quarter of an hour each day, a
# dead exporter for three hours of day 33 and for all of day 50. Day 0 is 2026-08-02, so that day 120 is today.
rows() {
	awk -v from="$1" -v to="$2" -v plus="${3:-0}" 'BEGIN {
		print "timestamp,series,gpus"
		for (i = from * 96; i < to * 96; i++) {
			day = int(i / 96)
			if (day == 50 || (day == 33 && i % 96 >= 40 && i % 96 < 52))
				continue
			h = int(i % 96 / 4)
			v = 40 + (h >= 8 && h < 18 ? 64 : 0) + day % 7 + (i % 96 == 61 ? 200 : 0) + plus
			printf "%d,pretrain,%d\n", 1785628800 + 900 * i, v
		}
	}'
}
# The sum of all rows, by the text itself.
gpu_seconds() {
	awk -F, 'NR > 1 { s += $3 * 900 } END { printf "%.0f\n", s }' "$1"
}
rows 0 120 >all.csv
run record csv --step 15m all.csv -o json
expect_exit 0
expect_json '$.loaded_before' '[]'
run series pretrain -o json
sum=$(gpu_seconds all.csv)
expect_json '$.series[0].gpu_seconds' "$sum"
expect_json '$.series[0].samples' 11412
expect_json '$.series[0].missing' 108
expect_json '$.series[0].peak' 310

run store rollup --dry-run -o json
expect_exit 0
expect_is_json berth.store-rollup/1
expect_json '$.dry_run' true
due=$(cat "$out")
run series pretrain -o json
expect_json '$.series[0].samples' 11412
[ "$(sqlite3 "$db" 'SELECT count(*) FROM rollup')" = 0 ]
ok $? "a dry run rolls nothing up"
run store rollup -o json
expect_exit 0
[ "$(cut -d'"' -f2- "$out" | grep -o '"steps".*"days_made": [0-9]*' | head -n 1)" = "$(echo "$due" | grep -o '"steps".*"days_made": [0-9]*' | head -n 1)" ]
ok $? "a dry run says what a run then does"
expect_json '$.hours_made' 2613
expect_json '$.days_made' 79
run series pretrain -o json
expect_json '$.series[0].gpu_seconds' "$sum" "rolled up, the sum is the same"
expect_json '$.series[0].samples' 11412
expect_json '$.series[0].missing' 108
expect_json '$.series[0].peak' 310 "and the peak is the true one"
run store check
expect_exit 0
run store rollup
expect_out_has '^0 steps of 0 series' "a second run finds nothing to do"
run series pretrain --samples --from 2026-08-02T00:00:00Z --to 2026-08-03T00:00:00Z -o json
expect_json '$.series[0].points[0].length_s' 86400
expect_json '$.series[0].points[0].peak' 304
expect_out_has '"p50": (39\.[6-9]|40\.[0-3])' "its median is 40, to one percent"
expect_json '$.series[0].points[0].covered_s' 86400
run series pretrain --samples --from 2026-09-04T00:00:00Z --to 2026-09-05T00:00:00Z -o json
expect_json '$.series[0].points[0].covered_s' 75600 "three hours without data are no data"

# The same again, in whatever form, changes nothing.
run record csv --step 15m all.csv -o json
expect_exit 0
expect_json '$.rows_stored' 0
expect_json '$.rows_duplicate' 11412
expect_json '$.loaded_before[0].load' 1
gzip -k all.csv
run record csv --step 15m all.csv.gz
expect_exit 0
expect_err_has 'all.csv.gz was loaded before, as load [12] of'
rows 20 75 >part.csv
run record csv --step 15m part.csv -o json
expect_exit 0 "another export of whole days is compared"
expect_json '$.rows_stored' 0
[ "$(sqlite3 "$db" 'SELECT count(DISTINCT digest) FROM load WHERE id <= 3')" = 1 ]
ok $? "packed or not it has one digest"
[ "$(sqlite3 "$db" "SELECT count(DISTINCT digest) FROM load WHERE digest <> ''")" = 2 ]
ok $? "another file has another"

# A part of a day or of an hour cannot be told apart any more: refused by line, unless the file was loaded before.
rows 10 11 1 | sed -n '1p;20,40p' >few.csv
run record csv --step 15m few.csv -o json
expect_exit 8
expect_json '$.rows_refused' 21
expect_json '$.warnings[0].line' 2
run record csv --step 15m few.csv
expect_exit 8
expect_err_has 'few.csv:2: refused: 21 rows of series pretrain from 2026-08-12T04:30:00Z on cover a part'
run store loads -n 1 -o json
expect_json '$.loads[0].rows_late' 21
expect_json '$.loads[0].rows_refused' 21
run series pretrain -o json
expect_json '$.series[0].gpu_seconds' "$sum"

# A whole day corrects it, and a day without data is completed, even by halves.
rows 10 11 1 >day.csv
run record csv --step 15m day.csv -o json
expect_exit 0
expect_json '$.rows_replaced' 96
sum=$((sum + 86400))
run series pretrain -o json
expect_json '$.series[0].gpu_seconds' "$sum" "a day is corrected by one GPU"
expect_json '$.series[0].peak' 310
awk 'BEGIN { print "timestamp,series,gpus"; for (i = 33 * 96 + 40; i < 33 * 96 + 52; i++) printf "%d,pretrain,7\n", 1785628800 + 900 * i }' >gap.csv
run record csv --step 15m gap.csv -o json
expect_exit 0
expect_json '$.rows_stored' 12
sum=$((sum + 12 * 7 * 900))
run series pretrain -o json
expect_json '$.series[0].gpu_seconds' "$sum" "hours that were missing are completed"
expect_json '$.series[0].missing' 96
run record csv --step 15m gap.csv -o json
expect_exit 0 "what was loaded before changes nothing, though it is a part of a day"
expect_json '$.rows_duplicate' 12
run store check
expect_exit 0

# A day of days that nobody had: new.
awk 'BEGIN { print "timestamp,series,gpus"; for (i = 50 * 96; i < 50 * 96 + 48; i++) printf "%d,pretrain,9\n", 1785628800 + 900 * i }' >late.csv
run record csv --step 15m late.csv -o json
expect_exit 0
expect_json '$.rows_stored' 48
run store check
expect_exit 0

# Forecasts read hours and days, and say so.
run forecast pretrain --history 120d --horizon 1w -o json
expect_exit 0
expect_json '$.series[0].step_s' 3600
expect_json_has() { grep -Eq -e "$1" "$out"; ok $? "$2"; }
expect_json_has 'its history before 2026-10-2[0-9]T00:00:00Z is kept as days' "a forecast that looks at days says so"
run forecast pretrain --history 20d --horizon 1w -o json
grep -q 'kept as days' "$out"
[ $? -ne 0 ]
ok $? "one that does not look so far does not"
run series pretrain --plot
expect_exit 0

# A change by one unit is found, and named.
planted() {	# planted SQL RE NAME
	cp "$db" sound.db
	sqlite3 "$db" "$1"
	run store check
	expect_exit 1 "$3 makes the check fail"
	expect_out_has "$2" "$3 is named"
	cp sound.db "$db"
	rm -f "$db-wal" "$db-shm"
}
planted 'UPDATE rollup SET total_lo = total_lo + 1048576 WHERE tier = 1 AND t = 1785628800 + 20 * 86400' \
	'series pretrain, day 2026-08-22T00:00:00Z: it is not as berth wrote it' "a GPU-second more in a day"
planted 'UPDATE rollup SET covered_s = covered_s - 1 WHERE tier = 0 AND t = 1785628800 + 90 * 86400' \
	'series pretrain, hour 2026-10-31T00:00:00Z' "a second less in an hour"
planted 'UPDATE rollup SET peak = peak + 1 WHERE tier = 0 AND t = 1785628800 + 90 * 86400' \
	'series pretrain, hour 2026-10-31T00:00:00Z' "another peak of an hour"
planted 'DELETE FROM rollup WHERE tier = 1 AND t = 1785628800 + 20 * 86400' \
	'series pretrain, 2026-08-[0-9]*T00:00:00Z to 2026-[-0-9]*T00:00:00Z: the ledger says' "a day that is gone"
planted 'UPDATE sample SET mean = mean + 1 WHERE t = (SELECT max(t) FROM sample)' \
	'series pretrain, 2026-11-[0-9]*T00:00:00Z to 2026-12-[0-9]*T00:00:00Z: the ledger says' "a GPU more in a step"
planted 'UPDATE ledger_step SET covered_s = covered_s + 1 WHERE t = (SELECT min(t) FROM ledger_step)' \
	'all loads together brought' "a second more in the ledger"
planted 'UPDATE load SET steps = steps - 1 WHERE id = 1' 'all loads together brought' "a step less in the log of loads"

# The tick does it too, a part at a time.
rows 0 120 | sed 's/pretrain/second/' >second.csv
run record csv --step 15m second.csv
run tick -o json
expect_exit 0
expect_json '$.rolled_up' 12345 "a tick rolls up: 10452 steps, and 1893 hours of them further"
run store check
expect_exit 0

# Deleted, nothing of it is left.
run series delete second -y
expect_exit 0
[ "$(sqlite3 "$db" 'SELECT (SELECT count(DISTINCT series_id) FROM rollup) + (SELECT count(DISTINCT series_id) FROM ledger_step)')" = 2 ]
ok $? "a series that is deleted takes its hours and days along"
run store check
expect_exit 0
run store compact -o json
expect_exit 0
run store check
expect_exit 0
run store rollup --raw 50d --hourly 40d
expect_exit 2
printf 'retention:\n  raw: 100d\n  hourly: 40d\n' >.config/berth/berth.yaml
run store rollup
expect_exit 1
expect_err_has 'hourly must be at least as long as raw'
printf 'retention:\n  raw: forever\n  hourly: forever\n' >.config/berth/berth.yaml
run store rollup -o json
expect_exit 0
expect_json '$.raw_s' null

# Bills are kept by their rows: a correction of a day that is rolled up makes it again.
head='BillingAccountId,BillingCurrency,ChargeCategory,ChargeClass,ChargePeriodStart,ChargePeriodEnd,ConsumedQuantity,ConsumedUnit,EffectiveCost,PricingCategory,ProviderName,RegionId,SkuId'
hour() {
	printf '1,USD,Usage,%s,2026-05-0%dT%02d:00:00Z,2026-05-0%dT%02d:00:00Z,%s,GPU-Hours,%s,Dynamic,GCP,europe-west4,S3\n' "$1" "$2" "$3" "$2" "$4" "$5" "$6"
}
{ echo "$head"; hour '' 1 1 2 6 12.00; hour '' 1 2 3 4 8.00; hour '' 2 5 6 2 4.00; } >bill.csv
run --store bill.db record focus bill.csv
expect_exit 0
run --store bill.db store rollup --raw 1d --hourly 1d -o json
expect_json '$.days_made' 4
{ echo "$head"; hour Correction 1 2 3 -1 -2.00; } >more.csv
run --store bill.db record focus more.csv -o json
expect_exit 0 "a correction of a day that is rolled up is taken"
run --store bill.db series '*purchase=*' -o json
expect_json '$.series[0].gpu_seconds' $((22 * 3600)) "the money of it, 12 + 8 - 2 + 4 USD an hour"
expect_json '$.series[1].gpu_seconds' $((11 * 3600)) "and the GPUs"
run --store bill.db store check
expect_exit 0
done_testing
