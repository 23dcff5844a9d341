#!/bin/sh
# A gang of own machines behind an ssh of ours: one of them that does not answer is told of, and left alone; one that no
# longer knows the job is replaced, and every rank begins again with the new list of machines.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir -p .config/berth "$TEST_TMP/bin"
printf '#!/bin/sh\nwhile [ "$1" != sh ]; do host=$1; shift; done\n[ ! -e "%s/deaf-$host" ] || { echo "ssh: connect to host $host: No route to host" >&2; exit 255; }\nmkdir -p "%s/far-$host"\nHOME="%s/far-$host" exec sh -s\n' \
	"$TEST_TMP" "$TEST_TMP" "$TEST_TMP" >"$TEST_TMP/bin/ssh"
printf '#!/bin/sh\ncat <<"J"\n%s\nJ\n' "$(cat "$TOP_SRCDIR/tests/cli/probe-l4.json")" >"$TEST_TMP/probe"
chmod +x "$TEST_TMP/bin/ssh" "$TEST_TMP/probe"
PATH=$TEST_TMP/bin:$PATH
BERTH_PROBE=$TEST_TMP/probe
export BERTH_PROBE
cat >.config/berth/berth.yaml <<'Y'
schema: berth.config/1
accounts:
  - name: lab
    provider: static
    machines:
Y
for m in m1 m2 m3 m4 m5; do
	echo "      - {name: $m, address: $m.lab.example, accelerator: L4, accelerator_count: 1, accelerator_memory_gib: 24, price_per_hour: 0.36}" >>.config/berth/berth.yaml
done
cat >job.yaml <<'Y'
schema: berth.job/1
name: trio
accelerators: "L4:1"
nodes: 3
work: 1h
checkpoint: {size: 1GB, write: 10s}
replace_lost: 20m
run: |
  echo "$RANK/$WORLD_SIZE $MASTER_ADDR $BERTH_NODES $(wc -l <"$BERTH_HOSTFILE" | tr -d ' ')" >>"$HOME/told"
  echo 0.25 >"$BERTH_PROGRESS_FILE"
  while [ ! -e "$HOME/go" ]; do sleep 0.2; done
