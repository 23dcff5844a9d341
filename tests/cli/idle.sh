#!/bin/sh
# Jobs whose accelerators do nothing: told of, then ended with a last checkpoint, by an nvidia-smi of ours; never by what nobody knows.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

printf '#!/bin/sh\n[ "$1" = --json ] || exit 2\ncat "%s/tests/cli/probe-l4.json"\n' "$TOP_SRCDIR" >"$TEST_TMP/probe"
mkdir "$TEST_TMP/bin"
printf '#!/bin/sh\necho "$*" >>"%s/asked"\n. "%s/smi"\n' "$TEST_TMP" "$TEST_TMP" >"$TEST_TMP/bin/nvidia-smi"
chmod +x "$TEST_TMP/probe" "$TEST_TMP/bin/nvidia-smi"
BERTH_PROBE=$TEST_TMP/probe
PATH=$TEST_TMP/bin:$PATH
export BERTH_PROBE PATH
touch "$TEST_TMP/alive"
smi() { printf '%s\n' "$1" >"$TEST_TMP/smi"; : >"$TEST_TMP/asked"; }
asked() { wc -l <"$TEST_TMP/asked"; }
mkdir -p .config/berth
config() {	# config LINE...
	cat >.config/berth/berth.yaml <<Y
schema: berth.config/1
accounts:
  - name: lab
    provider: static
    machines:
      - {name: m1, address: localhost, accelerator: L4, accelerator_count: 1, accelerator_memory_gib: 24, price_per_hour: 0.36}
Y
	for line; do printf '%s\n' "$line"; done >>.config/berth/berth.yaml
}
minute=0
tick() {	# tick [MINUTES]: and then so many minutes pass
	NOW=$(printf '2026-11-30T%02d:%02d:00Z' $((minute / 60)) $((minute % 60)))
	minute=$((minute + ${1:-2}))
	run tick
	[ "$status" -eq 0 ] || cat "$err"
}
state() { run job "$(cat id)" -o json; json '$.state'; }
job() {	# job NAME LINE...: runs until it is told to end, or the test has; a busy loop that saves half its work at the end
	name=$1
	shift
	{
		printf 'schema: berth.job/1\nname: %s\naccelerators: "L4:1"\nwork: 10h\n' "$name"
		for line; do printf '%s\n' "$line"; done
		printf 'run: |\n  trap "echo 0.5 >\\"\\$BERTH_PROGRESS_FILE\\"; touch %s/saved.%s; exit 1" TERM\n' "$TEST_TMP" "$name"
		printf '  while [ -e %s/alive ]; do :; done\n' "$TEST_TMP"
	} >job.yaml
	run submit job.yaml
	cut -d' ' -f1 "$out" >id
	tries=0
	while [ "$(state)" != running ] && [ $tries -lt 20 ]; do tick; tries=$((tries + 1)); done
	start=$minute
}
events() { run events -n 0 -t "$1" -o csv --columns message --no-headers; wc -l <"$out"; }
end() { run job cancel "$(cat id)"; tick; tick; }

# Without idle: nothing is asked of the machine, and nothing told.
config
run init --no-prices
run prices refresh
smi 'echo 0'
job quiet 'checkpoint: {size: 8GB, write: 10s}'
tick 120
tick
[ "$(asked)" -eq 0 ] && [ "$(state)" = running ]
ok $? "without a limit nvidia-smi is not asked"
end

