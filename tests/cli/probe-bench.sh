#!/bin/sh
# A user's own benchmark as a measurement: of this machine, of one that is reached by ssh, and out of berth.yaml.
. "$TOP_SRCDIR/tests/cli/lib.sh"

if "$BERTH_PROBE" --json --only launch 2>/dev/null | grep -q '"mode":"gpu"'; then
	echo "1..0 # SKIP this machine has a GPU"
	exit 0
fi
mkdir "$TEST_TMP/bin"
# an ssh that goes no farther than this machine: the words of the real one are kept
cat >"$TEST_TMP/bin/ssh" <<'S'
#!/bin/sh
echo "$*" >>"$SSH_LOG"
while [ $# -gt 0 ]; do
	case $1 in
	-o) shift 2 ;;
	--) shift ;;
	-*) shift ;;
	*) break ;;
	esac
done
[ "$1" = lost ] && { echo "ssh: connect to host lost: No route to host" >&2; exit 255; }
shift
exec sh -c "$*"
S
chmod +x "$TEST_TMP/bin/ssh"
PATH=$TEST_TMP/bin:$PATH
SSH_LOG=$TEST_TMP/ssh.log
export PATH SSH_LOG

run probe --here --measure-command 'echo 600 TFLOP/s' --measure-name gemm_bf16 -o json
expect_exit 0
grep -q '"name": "gemm_bf16"' "$out"; ok $? "a benchmark of this machine"
grep -q '"value": 600' "$out"; ok $? "with its rate"

run probe --host far --measure-command "echo \"it's done\"; echo 1300 TFLOP/s" --measure-name gemm_bf16 --measure-devices 2 -o json
expect_exit 0
grep -q '"value": 650' "$out"; ok $? "a benchmark over ssh, a device's share of its rate"
expect_json '$.source' 'host far'
! grep -q TFLOP "$SSH_LOG"; ok $? "nothing of it stands in the arguments of ssh"
run probe --host far --measure-command 'echo 12.5 ms'
expect_exit 7 "a time is no rate"
expect_err_has "'ms' is no unit of a rate"
run probe --host far --measure-command 'echo 100 tok/s; exit 3'
expect_exit 7 "a benchmark that fails"
expect_err_has 'status 3'
run probe --host lost --measure-command 'echo 1 tok/s'
expect_exit 5 "no way to the machine"
run probe --file x --measure-command 'echo 1 tok/s'
expect_exit 2
expect_err_has "'measure' in berth.yaml"

# Out of berth.yaml, for what was sold
cat >berth.yaml <<'Y'
measure:
  - accelerator: MI300X
    command: |
      echo warming up
      echo 4.4 TB/s
    name: dram_triad
    within: 1m
Y
run --config berth.yaml probe --host far --gpu MI300X -o json
grep -q '"value": 4400' "$out"; ok $? "the benchmark of the accelerator that was sold"
grep -q '"name": "dram_triad"' "$out"; ok $? "as the test that it stands for"
run --config berth.yaml probe --host far -o json
! grep -q '"value": 4400' "$out"; ok $? "where nothing was sold, none"
run --config berth.yaml probe --host far --gpu MI300X --measure-command 'echo 5 TB/s' --measure-name dram_triad -o json
grep -q '"value": 5000' "$out"; ok $? "what is named goes before"

# What is wrong there is said with its place
wrong() {	# PATTERN LINE...
	pattern=$1
	shift
	printf 'measure:\n' >wrong.yaml
	printf '  %s\n' "$@" >>wrong.yaml
	run --config wrong.yaml probe --host far --gpu MI300X
	expect_exit 1
	expect_err_has "$pattern"
	expect_err_has 'at: wrong.yaml:[234]:'
}
wrong 'did you mean' '- accelerator: MI300Y' '  command: x'
wrong "command" '- accelerator: MI300X'
wrong '10s to 30m' '- accelerator: MI300X' '  command: x' '  within: 2h'
wrong 'already' '- {accelerator: MI300X, command: x}' '- {accelerator: MI300X, command: y}'
wrong 'comand' '- {accelerator: MI300X, comand: x}'

# A tick runs it on a machine of the accelerator, and on none of another
cat >"$TEST_TMP/probe" <<P
#!/bin/sh
printf '%s|' "\$@" >>"$TEST_TMP/probe.log"
cat "$TOP_SRCDIR/tests/cli/probe-l4.json"
P
chmod +x "$TEST_TMP/probe"
BERTH_PROBE=$TEST_TMP/probe
NOW=2026-11-30T00:00:00Z
ticked() {	# ACCELERATOR of the benchmark
	rm -rf .config .local "$TEST_TMP/probe.log"
	mkdir -p .config/berth
	cat >.config/berth/berth.yaml <<Y
schema: berth.config/1
accounts:
  - name: lab
    provider: static
    machines:
      - {name: m1, address: localhost, accelerator: L4, accelerator_count: 1, accelerator_memory_gib: 24, price_per_hour: 0.36}
measure:
  - {accelerator: $1, command: "echo 'it is' 7 tok/s", name: user_chat, devices: 1, within: 2m}
Y
	printf 'schema: berth.job/1\nname: j\naccelerators: "L4:1"\nwork: 1h\nrun: sleep 1\n' >job.yaml
	run init --no-prices
	run prices refresh
	run submit job.yaml
	for i in 1 2 3; do
		NOW=2026-11-30T00:0$i:00Z
		run -q tick
	done
}
ticked L4
grep -q "^--json|--measure-command|echo 'it is' 7 tok/s|--measure-name|user_chat|--measure-devices|1|--cap|120|" "$TEST_TMP/probe.log"
ok $? "a tick measures a new machine with it as well"
ticked L40S
grep -q '^--json|$' "$TEST_TMP/probe.log"; ok $? "and a machine of another accelerator without"
done_testing
