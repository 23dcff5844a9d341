#!/bin/sh
# berth record csv: what is read, what is refused, what comes out; on our own files and, where they are, on real histories.
. "$TOP_SRCDIR/tests/cli/lib.sh"

sql() {	# a number of the store, by the sqlite3 program: an eye of its own
	sqlite3 "$HOME/.local/state/berth/berth.db" "$1"
}

# Names, labels, steps.
run record csv nothing.csv
expect_exit 1 "a file that is not there"
expect_err_has 'nothing.csv'
cat >usage.csv <<'X'
timestamp,gpu_type,team,gpus
2026-11-29T00:00:00Z,NVIDIA H100 80GB HBM3,nlp,8
2026-11-29T01:00:00Z,NVIDIA H100 80GB HBM3,nlp,16
2026-11-29T02:00:00Z,NVIDIA H100 80GB HBM3,nlp,4
2026-11-29T00:00:00Z,H100-SXM5-80GB,cv,1
2026-11-29T01:00:00Z,H100-SXM5-80GB,cv,2
2026-11-29T02:00:00Z,H100-SXM5-80GB,cv,3
2026-11-29T00:00:00Z,Q1000,cv,5
2026-11-29T01:00:00Z,Q1000,cv,5
2026-11-29T02:00:00Z,Q1000,cv,5
X
run record csv usage.csv -o json
expect_exit 0
expect_is_json berth.record/1
expect_json '$.rows_read' 9
expect_json '$.rows_stored' 9
expect_json '$.rows_refused' 0
expect_json '$.gpu_seconds' 176400
expect_json '$.series[2].name' 'accelerator=Q1000,team=cv'
expect_json '$.warnings[0].line' 8
expect_err_has "accelerator 'Q1000' is not in the table"
run record csv usage.csv -o json
expect_exit 0 "the same again"
expect_json '$.rows_stored' 0
expect_json '$.rows_duplicate' 9
expect_json '$.gpu_seconds' 176400
run --store by.db record csv --by accelerator usage.csv -o json
expect_exit 0
expect_json '$.series[1].name' 'accelerator=Q1000'
expect_json '$.series[0].peak' 18
run --store one.db record csv --series all usage.csv -o json
expect_json '$.series[0].peak' 23
expect_json '$.gpu_seconds' 176400

# A correction replaces; a dry run changes nothing.
sed 's/nlp,16/nlp,20/' usage.csv >fixed.csv
run record csv fixed.csv --dry-run -o json
expect_exit 0
expect_json '$.rows_stored' 1
[ "$(sql 'SELECT count(*) FROM sample WHERE mean = 20')" -eq 0 ]
ok $? "a dry run leaves the store alone"
run record csv fixed.csv -o json
expect_json '$.rows_stored' 1
expect_json '$.rows_replaced' 1
expect_json '$.rows_duplicate' 8
[ "$(sql 'SELECT count(*) FROM sample WHERE mean = 20')" -eq 1 ]
ok $? "the new value is there"

# Five-minute rows: 11 times 8 and once 64 make a mean of 152/12 and a peak of 64.
{
	echo 'time;gpus;series'
	m=0
	while [ $m -lt 60 ]; do
		v=8
		[ $m -eq 35 ] && v=64
		printf '2026-11-29T10:%02d:00Z;%s;fine\r\n' $m $v
		m=$((m + 5))
	done
} >fine.csv
run record csv fine.csv -o json
expect_exit 0
expect_json '$.rows_read' 12
expect_json '$.series[0].samples' 1
expect_json '$.series[0].peak' 64
run series fine -o json
expect_json_near '$.series[0].mean' 12.6666666667 1e-9

# The same in two halves, the second half first.
{ sed -n 1p fine.csv; sed -n '8,$p' fine.csv; } >second.csv
sed -n 1,7p fine.csv >first.csv
run --store halves.db record csv second.csv first.csv
expect_exit 0
run --store halves.db series fine -o json
expect_json_near '$.series[0].mean' 12.6666666667 1e-9
expect_json '$.series[0].peak' 64

