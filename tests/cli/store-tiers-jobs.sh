#!/bin/sh
# Jobs through roll-ups: exports that come in any order, correct old jobs and extend running ones give what one load gives.
. "$TOP_SRCDIR/tests/cli/lib.sh"
db=$HOME/.local/state/berth/berth.db
mkdir -p .config/berth
printf 'retention:\n  raw: 2d\n  hourly: 10d\n' >.config/berth/berth.yaml

# jobs SEED UNTIL: random jobs of 40 days, as sacct shows them on day UNTIL. Each job is what its number says, so that a later
# export shows the same jobs further on; every ninth was charged wrongly until day 30.
jobs() {
	awk -v seed="$1" -v until="$2" '
	function rnd(n) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % n }
	function t(s,  d, h) { d = int(s / 86400); h = s % 86400
		return sprintf("2026-%02d-%02dT%02d:%02d:%02d", d < 31 ? 10 : 11, d < 31 ? d + 1 : d - 30, int(h / 3600), int(h % 3600 / 60), h % 60) }
	BEGIN {
		print "JobID|State|Submit|Start|End|AllocTRES|Account|ReqTRES"
		now = until * 86400
		for (i = 1; i <= 400; i++) {
			x = seed * 7919 + i * 104729
			rnd(2)
			submit = rnd(40 * 24) * 3600 + rnd(3600)
			start = submit + rnd(5) * rnd(9000)
			end = start + 60 + rnd(90) * rnd(3600)
			gpus = 1 + rnd(8)
			if (i % 9 == 0 && until < 30)
				gpus += 3
			type = rnd(2) ? "h100" : "l4"
			if (submit > now)
				continue
			tres = "gres/gpu=" gpus ",gres/gpu:" type "=" gpus
			if (start > now)
				printf "%d|PENDING|%s|Unknown|Unknown||a%d|%s\n", i, t(submit), i % 3, tres
			else if (end > now)
				printf "%d|RUNNING|%s|%s|Unknown|%s|a%d|%s\n", i, t(submit), t(start), tres, i % 3, tres
			else
				printf "%d|COMPLETED|%s|%s|%s|%s|a%d|%s\n", i, t(submit), t(start), t(end), tres, i % 3, tres
		}
	}'
}
# What all series say: name, GPU-seconds, peak.
sums() {
	"$BERTH" --now "$NOW" --store "$1" series -o json |
		awk -F'"' '/"name"/ { n = $4 } /"gpu_seconds"|"peak"|"missing"/ { print n, $0 }' | tr -d ' ,'
}
export TZ=UTC
for seed in 1 2 3; do
	for day in 12 20 33 41; do
		jobs $seed $day >export-$day.txt
	done
	printf 'retention:\n  raw: forever\n  hourly: forever\n' >plain.yaml
	for step in 15m 1h; do
		rm -f plain.db tiers.db
		for day in 12 20 33 41; do
			now=$(date -u -d "2026-10-01 + $day days" +%FT%TZ)
			# Each export with a roll-up as of then behind it, and an older one again.
			for load in "$now export-$day.txt" "2026-10-13T00:00:00Z export-12.txt"; do
				to=${load% *} file=${load#* }
				run --config plain.yaml --store plain.db record sacct --step $step --by accelerator,account --to "$to" "$file"
				[ "$status" = 0 ] || expect_exit 0
				run --store tiers.db record sacct --step $step --by accelerator,account --to "$to" "$file"
				[ "$status" = 0 ] || expect_exit 0
				run --store tiers.db store rollup --now "$now"
				[ "$status" = 0 ] || expect_exit 0
			done
		done
		sums plain.db >plain.txt
		sums tiers.db >tiers.txt
		[ -s plain.txt ] && diff plain.txt tiers.txt >diff.txt
		ok $? "seed $seed, steps of $step: $(($(wc -l <plain.txt) / 3)) series end as if nothing had been rolled up"
		head -n 5 diff.txt | sed 's/^/# /'
		[ "$(sqlite3 tiers.db 'SELECT count(*) FROM rollup')" -gt 100 ]
		ok $? "and they were: $(sqlite3 tiers.db 'SELECT count(*) FROM rollup') hours and days"
		run --store tiers.db store check
		expect_exit 0 "seed $seed, steps of $step: sound"
	done
done
done_testing