# A job that keeps the machine busy and its GPU idle: told of after 10 minutes, ended after 20, with its checkpoint.
config 'idle: {stop: 20m, alert: 10m}'
job loop 'checkpoint: {size: 8GB, write: 10s}'
while [ $minute -lt $((start + 10)) ]; do tick; done
[ "$(state)" = running ] && [ "$(events job.idle)" -eq 0 ]
ok $? "not within 10 minutes"
[ "$(asked)" -ge 5 ] && grep -Fxq -e '--query-gpu=utilization.gpu --format=csv,noheader,nounits' "$TEST_TMP/asked"
ok $? "each tick asks nvidia-smi once ($(asked) times)"
tick
run job "$(cat id)" -o json
since=$(json '$.idle.since')
[ "$(events job.idle)" -eq 1 ]
ok $? "then it is told of, once"
expect_out_has 'worked less than 5 % of the time since 2026-11-30T[0-9:]*Z \(10m\), 0 % now: it is ended at 2026-11-30T'
run job "$(cat id)" -o json
expect_json '$.idle.busy' 0
expect_json '$.idle.stop_at' "$(printf '2026-11-30T%02d:%02d:00Z' $(((start + 20) / 60)) $(((start + 20) % 60)))"
run job "$(cat id)"
expect_out_has '^  idle       since .*: it is ended at 2026'
tick 0
[ "$(events job.idle)" -eq 1 ]
ok $? "and not again"
smi 'echo 3'
while [ $minute -le $((start + 20)) ] && [ "$(state)" = running ]; do before=$minute; tick; done
[ "$(state)" = cancelled ] && [ "$before" -eq $((start + 20)) ]
ok $? "20 minutes after its first reading it is ended, since $since"
expect_json '$.progress' 0.5000 "after a last checkpoint"
expect_json '$.attempts[0].state' cancelled
expect_out_has '"reason": "idle: its accelerators have worked less than 5 % of the time since .* \(20m\), 3 % now; stopped after a last checkpoint'
[ -e "$TEST_TMP/saved.loop" ] && [ "$(events job.idle_stopped)" -eq 1 ]
ok $? "its own hook ran, as before a preemption"
run instances --all -o json
expect_out_has '"end_reason": "idle"'
! grep -q '"state": "ready"' "$out"
ok $? "and its machine is given back"
run explain "$(cat id)" --kind idle
expect_out_has 'stopped after a last checkpoint, and berth job retry queues it again'
run explain "$(cat id)" --kind idle -o json
expect_json '$.decisions[0].decision.event' job.idle_stopped
run job retry "$(cat id)"
expect_exit 0
tick && tick && tick
[ "$(state)" = running ]
ok $? "it can be queued again"
expect_json '$.progress' 0.5000 "and goes on from there"
end

# Work now and then keeps it; of several GPUs the busiest counts.
smi 'printf "0\n0\n"'
job burst
while [ $minute -lt $((start + 16)) ]; do tick; done
smi 'printf "0\n7\n"'
tick
smi 'printf "0\n0\n"'
while [ $minute -lt $((start + 34)) ]; do tick; done
[ "$(state)" = running ]
ok $? "a job that worked in between is left alone"
run job "$(cat id)" -o json
expect_json '$.idle.alert_at' "$(printf '2026-11-30T%02d:%02d:00Z' $(((start + 28) / 60)) $(((start + 28) % 60)))"
end

# What nobody can say ends nothing, and is told once.
unknown=$(events job.idle_unknown)
for answer in 'exit 9' 'echo "[N/A]"' 'echo 0; echo "[Unknown Error]"' ':' 'echo 101'; do
	smi "$answer"
	job blind
	while [ $minute -lt $((start + 30)) ]; do tick 4; done
	unknown=$((unknown + 1))
	[ "$(state)" = running ] && [ "$(events job.idle_unknown)" -eq $unknown ]
	ok $? "an nvidia-smi of '$answer' ends nothing and is told once"
	end
done
expect_exit 0
run events -n 1 -t job.idle_unknown
expect_out_has 'nothing tells whether its accelerators work \(nvidia-smi is missing there, gives no number or does not answer\)'
smi "echo \$\$ >$TEST_TMP/hung; exec sleep 600"
job hangs
tick && tick && tick
[ "$(asked)" -eq 1 ] && [ "$(state)" = running ]
ok $? "one that hangs is asked once, not at each tick"
kill "$(cat "$TEST_TMP/hung")"
tries=0
while [ ! -e "$HOME/.berth/$(cat id)/smi" ] && [ $tries -lt 40 ]; do tries=$((tries + 1)); pause $tries; done
smi 'echo 0'
tick && tick
[ "$(asked)" -eq 2 ]
ok $? "and again once it is gone"
end

# A job's own limit, and off.
smi 'echo 0'
job never 'idle_limit: off'
while [ $minute -lt $((start + 30)) ]; do tick 5; done
[ "$(state)" = running ] && [ "$(asked)" -eq 0 ]
ok $? "idle_limit: off is never asked about, nor ended"
expect_json '$.idle_limit_s' 0
end
config
job own 'idle_limit: 16m'
alerts=$(events job.idle)
while [ $minute -le $((start + 18)) ] && [ "$(state)" = running ]; do before=$minute; tick; done
[ "$(state)" = cancelled ] && [ "$before" -eq $((start + 16)) ] && [ "$(events job.idle)" -eq $((alerts + 1)) ]
ok $? "idle_limit: 16m without idle in the config, told of before"
run job "$(cat id)" -o json
expect_json '$.idle_limit_s' 960
expect_json '$.progress' 0.0000 "one that cannot resume has no checkpoint"
expect_out_lacks 'last checkpoint'