# Bad rows: each is named, the good ones stay, the status is 8, and no zero takes their place.
cat >bad.csv <<'X'
timestamp,gpus,series
2026-11-29T00:00:00Z,1,bad
2026-11-29T01:00:00Z,NaN,bad
2026-11-29T02:00:00Z,-1,bad
2026-11-29T03:00:00Z,1e300,bad
2026-11-29T04:00:00,5,bad
2026-11-29T05:00:00Z,5
2026-12-24T00:00:00Z,5,bad
2026-11-29T07:00:00Z,2,bad
X
run record csv bad.csv -o json
expect_exit 8
expect_json '$.rows_read' 8
expect_json '$.rows_stored' 2
expect_json '$.rows_refused' 6
expect_json '$.series[0].samples' 2
expect_json '$.gpu_seconds' 10800
for line in 3 4 5 6 7 8; do
	expect_err_has "bad\.csv:$line: refused: "
done
expect_err_has 'bad.csv:6: .*zone'
run record csv bad.csv usage.csv missing.csv -o json
expect_exit 8 "one file that is not there does not hold up the others"
expect_err_has 'missing.csv'
expect_json '$.rows_read' 17
printf 'when,gpus\n1,2\n' >columns.csv
run record csv columns.csv
expect_exit 1 "a column is missing"
expect_err_has 'columns.csv: there is no column .timestamp.; the header has: when, gpus; --time-column'
expect_no_out

# Forms: packed, from standard input, zones, decimal commas, serial dates.
gzip -k usage.csv
run record csv usage.csv.gz -o json
expect_json '$.rows_duplicate' 9
run_in "$(cat usage.csv)
" record csv - -o json
expect_json '$.rows_read' 9
{ cat usage.csv.gz; head -c 700 /dev/zero; } >padded.csv.gz
run record csv padded.csv.gz -o json
expect_json '$.rows_duplicate' 9 'NULs behind a packed file are padding'
{ cat usage.csv.gz; head -c 7 /dev/zero; echo more; } >tail.csv.gz
run record csv tail.csv.gz
expect_exit 1
expect_err_has 'the packed bytes are damaged; nothing of it was stored'
head -c 100 usage.csv.gz >cut.csv.gz
run record csv cut.csv.gz
expect_exit 1
expect_err_has 'cut.csv.gz: the packed file ends too early'
if command -v zstd >/dev/null 2>&1; then
	zstd -q usage.csv -o usage.csv.zst
	run record csv usage.csv.zst -o json
	if grep -q 'built without' "$err"; then
		skip "zstd" "berth is built without it"
	else
		expect_json '$.rows_read' 9 "zstd"
	fi
else
	skip "zstd" "no zstd here"
fi
# In Berlin 02:30 came twice on 2026-10-25; 2026-07-01 10:00 is 08:00 UTC.
printf 'time,gpus,series\n2026-07-01 10:00:00,1,z\n2026-10-25 02:30:00,1,z\n' >zone.csv
run record csv --zone Europe/Berlin zone.csv -o json
expect_exit 0
expect_json '$.series[0].from' 2026-07-01T08:00:00Z
expect_err_has 'zone.csv:3: .*twice'
run record csv --zone Mars/Olympus zone.csv
expect_exit 1
printf '\357\273\277time;gpus;series\r\n2026-11-29T00:00:00Z;12,5;comma\r\n2026-11-29T01:00:00Z;16,25;comma\r\n' >comma.csv
run record csv comma.csv
expect_exit 8 "a decimal comma that was not announced is refused"
expect_err_has 'decimal-comma'
run record csv comma.csv --decimal-comma -o json
expect_exit 0
expect_json '$.series[0].peak' 16.25
printf 'time,gpus,series\n46320,8,serial\n46320.5,16,serial\n46321.25,4,serial\n' >serial.csv
run record csv serial.csv
expect_exit 8
expect_err_has 'serial.csv:2: .*serial date'
run record csv serial.csv --serial-dates -o json
expect_exit 0
expect_json '$.series[0].from' 2026-10-25T00:00:00Z
expect_json '$.series[0].to' 2026-10-26T06:00:00Z

