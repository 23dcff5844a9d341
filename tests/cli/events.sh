#!/bin/sh
# berth events: filters, limits, summary.
. "$TOP_SRCDIR/tests/cli/lib.sh"
db=$HOME/.local/state/berth/berth.db

run budget set all --cap 1
run events
expect_exit 0
expect_no_out
expect_err_has 'no events'
i=0
{
	echo 'BEGIN;'
	while [ $i -lt 130 ]; do
		type=job.placed
		[ $((i % 10)) -eq 0 ] && type=instance.gone
		echo "INSERT INTO event (t, type, subject, data) VALUES ($((1796000000 + i)), '$type', 'j-$((i % 3))', '{\"i\":$i}');"
		i=$((i + 1))
	done
	echo 'COMMIT;'
} | sqlite3 "$db"
run events -o json
expect_is_json berth.events/1
expect_json '$.events[0].id' 31
expect_json '$.events[99].data.i' 129
expect_json '$.events[100].id' ''
run events --limit 0 -o csv --columns id
expect_lines 131
run events --after 128 -o csv --columns id,type,data
expect_lines 3
expect_out '130,job.placed,"{""i"":129}"'
run events --type 'instance.*' --subject j-1 -o csv --columns id
expect_lines 5
run events --since 2026-11-30T00:55:28Z -o csv --columns id	# 1796000128
expect_lines 3
run events --summary -o json
expect_is_json berth.events-summary/1
expect_json '$.types[0].type' instance.gone
expect_json '$.types[0].count' 13
expect_json '$.types[1].count' 117
expect_json '$.types[0].first' 2026-11-30T00:53:20Z
run events -n 3
expect_lines 4
expect_err_has 'older events'
done_testing
