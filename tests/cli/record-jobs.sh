#!/bin/sh
# berth record sacct: what jobs become, exactly once, whatever shape the export has.
. "$TOP_SRCDIR/tests/cli/lib.sh"

# Elapsed and limit in all their forms; limits say nothing about use.
cat >forms.txt <<'EOF'
JobID|JobName|State|Submit|Start|End|Elapsed|Timelimit|AllocTRES
11|a|COMPLETED|2026-05-04T00:00:00|2026-05-04T00:30:00|2026-05-05T02:30:00|1-02:00:00|UNLIMITED|cpu=8,gres/gpu:h100=2,gres/gpu=2,node=1
12|b|TIMEOUT|2026-05-04T00:00:00|2026-05-04T00:30:00|2026-05-04T01:15:00|00:45:00|45:00|cpu=8,gres/gpu:h100=4,gres/gpu=4,node=1
13|c|COMPLETED|2026-05-04T00:00:00|2026-05-04T00:30:00|2026-05-04T02:30:00|02:00:00|Partition_Limit|cpu=8,gres/gpu:l4=1,gres/gpu=1,node=1
14|d|COMPLETED|2026-05-04T00:00:00|2026-05-04T00:30:00|2026-05-04T02:30:00|02:00:00|1-06|cpu=8,mem=4G,node=1
EOF
run record sacct forms.txt -o json
expect_exit 0
expect_json '$.rows_read' 4
expect_json '$.rows_stored' 3
expect_json '$.rows_without_gpus' 1
expect_json '$.gpu_seconds' 205200	# 93600 x 2 + 2700 x 4 + 7200
expect_json '$.series[0].name' accelerator=H100
expect_json '$.series[0].peak' 6
run record sacct forms.txt -o json
expect_exit 0
expect_json '$.rows_stored' 0
expect_json '$.rows_duplicate' 3
expect_json '$.series[0].name' accelerator=H100
expect_json '$.series[0].peak' 6

# A job that was requeued: attempts count one by one, steps not at all.
cat >requeued.txt <<'EOF'
JobID|State|Submit|Start|End|Elapsed|AllocTRES
700|REQUEUED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T00:10:00|00:10:00|gres/gpu=4
700.batch|FAILED|2026-03-02T00:00:00|2026-03-02T00:00:00|2026-03-02T00:10:00|00:10:00|gres/gpu=4
700|COMPLETED|2026-03-02T00:10:01|2026-03-02T00:20:00|2026-03-02T00:50:00|00:30:00|gres/gpu=4
700.batch|COMPLETED|2026-03-02T00:20:00|2026-03-02T00:20:00|2026-03-02T00:50:00|00:30:00|gres/gpu=4
700.extern|COMPLETED|2026-03-02T00:20:00|2026-03-02T00:20:00|2026-03-02T00:50:00|00:30:00|gres/gpu=4
EOF
run --store requeued.db record sacct requeued.txt -o json
expect_exit 0
expect_json '$.jobs' 1
expect_json '$.attempts' 2
expect_json '$.rows_steps' 3
expect_json '$.gpu_seconds' 9600
expect_json '$.series[0].peak' 4

# Bars in names, and rows that are bad.
cat >bars.txt <<'EOF'
JobID|JobName|State|Start|End|Elapsed|AllocTRES
1|a|b|c|COMPLETED|2026-06-02T00:00:00|2026-06-02T00:10:00|00:10:00|gres/gpu=2
2|RUNNING|FAILED|2026-06-02T00:00:00|2026-06-02T00:10:00|00:10:00|gres/gpu=1
3|x|COMPLETED|2026-06-02T01:00:00|2026-06-02T00:10:00|00:10:00|gres/gpu=1
4|COMPLETED|2026-06-02T00:00:00
5||COMPLETED|2026-06-02T00:00:00|2026-06-02T00:01:00|00:01:00|gres/gpu=lots
EOF
run --store bars.db record sacct bars.txt -o json
expect_exit 8
expect_json '$.rows_stored' 2
expect_json '$.rows_refused' 3
expect_json '$.gpu_seconds' 1800
expect_json '$.warnings[0].line' 4
expect_json '$.warnings[2].line' 6

# Local time, in the night when clocks go back from 03:00 to 02:00 (Europe) .
if [ -f /usr/share/zoneinfo/Europe/Paris ]; then
	cat >paris.txt <<'EOF'
