#!/bin/sh
# A job that really runs: on this machine as "localhost", then on another one behind an ssh of ours that shows what it
# was asked. The probe is a script that prints a sound L4; events go to a file and to a webhook.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

printf '#!/bin/sh\n[ "$1" = --json ] || exit 2\ncat "%s/tests/cli/probe-l4.json"\n' "$TOP_SRCDIR" >"$TEST_TMP/probe"
chmod +x "$TEST_TMP/probe"
BERTH_PROBE=$TEST_TMP/probe
export BERTH_PROBE
mkdir -p .config/berth
config() {	# config ADDRESS
	cat >.config/berth/berth.yaml <<Y
schema: berth.config/1
accounts:
  - name: lab
    provider: static
    machines:
      - {name: m1, address: $1, accelerator: L4, accelerator_count: 1, accelerator_memory_gib: 24, price_per_hour: 0.36}
sinks:
  - {name: log, file: events.jsonl}
Y
}
job() {	# job NAME TEXT [LINE]
	cat >job.yaml <<Y
schema: berth.job/1
name: $1
accelerators: "L4:1"
work: 1h
${3-}
run: |
  $2
Y
	"$BERTH" --now "$NOW" submit job.yaml | cut -d' ' -f1 >id
}
ticks() {	# ticks STATE: a minute at a time until the job is there
	n=0
	while [ $n -lt 40 ]; do
		n=$((n + 1))
		NOW=$(printf '2026-11-30T%02d:%02d:00Z' $((minute / 60)) $((minute % 60)))
		minute=$((minute + 1))
		run -q tick
		run job "$(cat id)" -o json
		[ "$(json '$.state')" = "$1" ] && return 0
		pause $n
	done
}
minute=1

config localhost
run init --no-prices
run prices refresh
expect_exit 0
job proof 'printf "%s %s\n" "$BERTH_JOB" "it'"'"'s here" >proof; echo 0.5 >"$BERTH_PROGRESS_FILE"'
cd "$HOME" || exit 99
ticks done
expect_json '$.state' done "the job ran on this machine"
expect_json '$.attempts[0].verdict' accept
[ "$(cat proof 2>/dev/null || cat ./*/proof)" = "$(cat id) it's here" ]
ok $? "its shell text ran, with its id in the environment"
[ "$(cat ".berth/$(cat id)/status")" = 0 ]
ok $? "its exit status is kept beside its log"

job told 'echo "$BERTH_CHECKPOINT_INTERVAL $(cat "$BERTH_CHECKPOINT_FILE")" >told'
ticks done
[ "$(cat told 2>/dev/null || cat ./*/told)" = '0 0' ]
ok $? "a job that cannot resume is told of no checkpoints"
job resumes 'echo "$BERTH_CHECKPOINT_INTERVAL $(cat "$BERTH_CHECKPOINT_FILE")" >told' 'checkpoint: {size: 8GB, write: 10s}'
ticks done
[ "$(cat told 2>/dev/null || cat ./*/told)" = '7200 7200' ]
ok $? "one that can, on a machine that nobody takes away, of the longest interval"

job wrong 'exit 3'
ticks failed
expect_json '$.state' failed "a job that ends with a status fails"
run job "$(cat id)"
expect_out_has 'status 3'

# Each try runs anew, though the folder of the one before is still there.
job again 'echo try >>tries; [ "$(wc -l <tries)" -eq 3 ]'
ticks done
expect_json '$.tries' 2 "a job that fails twice"
[ "$(cat tries ./*/tries 2>/dev/null | wc -l)" -eq 3 ]
ok $? "ran three times"

# A machine that is not what it is billed as never gets a job.
sed 's/"name": "L4"/"name": "Tesla T4"/; s/"cc": "8.9"/"cc": "7.5"/; s/"sms": 58/"sms": 40/' "$TOP_SRCDIR/tests/cli/probe-l4.json" >t4.json
printf '#!/bin/sh\ncat "%s/t4.json"\n' "$HOME" >"$TEST_TMP/probe"
job honest 'echo ran >honest'
run -q tick
minute=$((minute + 1)) NOW=2026-11-30T06:00:00Z
run -q tick
run job "$(cat id)"
expect_out_has 'rejected' "a T4 that is billed as an L4 is rejected"
[ ! -e honest ]
ok $? "and the job did not run on it"
run job cancel "$(cat id)"

# Over ssh: what it is asked, and the probe that travels with it.
mkdir "$TEST_TMP/bin" "$TEST_TMP/far"
printf '#!/bin/sh\nprintf "%%s\\n" "$*" >>"%s/asked"\nHOME="%s/far" exec sh -s\n' "$TEST_TMP" "$TEST_TMP" >"$TEST_TMP/bin/ssh"
printf '#!/bin/sh\ncat <<"J"\n%s\nJ\n' "$(cat "$TOP_SRCDIR/tests/cli/probe-l4.json")" >"$TEST_TMP/probe"
chmod +x "$TEST_TMP/bin/ssh"
PATH=$TEST_TMP/bin:$PATH
config gpu01.lab.example
NOW=2026-11-30T12:00:00Z minute=721
run prices refresh
job far 'echo "$HOME" >where'
ticks done
expect_json '$.state' done "the job ran on the machine behind ssh"
[ -e "$TEST_TMP/far/.berth/$(cat id)/out.log" ]
ok $? "its folder is on that machine"
grep -q 'BatchMode=yes.*StrictHostKeyChecking=yes.* gpu01.lab.example sh -s$' "$TEST_TMP/asked"
ok $? "ssh never asks, and never trusts a new key"
! grep -q 'echo' "$TEST_TMP/asked"
ok $? "the job's text is not on the command line"

# The outbox: every event reached the file, in order, as CloudEvents.
run events -n 0 -o csv --columns id --no-headers
want=$(wc -l <"$out")
got=$(wc -l <"$HOME/.config/berth/events.jsonl")
[ "$got" -gt 5 ] && [ "$got" -le "$want" ]
ok $? "the sink got $got of $want events (those since it was configured)"
! grep -vq '^{"specversion":"1.0","id":"[0-9]*","source":"berth/[0-9a-f]*","type":"berth\.' "$HOME/.config/berth/events.jsonl"
ok $? "each line is a CloudEvent"
done_testing
