#!/bin/sh
# A spot machine with notice: how often the job is told to write a checkpoint, and the last write where it still fits.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

taken() {	# taken WRITE [INTERVAL]: a job on a machine that is taken back after 70 minutes, with 2 minutes of notice
	rm -rf "$HOME/.config" "$HOME/.local"
	mkdir -p "$HOME/.config/berth"
	cat >one.trace <<EOF
schema: berth.replay/1
start: 2026-11-30T00:00:00Z
pools:
  - {provider: aurora, region: us-east-1, zone: us-east-1a, instance_type: a1.h100, accelerator: H100-SXM5-80GB,
     accelerator_count: 1, accelerator_memory_gib: 80, vcpus: 24, memory_gib: 256, startup: [3m, 3m],
     spot: {price: 1.2, capacity: [[0h, 1], [70m, 0]], notice: 2m}}
EOF
	printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/one.trace}\n' "$PWD" \
		>"$HOME/.config/berth/berth.yaml"
	run init --no-prices
	run prices refresh
	cat >job.yaml <<EOF
schema: berth.job/1
name: figures
accelerators: ["H100-SXM5-80GB:1"]
work: 10h
checkpoint: {size: 8GB, write: $1${2:+, interval: $2}}
restart: 3m
purchase: [spot]
run: make figures
EOF
	run submit job.yaml -o json
	expect_exit 0
	run tick --until "${till:-+69m}" --step 1m
	expect_exit 0
	[ -n "$till" ] && return
	run jobs -o json
	expect_json '$.jobs[0].state' queued
}
between() {	# between PATH LEAST MOST NAME
	got=$(json "$1")
	awk -v v="$got" -v l="$2" -v m="$3" 'BEGIN { exit !(v != "" && v + 0 >= l && v + 0 <= m) }'
	ok $? "$4: $got is between $2 and $3"
}

# 64 minutes of work, a checkpoint after 45 of them: the last write keeps the rest.
taken 1m 45m
between '$.jobs[0].progress' 0.1 0.107 "a write of 1 minute fits into 2"
run events --type job.preempted -o json
expect_out_has 'a last checkpoint was written'
# A write of 5 minutes does not fit: what lies before the checkpoint is all that is kept.
taken 5m 45m
between '$.jobs[0].progress' 0.0749 0.0751 "a write of 5 minutes does not fit into 2"
run events --type job.preempted -o json
expect_out_has 'no checkpoint can be written any more'

# Without an interval of its own the job is told the one that keeps most work until the machine is lost, when every later one is
# the best as well: by backward induction over the ages, with the ends an hour that are bundled (1.37 to 15 minutes, 0.96 to 1 h,
# 0.33 to 4 h, 0.14 to 12 h, 0.059 from there on). Longest: 2 h, or 60 writes.
best() {	# best WRITE-SECONDS: from the start on
	awk -v w="$1" 'function passed(t,   b, s) {
		for (b = 1; b <= 5 && t > edge[b]; b++) s += rate[b] / 3600 * ((b < 5 && t > edge[b + 1] ? edge[b + 1] : t) - edge[b])
		return s
	}
	BEGIN {
		split("0 900 3600 14400 43200", edge); split("1.37 0.96 0.33 0.14 0.059", rate)
		step = w > 600 ? w / 20 : 30; most = 60 * w > 7200 ? 60 * w : 7200; old = rate[5] / 3600
		for (t = step; t <= most; t += step) { k = t / (exp(old * (t + w)) - 1); if (k > last) last = k }
		n = int(43200 / step) + 1; skip = w / step; m = int(most / step)
		for (i = 0; i <= n + m + skip + 1; i++) { s[i] = exp(-passed(i * step)); if (i >= n) v[i] = last }
		for (i = n - 1; i >= 0; i--) for (j = 1; j <= m; j++) {
			at = i + j + skip; lo = int(at); part = at - lo
			k = (s[lo] + part * (s[lo + 1] - s[lo])) / s[i] * (j * step + v[lo] + part * (v[lo + 1] - v[lo]))
			if (k > v[i]) { v[i] = k; if (i == 0) print j * step }
		}
	}' | tail -1
}
till=+4m
for row in '10s 10' '1m 60' '2h 7200' '20h 72000'; do
	set -- $row
	taken "$1"
	s=$(grep -ho '"interval_s": *[0-9]*' "$HOME"/.local/state/berth/*replay-sky.json | head -1 | tr -dc 0-9)
	want=$(best "$2")
	awk -v s="${s:-0}" -v w="$want" -v t="$2" 'BEGIN { step = t > 600 ? t / 20 : 30; exit !(s > 0 && s >= w - 1.5 * step && s <= w + 1.5 * step) }'
	ok $? "writes of $1: told to write each $s s (the best of a grid: $want)"
done
# And told again as the machine ages: after an hour 0.33 end an hour, and as none did where 0.25 x 1.37 + 0.75 x 0.96 + ... = 1.07 were
# to be expected, (0 + 2)/(1.07 + 2) of that.
till=
taken 10s
s=$(grep -ho '"interval_s": *[0-9]*' "$HOME"/.local/state/berth/*replay-sky.json | head -1 | tr -dc 0-9)
# Alone that makes 572 s; what comes behind ages as well.
[ "${s:-0}" -ge 545 ] && [ "$s" -le 580 ]
ok $? "by then each $s s"
done_testing
