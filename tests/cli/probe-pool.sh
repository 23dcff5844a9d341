#!/bin/sh
# One machine that the probe rejects is not its whole pool: another of the pool is tried, at once where the machines have
# names, after a hold where the cloud does not say which one it will be.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

# The first time it runs, the probe says something that cannot be read.
cat >"$TEST_TMP/probe" <<S
#!/bin/sh
if [ -e "$TEST_TMP/bad" ]; then rm "$TEST_TMP/bad"; echo nonsense; exit 0; fi
cat "$TOP_SRCDIR/tests/cli/probe-l4.json"
S
chmod +x "$TEST_TMP/probe"
BERTH_PROBE=$TEST_TMP/probe
export BERTH_PROBE
mkdir -p .config/berth
own() {	# own NAME...: so many machines of one kind
	printf 'schema: berth.config/1\naccounts:\n  - name: lab\n    provider: static\n    machines:\n'
	for m in "$@"; do
		printf '      - {name: %s, address: localhost, accelerator: L4, accelerator_count: 1, accelerator_memory_gib: 24, price_per_hour: 0.36}\n' "$m"
	done
}
job() {	# job NAME
	printf 'schema: berth.job/1\nname: %s\naccelerators: "L4:1"\nwork: 1h\nrun: "true"\n' "$1" >job.yaml
	"$BERTH" --now "$NOW" submit job.yaml | cut -d' ' -f1 >id
}
tick() {	# tick TIME
	NOW=2026-11-30T$1:00Z
	run tick
}
done_by() {	# done_by HH MM: from then a minute at a time until the job is done
	n=0
	while [ $n -lt 25 ]; do
		n=$((n + 1))
		tick "$1:$(printf %02d $((n + $2)))"
		run job "$(cat id)" -o json
		[ "$(json '$.state')" = done ] && return 0
		pause $n
	done
}

own card1 card2 >.config/berth/berth.yaml
run init --no-prices
run prices refresh
: >"$TEST_TMP/bad"
job first
done_by 00 0
expect_json '$.state' done "the other machine of the pool runs the job, minutes after the first was rejected"
expect_json '$.attempts[0].state' rejected
run instances --all -o csv --columns ref,end_reason --no-headers
grep -q '^card1~.*,probe_rejected' "$out" && grep -q '^card2~' "$out"
ok $? "by name: $(tr '\n' ' ' <"$out")"
job second
done_by 00 28
run instances --all -o csv --columns ref --no-headers
[ "$(grep -c '^card1~' "$out") $(grep -c '^card2~' "$out")" = '1 2' ]
ok $? "the next job has the good one again"

# The only one: it is left out for an hour, is told by name, and is tried again then.
rm -rf .local
own card1 >.config/berth/berth.yaml
NOW=2026-11-30T00:00:00Z
run init --no-prices
run prices refresh
: >"$TEST_TMP/bad"
job only
tick 00:01
tick 00:02
tick 00:03
run events --limit 50
expect_out_has 'found bad within the last hour \(card1\)'
done_by 03 0
expect_json '$.state' done "an only machine is tried again after that"

# A cloud that does not say which machine it will be: half of them are bad.
rm -rf .local .config/berth
mkdir -p .config/berth
printf 'schema: berth.config/1\naccounts:\n  - {name: sim, provider: replay, trace: sim.trace, seed: 5}\n' >.config/berth/berth.yaml
cat >.config/berth/sim.trace <<'Y'
schema: berth.replay/1
start: 2026-11-30T00:00:00Z
pools:
  - {region: south, zone: south-a, instance_type: l4x1, accelerator: L4, accelerator_count: 1, accelerator_memory_gib: 24,
     startup: 2m, broken: 0.7, on_demand: {price: 0.80, capacity: 3}}
Y
NOW=2026-11-30T00:00:00Z
run init --no-prices
run prices refresh
job half
n=0
while [ $n -lt 12 ]; do	# until a machine was rejected
	n=$((n + 1))
	tick "$(printf '00:%02d' $n)"
	run job "$(cat id)" -o json
	[ "$(json '$.attempts[0].state')" = rejected ] && break
done
expect_json '$.attempts[0].state' rejected "a machine of the pool was rejected"
run place
expect_out_has 'hold after a probe rejected'
expect_out_has 'the first hold ends 2026-11-30T00:[12][0-9]'
run place -o json
expect_json '$.jobs[0].refused.probe_failed' 1
run tick --until +30h
NOW=2026-12-01T07:00:00Z
run job "$(cat id)" -o json
expect_json '$.state' done "in the end a good one was had"
done_testing
