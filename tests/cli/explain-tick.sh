#!/bin/sh
# Decisions of ticks about machines: one that is rejected, one that is left; what is said to turn them does.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/clouds.sh"

start=$NOW
fresh() { NOW=$start; zone_cloud "$@"; }
job() {	# job DEADLINE
	zone_job "$1"
	id=$(json '$.jobs[0].id')
}
at() { NOW=2026-11-30T$1Z; }
kinds() { "$BERTH" --now "$NOW" explain -n 1000 "$id" | sed -n 's/^2[-0-9TZ:]* \([a-z]*\) .*/\1/p' | tr '\n' ' '; }

# Every machine is slow: rejected with what was measured; its place is left alone until the time that is told.
fresh 'on_demand: {price: 4, capacity: [[0h, 2]]}' 'slow: {share: 1, factor: 0.4}'
job +30h
run tick --until +3m
run explain "$id" -o json
expect_json '$.decisions[0].kind' probe
expect_json '$.decisions[0].decision.verdict' reject
expect_json '$.decisions[0].decision.rules[0].gpu' 0
expect_json '$.decisions[0].decision.measured[0].test' dram_triad
expect_json_near '$.decisions[0].decision.measured[0].share' 0.4 0.02
awk -v v="$(json '$.decisions[0].decision.measured[0].value')" -v e="$(json '$.decisions[0].decision.measured[0].expected')" \
	-v s="$(json '$.decisions[0].decision.measured[0].share')" 'BEGIN { exit !(v / e > s - 1e-6 && v / e < s + 1e-6) }'
ok $? "the share is what was measured over what was expected"
held=$(json '$.decisions[0].decision.held_until')
run explain "$id"
expect_out_has 'probe j-.*: aurora a1.h100 in us-east-1a is rejected: gpu 0: .*; it is given back, its place is left alone until .*, and the next tick places the job elsewhere'
expect_out_has 'of GPU 0: [0-9.]+ GB/s measured, [0-9.]+ expected \(4[0-9] %\)|of GPU 0: [0-9.]+ GB/s measured, [0-9.]+ expected \(3[0-9] %\)'
at 00:04:00
run tick
run explain "$id" -o json
expect_json '$.decisions[0].decision.rule' probe_failed
expect_json '$.decisions[0].decision.changes[0].at' "$held"
rented() { "$BERTH" --now "$NOW" instances --all -o csv --columns id --no-headers | wc -l; }
NOW=$(echo "$held" | sed 's/:00Z$/:00Z/')
before=$(rented)
run --now "$(echo "$held" | awk -F: '{ printf "%s:%02d:59Z", $1, $2 - 1 }')" tick
[ "$(rented)" -eq "$before" ]
ok $? "a second before that nothing is asked for"
run tick
[ "$(rented)" -eq $((before + 1)) ]
ok $? "at $held it is asked for again"

# Spot is back long before the deadline: the job leaves on demand for it.
spot() { fresh 'on_demand: {price: 4, capacity: [[0h, 4]]}' 'spot: {price: 1.2, capacity: [[0h, 0], [6h, 2]], notice: 2m}'; }
spot
job +12h
run tick --until +9h --step 2m
run explain -n 20 "$id"
moved=$(sed -n 's/^\(2[-0-9T:]*Z\) move .*/\1/p' "$out" | tail -1)
[ -n "$moved" ]
ok $? "it moved at $moved"
expect_out_has 'the rest of the work costs [0-9.]+ USD on aurora us-east-1a a1.h100 spot, and would have cost [0-9.]+ where it was'
expect_out_has 'at most [0-9.]+ % above the least that the rest of the work costs anywhere'
expect_out_has 'a deadline of 2026-11-30T.*Z or earlier would let it stay where it is'
run explain "$id" -o json
expect_is_json berth.explanation/1
expect_json '$.decisions[0].kind' place
expect_json '$.decisions[1].kind' move "why it is where it is: placed, as it had left its machine"
expect_json '$.decisions[2].kind' ''
run explain -n 20 "$id"
stay=$(sed -n 's/.*a deadline of \(2[-0-9T:]*Z\) or earlier would.*/\1/p' "$out" | tail -1)

# The same again up to the tick before, with another deadline for that one tick.
spot
job +12h
before=$(awk -v t="$moved" 'BEGIN { split(t, p, /[T:Z]/); m = p[2] * 60 + p[3] - 2; printf "%02d:%02d", m / 60, m % 60 }')
run tick --until "2026-11-30T${before}:00Z" --step 2m
cp -r .local kept
cat >deadline.py <<'EOF'
import sqlite3, sys, re, datetime
t = int(datetime.datetime.fromisoformat(sys.argv[2].replace("Z", "+00:00")).timestamp()) + int(sys.argv[3])
db = sqlite3.connect(sys.argv[1])
spec, = db.execute("SELECT spec FROM job").fetchone()
new, n = re.subn(r'"deadline":[^,}]*', '"deadline":%d' % t, spec)
assert n == 1, spec
db.execute("UPDATE job SET spec = ?", (new,))
db.commit()
EOF
turn() {	# turn SECONDS: the tick of the move, the deadline being that long after the one that is told
	rm -rf .local
	cp -r kept .local
	"${BERTH_PYTHON:-python3}" deadline.py "$(echo .local/state/berth/*.db)" "$stay" "$1" || return 1
	NOW=$moved
	run tick
	kinds | grep -q move
}
if "${BERTH_PYTHON:-python3}" -c 'import sqlite3' 2>/dev/null; then
	turn 300
	ok $? "five minutes later than told it moves"
	! turn 0
	ok $? "as told it stays"
else
	skip "the deadline that is told turns the move" "no Python with sqlite3"
fi

done_testing
