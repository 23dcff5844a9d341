#!/bin/sh
# contrib/main-job.sh BERTH TOP - berth's main job once, from history to report, in a new temporary home, on the
# embedded default: SQLite, the bundled history and prices, the replayed cloud. Nothing is rented.
set -u
berth=$1
top=$2
home=$(mktemp -d "${TMPDIR:-/tmp}/berth-home.XXXXXX") || exit 1
export HOME="$home" BERTH_DATA="$top/data"
unset BERTH_CONFIG BERTH_STORE XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_DATA_HOME
[ -t 1 ] || COLUMNS=${COLUMNS:-100}
export COLUMNS
now=2026-11-30T00:00:00Z	# where the bundled history ends; the replayed cloud plays from here
failed=0

title() { printf '\n\n--- %s\n\n' "$*"; }

# Shows a command, then runs it; a wrong exit status is said and kept, never hidden.
run() {
	printf '$ berth %s\n' "$*" | sed "s|$top/||g; s|$home|~|g"
	"$berth" --now "$now" "$@"
	rc=$?
	[ "$rc" -eq 0 ] || { failed=1; printf '(exit status %s)\n' "$rc"; }
}

title "1. A new home: config, store, the bundled list prices, and a replayed cloud to play on"
run init --replay
title "2. Usage history: half a year of a made-up team, hour by hour"
run record csv "$top/data/history/gpu-usage.csv"
title "3. The forecast: the peak of the next four weeks with its quantiles, and one series as a picture"
run forecast --horizon 4w
run forecast vision --horizon 4w --plot
title "4. Prices: the best per GPU-hour for three classes, of the cloud now and the bundled list (see AGE)"
run prices refresh
for gpu in H100:8 A100-80GB L4; do
	run prices list --gpu "$gpu" --max-age 52w --limit 3
done
title "5. What to reserve, and what that saves against on demand only"
run plan vision --horizon 52w --service-level 0.95
printf '\nThe same for all of them, without the reasons:\n'
run plan --brief --horizon 52w --service-level 0.95
title "6. Six jobs into the queue, and where each would go"
run submit "$top"/data/jobs/*.yaml
run place --explain
title "7. A budget, then two days on the cloud: place, rent, probe, run, survive preemption, give back"
run budget set all --period month --cap 2000
run tick --until +48h
now=2026-12-02T00:00:00Z
run jobs --all
run instances --all
printf '\nWhat happened to the jobs:\n'
run events --type 'job.*'
title "8. The probe on this machine"
run probe --here --quick
title "9. What all of it cost"
run budget
run report --html "$home/report.html"
printf '\nThe report with charts: %s\nThis home:              %s (delete it when you have seen enough)\n' "$home/report.html" "$home"
exit "$failed"
