#!/bin/sh
# berth series: what is listed, stale series, samples that read back, deletion.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run series
expect_exit 1 "without a store"
expect_err_has 'berth init'
cat >usage.csv <<'X'
timestamp,series,gpus,peak,team
2026-11-30T08:00:00Z,live,1,2,a
2026-11-30T09:00:00Z,live,3,3,a
2026-11-30T11:00:00Z,live,5,9.5,a
2026-11-28T00:00:00Z,dead,4,4,b
2026-11-28T01:00:00Z,dead,4,4,b
X
run record csv usage.csv
expect_exit 0
run series -o json
expect_exit 0
expect_is_json berth.series/1
expect_json '$.series[0].name' dead
expect_json '$.series[0].stale' true
expect_json '$.series[1].stale' false
expect_json '$.series[1].labels.team' a
expect_json '$.series[1].samples' 3
expect_json '$.series[1].missing' 1
expect_json '$.series[1].mean' 3
expect_json '$.series[1].peak' 9.5
expect_json '$.series[1].last' 5
expect_json '$.series[1].gpu_seconds' 32400
expect_json '$.series[1].to' 2026-11-30T11:00:00Z
run series --stale -o csv --columns name
expect_out dead
expect_out_lacks live
run series --stale-after 1w --stale
expect_exit 0
expect_no_out
run series 'li*' --samples -o csv
expect_lines 4
expect_out '2026-11-30T11:00:00Z,5,9.5,live'
run series live --samples --from 2026-11-30T09:00:00Z --to 2026-11-30T10:00:00Z -o json
expect_json '$.series[0].points[0].mean' 3
expect_json '$.series[0].points[1].mean' ''
run series live --plot
expect_out_has 'live'
expect_out_has '11-30'
run series nobody
expect_exit 1
expect_err_has "no series 'nobody'"

# What is printed reads back as the same.
run series --samples -o csv
cp "$out" samples.csv
run --store copy.db record csv samples.csv
expect_exit 0
run --store copy.db series --samples -o csv
cmp -s "$out" samples.csv
ok $? "samples read back as the same samples"

run series delete dead
expect_exit 2 "nothing is deleted unasked"
run series delete dead --dry-run
expect_exit 0
run series dead
expect_exit 0 "a dry run deletes nothing"
run series delete dead -y -o json
expect_exit 0
expect_json '$.samples' 2
run series dead
expect_exit 1
run store check
expect_exit 0
done_testing