JobID|State|Start|End|Elapsed|AllocTRES
1|COMPLETED|2025-10-26T02:50:00|2025-10-26T02:05:00|00:15:00|gres/gpu=8
2|COMPLETED|2025-10-26T01:30:00|2025-10-26T02:30:00|02:00:00|gres/gpu=1
3|COMPLETED|2025-10-26T02:10:00|2025-10-26T02:40:00|00:30:00|gres/gpu=2
EOF
	run --store paris.db record sacct --tz Europe/Paris paris.txt -o json
	expect_exit 0
	expect_json '$.gpu_seconds' 18000
	expect_json '$.warnings[0].line' 4
	expect_json '$.series[0].from' 2025-10-25T23:00:00Z
	expect_json '$.series[0].to' 2025-10-26T01:00:00Z
else
	skip 'the hour that runs twice' 'no time zone files'
fi

# A job that runs is extended at the next load, and an old export does not shorten it again.
head='JobID|State|Submit|Start|End|Elapsed|AllocTRES'
printf '%s\n' "$head" '8|RUNNING|2026-07-01T00:00:00|2026-07-01T00:00:00|Unknown|00:30:00|gres/gpu=3' >early.txt
printf '%s\n' "$head" '8|COMPLETED|2026-07-01T00:00:00|2026-07-01T00:00:00|2026-07-01T02:00:00|02:00:00|gres/gpu=3' >late.txt
run --store run.db record sacct early.txt -o json
expect_json '$.gpu_seconds' 5400
expect_json '$.series[0].samples' 1
run --store run.db record sacct late.txt -o json
expect_json '$.rows_replaced' 1
expect_json '$.series[0].samples' 2
run --store run.db record sacct early.txt -o json
expect_json '$.rows_duplicate' 1
expect_json '$.rows_stored' 0
# An array that waits in one row, then starts: it is not waited for twice.
head='JobID|State|Submit|Start|End|Elapsed|ReqTRES|AllocTRES'
printf '%s\n' "$head" '90_[0-3%2]|PENDING|2026-07-01T00:00:00|Unknown|Unknown|00:00:00|gres/gpu=2|' \
	'91|COMPLETED|2026-07-01T00:00:00|2026-07-01T00:00:00|2026-07-01T01:00:00|01:00:00|gres/gpu=1|gres/gpu=1' >wait.txt
printf '%s\n' "$head" '90_0|RUNNING|2026-07-01T00:00:00|2026-07-01T01:00:00|Unknown|01:00:00|gres/gpu=2|gres/gpu=2' \
	'90_1|RUNNING|2026-07-01T00:00:00|2026-07-01T01:00:00|Unknown|01:00:00|gres/gpu=2|gres/gpu=2' \
	'90_2|RUNNING|2026-07-01T00:00:00|2026-07-01T01:00:00|Unknown|01:00:00|gres/gpu=2|gres/gpu=2' \
	'90_3|RUNNING|2026-07-01T00:00:00|2026-07-01T01:00:00|Unknown|01:00:00|gres/gpu=2|gres/gpu=2' >start.txt
queued() {	# queued STORE: peak GPUs waited for
	run --store "$1" record sacct "$2" -o json
	tr -d '\n ' <"$out" | sed 's/.*"state=queued"[^}]*"peak":\([0-9.]*\).*/\1/'
}
[ "$(queued wait.db wait.txt)" = 8 ]
ok $? 'four tasks of two GPUs wait'
[ "$(queued wait.db start.txt)" = 8 ]
ok $? 'those that started had waited, and nobody else'

# Groupings, MIG slices as shares of a card, types and look-alikes.
cat >types.txt <<'EOF'
JobID|User|Account|State|Submit|Start|End|AllocTRES
1|ann|nlp|COMPLETED|2026-08-01T00:00:00|2026-08-01T00:00:00|2026-08-01T01:00:00|gres/gpu:a100_1g.10gb=7,gres/gpu=7
2|bob|nlp|COMPLETED|2026-08-01T00:00:00|2026-08-01T00:00:00|2026-08-01T01:00:00|gres/gpu:a100=2,gres/gpu:t4=1,gres/gpu=3
3|bob|cv|COMPLETED|2026-08-01T00:00:00|2026-08-01T00:00:00|2026-08-01T01:00:00|gres/gpumem=80G,gres/gpuutil=100,cpu=4
4|bob|cv|COMPLETED|2026-08-01T00:00:00|2026-08-01T00:00:00|2026-08-01T01:00:00|gres/gpu:nosuch=1
EOF
run --store types.db record sacct --by accelerator,team types.txt -o json
expect_exit 0
expect_json '$.series[0].name' accelerator=A100-80GB,team=nlp '1g.10gb is a seventh of the card with 80 GB'
expect_json '$.series[0].peak' 1
expect_json '$.gpu_seconds' 18000
expect_json '$.warnings[0].message' "nobody knows the accelerator 'nosuch': it is kept under this name"

