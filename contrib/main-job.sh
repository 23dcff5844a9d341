#!/bin/sh
# contrib/main-job.sh BERTH TOP - berth's main job once, from history to report, in a new temporary home,
# on the embedded default: SQLite, the bundled history and prices, the replayed cloud.
set -u
berth=$1
top=$2
home=$(mktemp -d "${TMPDIR:-/tmp}/berth-home.XXXXXX") || exit 1
export HOME="$home" XDG_CONFIG_HOME="$home/config" XDG_STATE_HOME="$home/state" XDG_CACHE_HOME="$home/cache"
unset BERTH_CONFIG BERTH_STORE
now=2026-11-30T00:00:00Z	# where the bundled history ends; the replayed cloud plays from here
failed=0

title() { printf '\n=== %s\n' "$*"; }

# run ARGUMENT...: show the command, then what it says; a wrong exit status is said, not hidden
run() {
	printf '$ berth %s\n' "$*" | sed "s|$top/||g; s|$home|~|g"
	"$berth" --now "$now" "$@" 2>&1 | sed "s|$home|~|g"
}
must() {
	printf '$ berth %s\n' "$*" | sed "s|$top/||g; s|$home|~|g"
	"$berth" --now "$now" "$@"
	rc=$?
	[ "$rc" -eq 0 ] || { failed=1; printf '(exit status %s)\n' "$rc"; }
}

title "1. A new home: config, store, bundled prices, the replayed cloud"
must init --replay
title "2. Usage history"
must record csv "$top/data/history/example.csv"
title "3. Forecast of the peak, four weeks ahead"
must forecast --horizon 4w --plot
title "4. Best prices"
must prices refresh
for gpu in H100:8 A100-80GB L4; do
	must prices list --gpu "$gpu" --limit 4
done
title "5. What to reserve"
must plan --horizon 52w --service-level 0.95
title "6. Jobs into the queue, and where each would go"
must submit "$top"/data/jobs/*.yaml
must place --explain
title "7. Two days of the replayed cloud: place, provision, probe, start, watch, recover, release"
must tick --until +48h --step 5m
must jobs
must events --summary
title "8. The probe on this machine"
must probe --here --quick
title "9. What all of it cost"
must budget
must report --html "$home/report.html"
printf '\nThe HTML report: %s\nThis home:       %s  (delete it when you have seen enough)\n' "$home/report.html" "$home"
exit "$failed"