Y
minute=0
tick() {
	minute=$((minute + 1))
	NOW=$(printf '2026-11-30T%02d:%02d:00Z' $((minute / 60)) $((minute % 60)))
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
count() {	# count EVENT: how many there are
	"$BERTH" --now "$NOW" events -n 0 -o csv --columns type --no-headers | grep -c "^$1\$"
}
told() {	# told HOST N: until its rank was begun so often
	n=0
	until [ "$(cat "$TEST_TMP/far-$1.lab.example/told" 2>/dev/null | wc -l | tr -d ' ')" = "$2" ]; do
		n=$((n + 1))
		[ $n -lt 60 ] || return 1
		pause $n
	done
}

run init --no-prices
run prices refresh
"$BERTH" --now "$NOW" submit job.yaml | cut -d' ' -f1 >id
ticks running
expect_json '$.state' running "three own machines run one job"
expect_json '$.machines_up' 3
told m1 1 && told m2 1 && told m3 1
ok $? "each rank has begun"

# One that does not answer is left alone, and told of after ten minutes.
: >"$TEST_TMP/deaf-m2.lab.example"
for i in 1 2 3 4 5 6 7 8 9 10; do tick; done
[ "$(count job.node_silent)" = 0 ]
ok $? "a machine that has not answered for nine minutes is left alone"
for i in 1 2 3; do tick; done
[ "$(count job.node_silent)" = 1 ]
ok $? "after ten it is told of, once"
run job "$(cat id)" -o json
expect_json '$.state' running "and the job is left as it is"
rm "$TEST_TMP/deaf-m2.lab.example"
tick
[ "$(count job.node_answers) $(count job.node_lost)" = '1 0' ]
ok $? "it is told of when it answers again"

# One that no longer knows the job, as after a new start from a fresh disk.
kill -9 "-$(cat "$TEST_TMP/far-m2.lab.example/.berth/$(cat id).1/pid")" 2>/dev/null
rm -rf "$TEST_TMP/far-m2.lab.example/.berth"
first=$(cat "$TEST_TMP/far-m1.lab.example/.berth/$(cat id)/pid")
tick
[ "$(count job.node_lost) $(count job.node_replaced)" = '1 1' ]
ok $? "one that no longer knows the job is replaced"
! kill -0 "$first" 2>/dev/null || grep -q '^State:.*Z' "/proc/$first/status"
ok $? "the work on the others is stopped meanwhile"
: >"$TEST_TMP/deaf-m2.lab.example" # it is free and sound as far as is known, until its probe cannot be run
ticks running
[ "$(count job.node_lost) $(count job.node_replaced)" = '2 2' ]
ok $? "one in its place that fails its probe is replaced as well"
told m1 2 && told m3 2 && told m4 1
ok $? "then every rank begins again"
[ "$(tail -n 1 "$TEST_TMP/far-m1.lab.example/told")" = '0/3 m1.lab.example m1.lab.example,m4.lab.example,m3.lab.example 3' ]
ok $? "rank 0 knows the new one: $(tail -n 1 "$TEST_TMP/far-m1.lab.example/told")"
[ "$(tail -n 1 "$TEST_TMP/far-m4.lab.example/told")" = '1/3 m1.lab.example m1.lab.example,m4.lab.example,m3.lab.example 3' ]
ok $? "which has the rank that was lost: $(tail -n 1 "$TEST_TMP/far-m4.lab.example/told")"
[ "$(tail -n 1 "$TEST_TMP/far-m3.lab.example/told")" = '2/3 m1.lab.example m1.lab.example,m4.lab.example,m3.lab.example 3' ]
ok $? "and the last keeps its own"
for m in m1 m3 m4; do : >"$TEST_TMP/far-$m.lab.example/go"; done
ticks done
expect_json '$.state' done "the job is done"
rm "$TEST_TMP/deaf-m2.lab.example"
tick
tick
run instances -o csv --columns id --no-headers
[ "$(wc -l <"$out" | tr -d ' ')" = 0 ]
ok $? "and nothing is held"

# One that is kept does not answer when its old work is to be ended: the wait for it has an end, as that for another.
rm -rf "$TEST_TMP"/far-*
sed -i 's/^name: .*/name: deaf/' job.yaml
"$BERTH" --now "$NOW" submit job.yaml | cut -d' ' -f1 >id
ticks running
told m1 1 && told m3 1 && told m4 1
ok $? "the next job has begun on m1, m3 and m4"
for i in 1 2 3 4 5; do
	tick
	run job "$(cat id)" -o json
	[ "$(json '$.progress')" != 0.2500 ] || break
	pause $i
done
expect_json '$.progress' 0.2500 "a quarter of it is safe"
silent=$(count job.node_silent)
: >"$TEST_TMP/deaf-m4.lab.example"
kill -9 "-$(cat "$TEST_TMP/far-m3.lab.example/.berth/$(cat id).1/pid")" 2>/dev/null
rm -rf "$TEST_TMP/far-m3.lab.example/.berth"
lost=$((minute + 1))
while [ $minute -lt $((lost + 19)) ]; do
	tick
	[ $minute != $((lost + 9)) ] || was=$(count job.node_silent)
done
[ "$((was - silent)) $(($(count job.node_silent) - silent))" = '0 1' ]
ok $? "a kept machine that is silent is told of after ten minutes"
run instances -o csv --columns id --no-headers
[ "$(wc -l <"$out" | tr -d ' ')" = 3 ]
ok $? "one is rented in place of the lost one, and the gang is held for nineteen minutes"
run job "$(cat id)" -o json
expect_json '$.state' placed
case $(json '$.reason') in *'of rank 2 does not answer; the others wait for it until 2026-11-30T'*) ;; *) false ;; esac
ok $? "the job says what it waits for: $(json '$.reason')"
tick
[ "$(count job.no_capacity)" = 1 ]
ok $? "after twenty all are given back"
ticks running
expect_json '$.state' running "and the job runs on machines that answer"
expect_json '$.progress' 0.2500 "from its checkpoint"
case " $(cat "$TEST_TMP"/far-m[12345].lab.example/told | tail -n 1) " in *m4*) false ;; esac
ok $? "without the one that does not"
for m in m1 m2 m3 m5; do mkdir -p "$TEST_TMP/far-$m.lab.example"; : >"$TEST_TMP/far-$m.lab.example/go"; done
ticks done
expect_json '$.state' done "where it is done"
kill -9 "-$(cat "$TEST_TMP/far-m4.lab.example/.berth/$(cat id).2/pid")" 2>/dev/null # what the deaf one still ran
done_testing