# How long jobs waited: 0, 600, 1200, 1800 and 7200 s of five that started, one that was cancelled, one that still waits.
cat >waits.txt <<'EOF'
JobID|User|State|Submit|Start|End|Elapsed|ReqTRES|AllocTRES
1|ann|COMPLETED|2026-09-01T10:00:00|2026-09-01T10:00:00|2026-09-01T12:00:00|02:00:00||gres/gpu:h100=1
2|ann|COMPLETED|2026-09-01T10:10:00|2026-09-01T10:20:00|2026-09-01T12:00:00|01:40:00||gres/gpu:h100=1
3|bob|COMPLETED|2026-09-01T10:20:00|2026-09-01T10:40:00|2026-09-01T12:00:00|01:20:00||gres/gpu:h100=1,gres/gpu:l4=1
4|bob|COMPLETED|2026-09-01T10:50:00|2026-09-01T11:20:00|2026-09-01T12:00:00|00:40:00||gres/gpu:h100=1
5|bob|COMPLETED|2026-09-01T10:00:00|2026-09-01T12:00:00|2026-09-01T13:00:00|01:00:00||gres/gpu:l4=1
6|bob|CANCELLED by 5|2026-09-01T10:00:00|Unknown|2026-09-01T10:30:00|00:00:00|gres/gpu:l4=4|
7|bob|PENDING|2026-09-01T11:30:00|Unknown|Unknown|00:00:00|gres/gpu:h100=8|
EOF
run --store waits.db record sacct --to 2026-09-01T13:00Z waits.txt -o json
expect_exit 0
run --store waits.db series --waits -o json
expect_exit 0
expect_is_json berth.waits/1
expect_json '$.waits[2].series' total
expect_json '$.waits[2].started' 5
expect_json '$.waits[2].mean_s' 2160.000
expect_json '$.waits[2].p50_s' 1200.000
expect_json '$.waits[2].p95_s' 6120.000	# 1800 + 0.8 x 5400
expect_json '$.waits[2].longest_s' 7200.000
expect_json '$.waits[2].waiting' 1
expect_json '$.waits[2].oldest_s' 5400.000
expect_json '$.waits[0].series' accelerator=H100
expect_json '$.waits[0].started' 4
expect_json '$.waits[0].p50_s' 900.000
run --store waits.db series --waits --samples 'accelerator=H*' -o csv --columns t,started,mean_s,longest_s,waiting,oldest_s --no-headers
expect_out '2026-09-01T10:00:00Z,3,600,1200,1,600'
expect_out '2026-09-01T11:00:00Z,1,1800,1800,1,1800'
expect_out '2026-09-01T12:00:00Z,0,,,1,5400'
expect_lines 3
# A correction: the fourth started at once.
sed 's/^4|bob|COMPLETED|2026-09-01T10:50:00|/4|bob|COMPLETED|2026-09-01T11:20:00|/' waits.txt >corrected.txt
run --store corrected.db record sacct --to 2026-09-01T13:00Z corrected.txt
run --store corrected.db series --waits accelerator=H100 -o json
expect_json '$.waits[0].mean_s' 450.000
run --store corrected.db series --waits --to 2026-08-01T00:00Z
expect_exit 2
run --store types.db series --waits total
expect_out_has '^total +2026-08-01 00:00 +3 +0s +0s +0s +0s +0 +-'

