#!/bin/sh
# A tick judges a new machine by the fleet's medians where there are machines enough: a fleet that is a fifth faster than the
# seed makes a machine of the seed's speed worth less. The rows are put there by the sqlite3 program.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
if ! command -v sqlite3 >/dev/null; then
	echo "1..0 # SKIP no sqlite3"
	exit 0
fi
db=$HOME/.local/state/berth/berth.db

# one L4 is rented and judged; $1 is what the fleet's 24 machines of two providers reached in dram_triad, 0: no fleet
judged() {
	rm -rf "$HOME/.local/state/berth" "$HOME/.config/berth"
	NOW=2026-11-30T00:00:00Z
	run init --replay
	run prices refresh
	[ "$1" = 0 ] || awk -v v="$1" 'BEGIN { for (i = 1; i <= 24; i++) {
		printf "INSERT INTO measurement (id, t, provider, region, zone, instance_type, accelerator, host, mode, level, speed, verdict, reason, json) VALUES (%d, %d, \"p%d\", \"r\", \"\", \"x\", \"L4\", \"h%d\", \"gpu\", \"standard\", 1, \"accept\", \"\", \"{}\");\n", i, 1795900000 + i, i % 2, i
		printf "INSERT INTO probe (measurement_id, n, test, gpu, peer, value, unit, status) VALUES (%d, 0, \"dram_triad\", 0, -1, %s, \"GB/s\", \"ok\");\n", i, v
	} }' | tr '"' "'" | sqlite3 "$db"
	run submit "$BERTH_DATA/jobs/batch-inference-l4.yaml"
	run tick --until +1h --step 5m
	expect_exit 0
	sqlite3 "$db" "SELECT verdict || ' ' || reason FROM measurement WHERE instance_id IS NOT NULL AND accelerator = 'L4' ORDER BY id LIMIT 1" >first
}
judged 0
grep -q '^accept' first; ok $? "judged by the seed, the machine is as promised"
judged 318
cat first | sed 's/^/# /'
grep -q '^discount.*dram_triad.* of the 318 ' first; ok $? "judged by a fleet a fifth faster, it is worth less"
judged 100
grep -q '^accept' first; ok $? "a slow fleet changes nothing: it counts 0.9 of the seed at least"
done_testing
