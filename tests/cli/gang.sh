#!/bin/sh
# A job that spans machines: rented, started and ended as one, on own machines and on a replayed cloud. Both own machines
# are this one, so that the ranks also share a home. The probe is a script that prints a sound L4.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

printf '#!/bin/sh\ncat "%s/tests/cli/probe-l4.json"\n' "$TOP_SRCDIR" >"$TEST_TMP/probe"
chmod +x "$TEST_TMP/probe"
BERTH_PROBE=$TEST_TMP/probe
export BERTH_PROBE
mkdir -p .config/berth
cat >.config/berth/berth.yaml <<'Y'
schema: berth.config/1
accounts:
  - name: lab
    provider: static
    machines:
      - {name: m1, address: localhost, accelerator: L4, accelerator_count: 1, accelerator_memory_gib: 24, price_per_hour: 0.36}
      - {name: m2, address: localhost, accelerator: L4, accelerator_count: 1, accelerator_memory_gib: 24, price_per_hour: 0.36}
Y
job() {	# job NAME NODES TEXT [LINE]
	cat >job.yaml <<Y
schema: berth.job/1
name: $1
accelerators: "L4:1"
nodes: $2
work: 1h
${4-}
run: |
  $3
Y
	"$BERTH" --now "$NOW" submit job.yaml | cut -d' ' -f1 >id
}
minute=1
tick() {
	NOW=$(printf '2026-11-30T%02d:%02d:00Z' $((minute / 60)) $((minute % 60)))
	minute=$((minute + 1))
	run -q tick
}
ticks() {	# ticks STATE: a minute at a time until the job is there
	n=0
	while [ $n -lt 40 ]; do
		n=$((n + 1))
		tick
		run job "$(cat id)" -o json
		[ "$(json '$.state')" = "$1" ] && return 0
		pause $n
	done
}
ended() {	# ended PID: what was killed may take a moment, and nobody may have waited for it yet
	n=0
	while kill -0 "$1" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; do
		n=$((n + 1))
		[ $n -lt 40 ] || return 1
		pause $n
	done
}
alive() {
	run instances -o csv --columns id --no-headers
	wc -l <"$out" | tr -d ' '
}

run init --no-prices
run prices refresh
job pair 2 'echo "$RANK/$WORLD_SIZE $NODE_RANK/$NNODES $MASTER_ADDR:$MASTER_PORT $BERTH_NODES $BERTH_GPUS_PER_NODE $(grep -c slots=1 "$BERTH_HOSTFILE")" >"$HOME/rank$RANK"'
ticks done
expect_json '$.state' done "a job of two machines ran"
expect_json '$.attempts[0].state' done
expect_json '$.attempts[1].state' done "each machine has its attempt"
[ "$(cat rank0)" = '0/2 0/2 localhost:29500 localhost,localhost 1 2' ]
ok $? "rank 0 is told its place: $(cat rank0)"
[ "$(cat rank1)" = '1/2 1/2 localhost:29500 localhost,localhost 1 2' ]
ok $? "rank 1 as well, though both share a home: $(cat rank1)"
tick
[ "$(alive)" = 0 ]
ok $? "both machines are given back"

job three 3 'echo ran >"$HOME/three"'
tick
run job "$(cat id)"
expect_out_has 'queued' "three machines where there are two are not placed"
[ "$(alive)" = 0 ]
ok $? "and none is rented for them"
run job cancel "$(cat id)"

# One rank fails: the other is stopped, and its machine is free.
job half 2 'if [ "$RANK" = 1 ]; then exit 7; fi; sleep 600; echo survived >"$HOME/survived"' 'retries: 0'
ticks failed
expect_json '$.state' failed "a rank that fails ends the job"
expect_json '$.attempts[0].state' failed
expect_json '$.attempts[1].state' failed
json '$.attempts[0].reason' | grep -q 'with instance .* of its gang: the job ended with status 7'
ok $? "the other says with whom it ended"
tick
[ "$(alive)" = 0 ]
ok $? "nothing is held any more"
ended "$(cat ".berth/$(cat id)/pid")"
ok $? "the rank that ran on was stopped before its machine was given back"

# A cancelled job leaves nothing behind on a machine that goes on running.
job endless 1 'sleep 600'
ticks running
run job cancel "$(cat id)"
tick
ended "$(cat ".berth/$(cat id)/pid")"
ok $? "a cancelled job is ended on an own machine"

# Progress is that of the rank that is furthest behind, of those that tell any.
job behind 2 'if [ "$RANK" = 1 ]; then echo 0.25 >"$BERTH_PROGRESS_FILE"; else echo 0.5 >"$BERTH_PROGRESS_FILE"; fi; : >"$HOME/told$RANK"; sleep 600' 'checkpoint: {size: 1GB, write: 10s}'
ticks running
n=0
until [ -e told0 ] && [ -e told1 ]; do
	n=$((n + 1))
	[ $n -lt 60 ] || break
	pause $n
done
tick
run job "$(cat id)" -o json
expect_json '$.progress' 0.2500 "the progress of a gang is that of its last"
run job cancel "$(cat id)"
tick
[ "$(alive)" = 0 ]
ok $? "a cancelled gang holds nothing"

# The budget counts all machines: 2 x 0.36 USD for an hour do not fit into 0.50, and none of the two is rented.
run budget set --cap 0.50 --period month all
job dear 2 'true'
tick
run job "$(cat id)"
expect_out_has 'budget' "the money of all machines is asked for at once"
[ "$(alive)" = 0 ]
ok $? "and without it none is rented"
done_testing