# Locales do not matter; words are checked.
LC_ALL=de_DE.UTF-8 run record csv fine.csv -o json
expect_json '$.gpu_seconds' 45600
run record cvs usage.csv
expect_exit 2
expect_err_has 'csv'
run record csv --setp 1h usage.csv
expect_exit 2
expect_err_has 'step'
run record csv --step 5m usage.csv
expect_exit 1 "a step that differs from the series'"
expect_err_has 'has a step of 3600 s, not 300'

# Another process holds the store for some seconds: the load waits. Killed in the middle it leaves nothing.
sed 's/cv,5/cv,6/' usage.csv >wait.csv
mkfifo sql
: >held
sqlite3 "$HOME/.local/state/berth/berth.db" <sql >held &
holder=$!
exec 8>sql
printf 'BEGIN EXCLUSIVE;\nSELECT 1;\n' >&8
await held $holder
ran="berth record csv wait.csv"
"$BERTH" --now "$NOW" record csv wait.csv -o json >"$out" 2>"$err" </dev/null 8>&- &
load=$!
sleep 2
kill -0 $load 2>/dev/null
ok $? "a load waits for the store"
printf 'COMMIT;\n' >&8
exec 8>&-
wait $holder
wait $load && status=0 || status=$?
expect_exit 0 "and goes on when it is free"
expect_json '$.rows_stored' 3

# A full disk: a limit of the shell does what one does.
awk 'BEGIN { print "timestamp,gpus,series"
	for (i = 0; i < 60000; i++) printf "%d,%d.1,full\n", 1000000000 + i * 3600, i }' >full.csv
run --store full.db series
run --store full.db budget set all --cap 5
(ulimit -f 600; "$BERTH" --now "$NOW" --store full.db record csv full.csv >"$out" 2>"$err"; echo $? >status)
status=$(cat status) ran="berth record csv (with a file size limit)"
expect_exit 1 "a full disk is an error"
expect_err_has 'full.db.*(full|large|grow)'
run --store full.db record csv full.csv -o json
expect_exit 0 "the same with room again"
expect_json '$.rows_stored' 60000
run --store full.db store check
expect_exit 0

# Real histories, if they are here: every row of every series, and sums by another program.
data=${BERTH_SHARED:-$TOP_SRCDIR/../shared}/data/usage
if [ -r "$data/philly_hourly.csv.gz" ]; then
	for file in "$data"/*_hourly.csv.gz; do
		case $file in
		*servegen*) options='--value-column req_per_s --unit req_per_s' ;;
		*) options= ;;
		esac
		name=${file##*/}
		run --store real.db record csv $options "$file" -o json
		expect_exit 0 "$name is read"
		rows=$(zcat "$file" | awk 'END { print NR - 1 }')
		expect_json '$.rows_read' "$rows"
		expect_json '$.rows_stored' "$rows"
		if [ -z "$options" ]; then
			expect_json_near '$.gpu_seconds' "$(zcat "$file" | awk -F, 'NR > 1 { s += $3 } END { printf "%.3f", s * 3600 }')" 10
		else
			expect_json '$.gpu_seconds' 0	# requests are no GPUs
		fi
		run --store real.db record csv $options "$file" -o json
		expect_json '$.rows_duplicate' "$rows"
	done
	run --store real.db store check
	expect_exit 0
else
	skip "real histories" "not here"
fi
printf 'timestamp,gpus\n0,1\n1970-01-01T00:00:00Z,2\n2026-11-30T11:00:00Z,4\n' >unset.csv
run --store unset.db record csv unset.csv -o json
expect_exit 8
expect_json '$.rows_refused' 2
expect_json '$.warnings[0].message' 'the time 0 lies before 1971: is it a time?'
expect_json '$.series[0].samples' 1
done_testing