# A job of several types is one row, stored with all of its parts wherever it stands among thousands, and loses what a
# correction takes away.
several() {	# several TYPES
	echo 'JobID|State|Submit|Start|End|AllocTRES'
	awk 'BEGIN { for (i = 1; i < 16384; i++)
		print i "|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:00|2026-09-01T01:00:00|gres/gpu:l4=1" }'
	echo "99999|COMPLETED|2026-09-01T00:00:01|2026-09-01T00:00:00|2026-09-01T01:00:00|$1"
}
several gres/gpu:v100=5,gres/gpu:h100=3 >several.txt
run --store several.db record sacct several.txt -o json
expect_json '$.rows_read' 16384
expect_json '$.rows_stored' 16384
expect_json '$.gpu_seconds' 59007600	# (16383 + 5 + 3) x 3600
run --store several.db series --samples -o csv --columns gpus,series accelerator=V100 accelerator=H100 total
expect_out '5,accelerator=V100' 'the first part is there'
expect_out '3,accelerator=H100' 'so is the second'
expect_out '16391,total'
several gres/gpu:h100=3 >several.txt
run --store several.db record sacct several.txt -o json
expect_json '$.rows_stored' 1
expect_json '$.rows_replaced' 1
expect_json '$.rows_duplicate' 16383
run --store several.db record sacct several.txt -o json
expect_json '$.rows_duplicate' 16384
run --store several.db series --samples -o csv --columns gpus,series total
expect_out '16386,total' 'what the correction lacks is gone'

# A correction may leave nothing of a job; a job that never had GPUs is no business of the store.
cat >none1.txt <<'EOF'
JobID|State|Submit|Start|End|Elapsed|ReqTRES|AllocTRES
1|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:00|2026-09-01T01:00:00|01:00:00||gres/gpu:v100=2,gres/gpu:h100=4
2|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:00|2026-09-01T02:00:00|02:00:00||gres/gpu:v100=1
3|PENDING|2026-09-01T00:30:00|Unknown|Unknown|00:00:00|gres/gpu:v100=8|
4|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:00|2026-09-01T02:00:00|02:00:00||cpu=4
EOF
sed -e 's/^1|\(.*\)|[^|]*$/1|\1|cpu=4/' -e 's/^3|\(.*\)|[^|]*|$/3|\1|cpu=1|/' none1.txt >none2.txt
run --store none.db record sacct none1.txt -o json
expect_json '$.rows_stored' 3
expect_json '$.rows_without_gpus' 1
run --store none.db record sacct none2.txt -o json
expect_exit 0
expect_json '$.rows_replaced' 2
expect_json '$.rows_duplicate' 1
expect_json '$.rows_without_gpus' 1
run --store none.db record sacct none2.txt -o json
expect_json '$.rows_stored' 0
expect_json '$.rows_without_gpus' 3
run --store none.db series --samples -o csv --columns gpus,series total accelerator=H100 state=queued
expect_out '1,total' 'what is left is the second job'
expect_out '0,accelerator=H100'
expect_out '0,state=queued'
! grep -q '^[2-9]' "$out"
ok $? 'and nothing else'
run --store none.db store check
expect_exit 0

# Times that cannot be are refused by line, and no series of years comes of them.
cat >odd.txt <<'EOF'
JobID|State|Submit|Start|End|Elapsed|ReqTRES|AllocTRES
1|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:00|2026-09-01T01:00:00|01:00:00||gres/gpu=1
2|COMPLETED|2026-09-01T00:00:00|2026-09-01T00:00:00|2187-09-01T01:00:00|01:00:00||gres/gpu=1
3|RUNNING|2026-09-01T00:00:00|2027-09-01T00:00:00|Unknown|00:00:00||gres/gpu=1
4|COMPLETED|1970-01-03T00:00:00|1970-01-03T00:00:00|2026-09-01T01:00:00|01:00:00||gres/gpu=1
5|COMPLETED|2026-09-01T00:00:00|2026-09-31T00:00:00|2026-10-01T01:00:00|01:00:00||gres/gpu=1
6|PENDING|2026-09-01T00:00:00|2027-09-01T00:00:00|Unknown|00:00:00|gres/gpu=2|
7|CANCELLED by 0|2026-09-01T00:00:00|2026-09-01T00:30:00|2026-09-01T00:30:00|00:00:00|gres/gpu=4|
EOF
run --store odd.db record sacct odd.txt -o json
expect_exit 8
expect_json '$.rows_stored' 3
expect_json '$.rows_refused' 4
expect_json '$.warnings[0].line' 3
expect_json '$.warnings[0].message' 'End 2187-09-01T01:00:00Z lies more than a day ahead'
expect_json '$.warnings[1].line' 4
expect_json '$.warnings[2].message' 'Submit 1970-01-03T00:00:00Z lies before 1971: is it a time?'
expect_json '$.warnings[3].line' 6
run --store odd.db series --samples -o csv --columns gpus,series total state=queued
expect_out '1,total'
expect_out '4,state=queued' 'who was cancelled in the queue had waited: 2 for an hour, 4 for half of it'

