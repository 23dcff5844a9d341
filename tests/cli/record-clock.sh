#!/bin/sh
# berth record: clock times that do not exist, and those that come twice.
. "$TOP_SRCDIR/tests/cli/lib.sh"
if [ ! -e "${TZDIR:-/usr/share/zoneinfo}/Europe/Berlin" ]; then
	skip "zones" "no zoneinfo on this machine"
	done_testing
	exit 0
fi

# Spring: 02:30 is skipped. The row is kept, and told by its line; so is each of two of them.
printf '%s\n' timestamp,gpus '2026-03-29 01:00:00,4' '2026-03-29 02:30:00,5' '2026-03-29 03:00:00,6' '2026-03-29 02:59:59,6' >spring.csv
run record csv --zone Europe/Berlin spring.csv -o json
expect_exit 0
expect_json '$.rows_stored' 4
expect_json '$.warnings[0].line' 3
expect_json '$.warnings[1].line' 5
run record csv --zone Europe/Berlin spring.csv
expect_err_has 'spring.csv:3: this clock time does not exist'
run --store utc.db record csv --zone UTC spring.csv -o json
expect_json '$.warnings' '[]' "in UTC every time exists"

printf '%s\n' 'JobID|State|Submit|Start|End|AllocTRES' \
	'1|COMPLETED|2026-03-29T01:00:00|2026-03-29T02:10:00|2026-03-29T03:30:00|gres/gpu=2' \
	'2|COMPLETED|2026-03-29T01:00:00|2026-03-29T01:10:00|2026-03-29T03:30:00|gres/gpu=1' >jobs.txt
run --store jobs.db record sacct --zone Europe/Berlin jobs.txt -o json
expect_exit 0
expect_json '$.warnings[0].line' 2
expect_json '$.warnings[1].line' '' "only the row with the skipped time is told"
expect_json '$.gpu_seconds' 7200	# 02:10 is 01:10Z: 20 minutes of two GPUs, and 80 of one
run --store jobs.db record sacct --zone Europe/Berlin jobs.txt
expect_err_has 'jobs.txt:2: the clock time 2026-03-29T02:10:00 does not exist'

printf '%s\n' 'timestamp, name, index, utilization.gpu [%]' '2026/03/29 02:30:00.000, NVIDIA H100, 0, 50 %' >smi.csv
run --store smi.db record nvidia-smi --zone Europe/Berlin smi.csv
expect_exit 0
expect_err_has 'smi.csv:2: this clock time does not exist'

# Autumn: rows in order tell the second 02:00 from the first.
printf '%s\n' timestamp,series,gpus '2026-10-25 01:00:00,a,4' '2026-10-25 02:00:00,a,5' '2026-10-25 02:00:00,b,1' '2026-10-25 02:00:00,a,6' \
	'2026-10-25 02:00:00,b,2' '2026-10-25 03:00:00,a,7' >autumn.csv
run --store autumn.db record csv --zone Europe/Berlin autumn.csv -o json
expect_exit 0
expect_json '$.rows_stored' 6
expect_json '$.warnings[0].line' 3
expect_json '$.warnings[1].line' '' "one warning is enough"
run --store autumn.db series a b --samples -o csv
expect_out '2026-10-25T00:00:00Z,5,5,a'
expect_out '2026-10-25T01:00:00Z,6,6,a'
expect_out '2026-10-25T02:00:00Z,7,7,a'
expect_out '2026-10-25T00:00:00Z,1,1,b'
expect_out '2026-10-25T01:00:00Z,2,2,b'
done_testing
