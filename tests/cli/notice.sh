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

# Without an interval of its own the job is told the best one for a new machine: p = sqrt(2 h w), (p - p^2 / 3) / h + ...
till=+4m
taken 10s
s=$(grep -ho '"interval_s": *[0-9]*' "$HOME"/.local/state/berth/*replay-sky.json | head -1 | tr -dc 0-9)
[ "${s:-0}" -ge 221 ] && [ "$s" -le 223 ]
ok $? "told to write each $s s, where 1.37 ends an hour and 10 s a write make 222"
# The same by hand for longer writes w, h being the mean over the interval and its write (1.37 for 15 minutes, 0.96 to 1 h, 0.33 to
# 4 h): 1 m: y = 0.199 solves 1 - y = e^(-y - 0.0228), and y / 1.37 is 522 s; 2 h: h = 0.533 over 3.6 h, y = 0.853 solves
# 1 - y = e^(-y - 1.067), and y / 0.533 is 1 h 36 min; a write of 20 h would want more than the 2 h that are the most.
for row in '1m 521 523' '2h 5700 5820' '20h 7200 7200'; do
	set -- $row
	taken "$1"
	s=$(grep -ho '"interval_s": *[0-9]*' "$HOME"/.local/state/berth/*replay-sky.json | head -1 | tr -dc 0-9)
	[ "${s:-0}" -ge "$2" ] && [ "$s" -le "$3" ]
	ok $? "writes of $1: each $s s"
done
# And told again as the machine ages: after an hour 0.33 end an hour, and as none did where 0.25 x 1.37 + 0.75 x 0.96 + ... = 1.07 were
# to be expected, (0 + 2)/(1.07 + 2) of that.
till=
taken 10s
s=$(grep -ho '"interval_s": *[0-9]*' "$HOME"/.local/state/berth/*replay-sky.json | head -1 | tr -dc 0-9)
[ "${s:-0}" -ge 565 ] && [ "$s" -le 580 ]
ok $? "by then each $s s"
done_testing
