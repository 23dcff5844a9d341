#!/bin/sh
# A job that needs the output of another waits for it on the replayed cloud, and runs when that is done.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

run init --replay
run prices refresh
for j in first second; do
	printf 'schema: berth.job/1\nname: %s\nrun: make\naccelerators: "L4:1"\nwork: 1h\npurchase: [on_demand]\n' $j >$j.yaml
done
printf 'after: {job: first, size: 1GB}\n' >>second.yaml
run submit first.yaml second.yaml -o json
expect_exit 0
run tick
NOW=2026-11-30T00:01:00Z
run jobs -o json
expect_json '$.jobs[1].state' queued
expect_json '$.jobs[1].reason' "waits until $(json '$.jobs[0].id') is done"
first=$(json '$.jobs[0].id')
run tick --until +8h --step 2m
NOW=2026-11-30T09:00:00Z
run jobs -o json
expect_json '$.jobs[0].state' done
expect_json '$.jobs[1].state' done
run instances --all -o csv --columns created,gone
[ "$(sed -n 3p "$out" | cut -d, -f1)" '>' "$(sed -n 2p "$out" | cut -d, -f1)" ] && [ "$(wc -l <"$out")" -ge 3 ]
ok $? "the second machine was rented after the first"

# One that will never end is said.
printf 'schema: berth.job/1\nname: gone\nrun: make\naccelerators: "L4:1"\nwork: 1h\n' >gone.yaml
printf 'schema: berth.job/1\nname: stuck\nrun: make\naccelerators: "L4:1"\nwork: 1h\nafter: {job: gone}\n' >stuck.yaml
run submit gone.yaml stuck.yaml -o json
gone=$(json '$.jobs[0].id')
stuck=$(json '$.jobs[1].id')
run job cancel "$gone"
run tick
run job show "$stuck"
expect_out_has "waits for $gone, which will not end \\(cancelled\\)"
[ -n "$first" ]
ok $? "the first job has an id"
done_testing