# Told of alone; and a replica of a fleet is the fleet's to take away.
config 'idle: {below: 0.5}'
smi 'echo 49'
job told
alerts=$(events job.idle) ended=$(events job.idle_stopped)
while [ $minute -le $((start + 130)) ]; do tick 10; done
[ "$(state)" = running ] && [ "$(events job.idle)" -eq $((alerts + 1)) ]
ok $? "without stop it is told of, and goes on"
run events -n 1 -t job.idle
expect_out_has 'less than 50 % of the time .* 49 % now: nothing ends it, as no limit is set'
end
cp job.yaml replica.yaml
smi 'echo 0'
config 'idle: {stop: 20m}' 'fleets:' '  - {name: told, job: ../../replica.yaml, min: 1, max: 1, unit: 8, metric: {series: load}}'
tick && tick && tick
run jobs -o csv --columns id,state --no-headers
sed -n 's/,running$//p' "$out" >id
[ "$(state)" = running ]
ok $? "a replica runs"
start=$minute alerts=$(events job.idle)
while [ $minute -le $((start + 40)) ]; do tick 4; done
[ "$(state)" = running ] && [ "$(events job.idle)" -eq $((alerts + 1)) ] && [ "$(events job.idle_stopped)" -eq "$ended" ]
ok $? "and is told of, but left to its fleet"
run job "$(cat id)" -o json
expect_json '$.idle.stop_at' null
rm -f "$TEST_TMP/alive"

# A gang is idle only if every machine of it is; then all are ended, each with its own hook.
config
sed -i 's/^      - {name: m1\(.*\)/&\n      - {name: m2\1/' .config/berth/berth.yaml
echo 'idle: {stop: 20m}' >>.config/berth/berth.yaml
run prices refresh
end	# the replica, whose fleet is no more
gang() {	# gang ANSWER: of rank 1; rank 0 is asked first, and idle
	touch "$TEST_TMP/alive"
	smi "[ \$((\$(wc -l <$TEST_TMP/asked) % 2)) -eq 1 ] && echo 0 || $1"
	job pair 'nodes: 2' 'checkpoint: {size: 8GB, write: 10s}'
	rm -f "$TEST_TMP"/saved.pair
	while [ $minute -le $((start + 24)) ]; do tick 4; done
}
gang 'echo 60'
[ "$(state)" = running ] && [ $(($(asked) % 2)) -eq 0 ]
ok $? "a gang with one machine at work is not idle"
end
gang 'exit 1'
[ "$(state)" = running ]
ok $? "nor one with a machine that tells nothing"
end
gang 'echo 0'
[ "$(state)" = cancelled ] && [ -e "$TEST_TMP/saved.pair" ]
ok $? "one with none is ended"
awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" >"$TEST_TMP/paths"
[ "$(awk -F '\t' '/attempts\[[01]\].state/ && $2 == "cancelled"' "$TEST_TMP/paths" | wc -l)" -eq 2 ]
ok $? "on both machines"
run instances
[ "$(tail -n +2 "$out" | wc -l)" -eq 0 ]
ok $? "which are given back"
rm -f "$TEST_TMP/alive"

# Faults of the files, by line and key.
for bad in 'idle: {stop: 0s}' 'idle: {stop: soon}' 'idle: {below: 2}' 'idle: {below: 0}' 'idle: {stop: 10m, alert: 10m}' 'idle: {after: 3h}' 'idle: [1]'; do
	config "$bad"
	run tick
	expect_exit 1 "$bad"
	expect_err_has "key 'idle"
	expect_err_has 'berth.yaml:7:[0-9]+'
done
for bad in 'idle_limit: 0s' 'idle_limit: never'; do
	printf 'schema: berth.job/1\nname: x\naccelerators: "L4:1"\nwork: 1h\nrun: x\n%s\n' "$bad" >bad.yaml
	run submit bad.yaml
	expect_exit 1 "$bad"
	expect_err_has "key 'idle_limit'"
	expect_err_has 'bad.yaml:6:[0-9]+'
done
done_testing