# Names that are no UTF-8 could not be told apart; a grouping that no job can have is a typing error.
printf 'JobID|User|Start|End|AllocTRES\n1|M\374ller|2026-09-01T00:00:00|2026-09-01T01:00:00|gres/gpu:h100=2,gres/gpu:l4=1\n' \
	>latin.txt
printf '2|M\303\266ller|2026-09-01T00:00:00|2026-09-01T01:00:00|gres/gpu=4\n' >>latin.txt
run --store latin.db record sacct --by user latin.txt -o json
expect_exit 8
expect_json '$.rows_read' 2
expect_json '$.rows_stored' 1
expect_json '$.rows_refused' 1
expect_json '$.warnings[0].line' 2
expect_json '$.series[0].name' "$(printf 'user=M\303\266ller')"
run --store latin.db record sacct --by accelerater latin.txt
expect_exit 2
expect_err_has "jobs have no label 'accelerater': did you mean 'accelerator'"
run --store latin.db record sacct --by colour latin.txt
expect_exit 2
expect_err_has 'they have accelerator, user, account, team'
run record sacct --to 2031-01-01T00:00Z latin.txt
expect_exit 2
expect_err_has 'to lies more than a day ahead'
run record sacct --from 2026-09-02T00:00Z --to 2026-09-01T00:00Z latin.txt
expect_exit 2
printf '\377\376J\000o\000' >utf16.txt
run record sacct utf16.txt
expect_exit 1
expect_err_has 'utf16.txt: this is UTF-16'
printf 'JobID|User|Start|End|AllocTRES\n1|a|2026-09-01T00:00:00|2026-09-01T01:00:00|gres/gpu=2\n\000\n' >nul.txt
run record sacct nul.txt
expect_exit 1
expect_err_has 'nul.txt: line 3: a NUL byte'

# The step that a grouping was begun with is its step.
printf 'JobID|Start|End|AllocTRES\n1|2026-09-01T00:00:00|2026-09-01T00:01:00|gres/gpu=60\n' >step.txt
run --store step.db record sacct --step 1m step.txt
expect_exit 0
run --store step.db record sacct step.txt -o json
expect_exit 0
expect_json '$.rows_duplicate' 1
run --store step.db series -o csv --columns step_s,gpu_hours --no-headers total
expect_out '60,1'
run --store step.db record sacct --step 30m step.txt
expect_exit 1
expect_err_has 'are kept with a step of 1m, not 30m'

# What is no export at all.
printf '   JobID    JobName\n' >fixed.txt
run record sacct fixed.txt
expect_exit 1
expect_err_has 'export with sacct -P'
run record sacct nosuch.txt
expect_exit 1
gzip -c requeued.txt >requeued.txt.gz
run --store gz.db record sacct requeued.txt.gz -o json
expect_json '$.gpu_seconds' 9600
# A job twice in one export, first with two types and then with one: the last row counts, and nothing of the first stays.
cat >twice.txt <<'T'
JobID|JobIDRaw|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|AllocTRES|ReqTRES|NNodes
11|11|u|acc|gpu|RUNNING|2026-11-01T00:00:00|2026-11-01T01:00:00|2026-11-01T05:00:00|14400|gres/gpu=6,gres/gpu:v100=4,gres/gpu:a100=2,node=1|gres/gpu=6|1
11|11|u|acc|gpu|COMPLETED|2026-11-01T00:00:00|2026-11-01T01:00:00|2026-11-01T05:00:00|14400|gres/gpu=2,gres/gpu:a100=2,node=1|gres/gpu=2|1
T
run --store twice.db record sacct twice.txt -o json
expect_exit 0
run --store twice.db series -o csv --columns series,peak
expect_out 'accelerator=A100,2'
expect_out 'accelerator=V100,0'
expect_out 'total,2'
done_testing
