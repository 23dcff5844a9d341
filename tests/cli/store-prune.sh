#!/bin/sh
# How long decisions, events, refused launches and runs of ticks are kept, and what is kept whatever its age.
NOW=2026-11-01T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
db=$HOME/.local/state/berth/berth.db
command -v sqlite3 >/dev/null || { echo "1..0 # SKIP no sqlite3"; exit 0; }

mkdir -p .config/berth
cat >one.trace <<EOF
schema: berth.replay/1
start: $NOW
pools:
  - {provider: aurora, region: r, zone: a, instance_type: h100, accelerator: H100-SXM5-80GB, accelerator_count: 1, startup: [3m, 3m], on_demand: {price: 4, capacity: 4}}
  - {provider: aurora, region: r, zone: b, instance_type: h100, accelerator: H100-SXM5-80GB, accelerator_count: 1, startup: [3m, 3m], on_demand: {price: 3, capacity: 0, shown: false}}
EOF
config() { printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/one.trace}\n%s\n' "$PWD" "$1" >.config/berth/berth.yaml; }
config 'retention: {records: 10d}'
run init --no-prices
run prices refresh
run budget set all --cap 100 --period total --name lid
job() {	# job NAME [LINE...]
	printf 'schema: berth.job/1\nname: %s\naccelerators: "H100-SXM5-80GB:1"\nwork: 1h\nrun: x\n' "$1" >job.yaml
	shift
	for line; do echo "$line" >>job.yaml; done
	run submit job.yaml -o json
	id=$(json '$.jobs[0].id')
}
job ends
ends=$id
job waits 'max_price: 1'
waits=$id
for m in 00 05 10 15; do
	run --now "2026-11-01T00:$m:00Z" tick
done
NOW=2026-11-01T00:20:00Z
run tick --until +3h --step 5m
run jobs --all -o csv --columns name,state
expect_out ends,done
expect_out waits,queued
n() { sqlite3 "$db" "SELECT count(*) FROM $1"; }
money() { sqlite3 "$db" "SELECT sum(amount), count(*) FROM ledger"; }
paid=$(money)
run place	# a record that no tick made
for t in "decision WHERE kind = 'place' AND subject = '$ends'" "decision WHERE subject = '$waits'" "event WHERE subject = '$ends'" \
    "event WHERE subject = '$waits'" "intent WHERE state = 'failed'" "run WHERE verb = 'tick'" "run WHERE verb <> 'tick'" placement_input; do
	[ "$(n "$t")" -gt 0 ]
	ok $? "before: $(n "$t") of $t"
done
sqlite3 "$db" "INSERT INTO event (t, type, subject, data) VALUES (1793491200, 'machine.orphan', 'machine:sky/x', '{}'),
	(1793491200, 'job.done', 'j-other', '{}'); INSERT INTO outbox (event_id, sink, tries, next_try, error) SELECT max(id), 'far', 3, 0, '' FROM event;
	INSERT INTO decision (t, kind, subject, json) VALUES (5, 'place', '$ends', '{\"reason\": \"old\", \"refused\": {}}')"
sqlite3 "$db" "DELETE FROM decision WHERE t = 5; INSERT INTO decision (t, kind, subject, json) VALUES (1793491200, 'checkpoint', '$ends', '{\"reason\": \"the newest\", \"refused\": {}}')"

NOW=2026-11-06T00:00:00Z
run place

# Nine days later nothing is old enough; nor is anything where records are kept for ever.
NOW=2026-11-10T00:00:00Z
run tick
[ "$(n "event WHERE subject = '$ends'")" -gt 0 ] && [ "$(n "run WHERE verb = 'tick'")" -gt 1 ]
ok $? "after nine days all are there"
NOW=2026-11-12T00:00:00Z
config 'retention: {records: forever}'
was=$(n decision)
run tick
[ "$(n decision)" -ge "$was" ]
ok $? "for ever keeps all"
# What placements were made from is kept as long, and where jobs were to go eight days more: they can be made again.
again() {	# again WHEN: all that is kept of placements
	all=0 same=0
	for i in $(sqlite3 "$db" "SELECT decision_id FROM placement_input"); do
		all=$((all + 1))
		run place --replay "$i"
		grep -q 'byte for byte' "$out" && same=$((same + 1)) || sed 's/^/# /' "$err"
	done
	[ "$all" -ge 1 ] && [ "$same" -eq "$all" ]
	ok $? "$1: $same of $all placements are made again"
}
whole() { n "decision WHERE kind = 'placement' AND t = strftime('%s', '$1')"; }
run place
config 'retention: {records: 1d}'
NOW=2026-11-12T20:00:00Z
cp "$db" all.db
run store rollup
expect_exit 0
again "kept for a day"
[ "$(whole 2026-11-06)" -eq 1 ] && [ "$(whole 2026-11-01T00:20:00)" -eq 0 ]
ok $? "a placement of six days ago is there, one of eleven is gone"
[ "$(n "placement_input WHERE t < strftime('%s', '2026-11-11T20:00:00')")" -eq 0 ]
ok $? "and what that was made from"
mv all.db "$db"
NOW=2026-11-12T00:00:00Z
config 'retention: {records: 2d}'

# Eleven days later: first what is due, then the verb does it.
run store rollup --dry-run -o json
due="$(json '$.decisions') $(json '$.events') $(json '$.intents') $(json '$.runs')"
expect_json '$.records_s' 172800
run store rollup --dry-run
expect_out_has '^dry run: [0-9]+ decisions?, [0-9]+ events, [0-9]+ refused launch(es)? and [0-9]+ runs? of ticks deleted; they are kept 2d$'
before="$(n decision) $(n event) $(n intent) $(n "run WHERE verb = 'tick'")"
run store rollup -o json
gone="$(json '$.decisions') $(json '$.events') $(json '$.intents') $(json '$.runs')"
[ "$gone" = "$due" ]
ok $? "a dry run says what goes: $due (went $gone)"
[ "$(echo "$before $gone" | awk '{ print $1 - $5, $2 - $6, $3 - $7, $4 - $8 }')" = "$(n decision) $(n event) $(n intent) $(n "run WHERE verb = 'tick'")" ]
ok $? "and that many go ($before before, $gone went)"
echo "$gone" | awk '{ exit !($1 > 0 && $2 > 0 && $3 > 0 && $4 > 0) }'
ok $? "some of each"
[ "$(n "decision WHERE subject = '$ends'")" -eq 1 ] && [ "$(n "decision WHERE subject = '$ends' AND kind = 'checkpoint'")" -eq 1 ]
ok $? "the newest decision about the job that is done stays"
[ "$(n "event WHERE subject = '$ends'")" -eq 0 ] && [ "$(n "event WHERE subject = '$waits'")" -gt 0 ]
ok $? "its events go, those of the job that waits stay"
[ "$(n "event WHERE type = 'machine.orphan'")" -eq 1 ] && [ "$(n "event WHERE subject = 'j-other'")" -eq 1 ]
ok $? "a machine of nobody, and what a sink has not heard of yet, stay"
[ "$(n "run WHERE verb <> 'tick'")" -gt 3 ] && [ "$(n "intent WHERE state = 'failed'")" -eq 0 ] && [ "$(n instance)" -eq 1 ]
ok $? "what was done by hand and machines stay"
[ "$(money)" = "$paid" ]
ok $? "and all money"
run explain "$ends"
expect_exit 0
run explain -n 9 "$waits"
expect_out_has 'wait j-.*price over the job'
run store check
expect_exit 0
run budget -o json
expect_json_near '$.budgets[0].spent' 4.3 0.2
run report --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z -o json
expect_exit 0

# A tick does it by itself, once a day.
old() { sqlite3 "$db" "INSERT INTO decision (t, kind, subject, json) VALUES ($1, 'scale', 'f', '{}')"; }
old 5; old 6; old 7
run tick
[ "$(n "decision WHERE subject = 'f'")" -eq 1 ]
ok $? "a tick deletes, too"
old 8
NOW=2026-11-12T23:59:59Z
run tick
[ "$(n "decision WHERE subject = 'f'")" -eq 2 ]
ok $? "not twice within a day"
NOW=2026-11-13T00:00:00Z
run tick --dry-run
[ "$(n "decision WHERE subject = 'f'")" -eq 2 ]
ok $? "a dry run deletes nothing"
run tick
[ "$(sqlite3 "$db" "SELECT group_concat(t) FROM decision WHERE subject = 'f'")" = 8 ]
ok $? "a day later it does, and the newest is there"
[ "$(n placement_input)" -gt 0 ]
ok $? "what was decided within two days is kept"
again "two days"

config 'retention: {records: 5h}'
run tick
expect_exit 1
expect_err_has 'must be a day or more'

done_testing
