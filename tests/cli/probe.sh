#!/bin/sh
# berth probe: results from a file, from this machine and from a fake driver; verdict, price, history, comparison.
. "$TOP_SRCDIR/tests/cli/lib.sh"

fakes=$TOP_BUILDDIR/tests/probe/fake
real_probe=$BERTH_PROBE
# a measuring program whose driver is made up: $FAKE says what it finds
cat >"$TEST_TMP/probe" <<P
#!/bin/sh
LD_LIBRARY_PATH=$fakes ASAN_OPTIONS=detect_leaks=0 BERTH_FAKE="sms=132,links=18,bw=2950,gemm=780,\$FAKE" exec \
    "$TOP_BUILDDIR/tests/probe/probe-on-fakes" --array-mib 1 --gemm-n 64 --pattern-mib 2 --steady 0.1 \
    --library $fakes/libcublasLt.so.13 --kmsg /dev/null "\$@"
P
chmod +x "$TEST_TMP/probe"

# This machine as it is
BERTH_PROBE=$real_probe
export BERTH_PROBE
if "$real_probe" --json --only launch 2>/dev/null | grep -q '"mode":"gpu"'; then
	skip "no GPU here" "this machine has one"
else
	run probe
	expect_exit 0 "a machine without a GPU is no failure"
	expect_out_has 'no GPU here; host reference'
	expect_out_has 'host +host_triad +[0-9]'
	run probe --here -o json
	expect_is_json berth.probe/1
	expect_json '$.mode' host
	expect_json '$.verdict' null
	expect_json '$.speed' null
	expect_json '$.tests[0].name' host_triad
	run probe --gpu H100-SXM5-80GB:8
	expect_exit 7 "no GPU where eight were sold is a rejection"
	expect_err_has 'no GPU could be used where 8 H100-SXM5-80GB were sold'
fi

# A driver that is made up
BERTH_PROBE=$TEST_TMP/probe
export FAKE
FAKE=ndev=2
run probe --gpu H100-SXM5-80GB:2 --price 5.60 -o json --only dram,gemm,pcie,steady
expect_exit 0 "a sound machine is accepted"
expect_is_json berth.probe/1
expect_json '$.verdict' accept
expect_json '$.accelerator' H100-SXM5-80GB
expect_json '$.accelerator_count' 2
expect_json '$.compute_test' gemm_bf16
# 5.60 / (2 x 780) and 5.60 / (2 x 2950)
expect_json '$.price_per_tflops_hour' 0.003590
expect_json '$.price_per_gb_s_hour' 0.000949
sound=$TEST_TMP/sound.json
"$TEST_TMP/probe" --json --only dram,gemm,pcie,steady >"$sound"

FAKE=ndev=2,gemm@1=640
run probe --gpu H100-SXM5-80GB:2 --only dram,gemm,pcie
expect_exit 0 "a slower machine is worth less, but no failure"
expect_out_has '^here: discount, 2 x H100-SXM5-80GB'
expect_out_has 'gpu 1: gemm_bf16 640 TFLOP/s, 81 % of the 794.5'
expect_out_has 'gpu 1 lags'
FAKE=ndev=2,flaky@1=berth_k_triad
run probe --gpu H100-SXM5-80GB:2 --only dram,gemm
expect_exit 7 "a wrong result is a rejection"
expect_err_has 'silent corruption'
FAKE=ndev=1
run probe --gpu H100-SXM5-80GB:2 --only dram,gemm
expect_exit 7 "a GPU is missing"
expect_err_has '1 of 2 H100-SXM5-80GB are there'
FAKE='name=NVIDIA A100-SXM4-80GB,cc=80,sms=108,bw=1700,gemm=270,ndev=1'
run probe --gpu H100-SXM5-80GB --only dram,gemm
expect_exit 7 "another model than was sold"
expect_err_has 'A100-SXM4-80GB, sold as H100-SXM5-80GB'
FAKE=ndev=1,reasons=64
run probe --only steady,dram_triad
expect_exit 7 "a throttled machine of one's own"
expect_err_has 'thermal'

# Results in files
run probe --file "$sound" --gpu H100-SXM5-80GB:2
expect_exit 0
expect_out_has 'accept'
head -c 2000 "$sound" >"$TEST_TMP/cut.json"
run probe --file "$TEST_TMP/cut.json" -o json
expect_exit 7 "a result that was cut off"
expect_is_json berth.probe/1
expect_json '$.verdict' reject
run probe --file "$TEST_TMP/none.json"
expect_exit 1 "no such file"
echo '{"schema":"berth.other/1"}' >"$TEST_TMP/other.json"
run probe --file "$TEST_TMP/other.json"
expect_exit 7
expect_out_has 'is not berth.probe-result/1'

# What was kept
run probe history -o json
expect_is_json berth.probe-history/1
expect_json '$.measurements[0].verdict' reject
run probe history --gpu H100-SXM5-80GB --test dram_triad
expect_exit 0
expect_out_has 'dram_triad, oldest first'
expect_out_has '^  [^ ].*, H100-SXM5-80GB: .*bars stand on'
# a drift of 12 % shows: the last bar is the lowest
for v in 2950 2800 2600; do
	sed "s/\(\"name\":\"dram_triad\",\"gpu\":[0-9]*,\"peer\":null,\"value\":\)[0-9.e+]*/\1$v/" "$sound" >"$TEST_TMP/drift.json"
	run probe --file "$TEST_TMP/drift.json" --gpu H100-SXM5-80GB:2
done
run probe history -n 3 --test dram_triad
expect_out_has 'from 2950 to 2600 \(-11.9 %\); bars stand on 25[0-9][0-9]'
! grep -Eq '\|(.)\1\1\|' "$out"; ok $? "the bars differ"
# another machine has a line of its own, and no drift is drawn between the two
sed 's/"host":"[^"]*"/"host":"other-machine"/; s/\("name":"dram_triad","gpu":[0-9]*,"peer":null,"value":\)[0-9.e+]*/\12400/' "$sound" >"$TEST_TMP/other-machine.json"
run probe --file "$TEST_TMP/other-machine.json" --gpu H100-SXM5-80GB:2
run probe --file "$TEST_TMP/other-machine.json" --gpu H100-SXM5-80GB:2
run probe history -n 5 --test dram_triad
expect_out_has '^  other-machine, H100-SXM5-80GB: .* from 2400 to 2400 \(\+0.0 %\)'
expect_out_has ' from 2950 to 2600 \(-11.9 %\)'
run probe history --gpu H1000
expect_exit 1
expect_err_has 'did you mean'
run probe compare "$sound" "$sound" -o json
expect_is_json berth.probe-compare/1
expect_json '$.tests[0].ratio' 1
run probe compare "$sound" "$sound"
expect_out_has '^a: .*2 x NVIDIA H100 80GB HBM3'
FAKE=ndev=2 "$BERTH_PROBE" --json --only p2p >"$TEST_TMP/p2p.json"
run probe compare "$TEST_TMP/p2p.json" "$TEST_TMP/p2p.json"
expect_out_has '^0>1 +p2p '
# what only the second has is shown too
sed '/"name":"dram_copy"/d' "$sound" >"$TEST_TMP/less.json"
run probe compare "$TEST_TMP/less.json" "$sound"
expect_out_has '^0 +dram_copy +- +29[0-9]*'
run probe compare 999999 "$sound"
expect_exit 1
expect_err_has 'no measurement 999999'
run probe --dry-run --file "$sound"
expect_exit 0
run probe history -n 1 -o json
first=$(json '$.measurements[0].id')
run probe --file "$sound"
run probe history -n 1 -o json
expect_json '$.measurements[0].id' $((first + 1)) "a dry run keeps nothing"

# The measuring program, and what it runs, end with berth
cat >"$TEST_TMP/kept" <<P
#!/bin/sh
echo \$\$ >"$TEST_TMP/probe-pid"
exec "$real_probe" "\$@"
P
chmod +x "$TEST_TMP/kept"
gone() { # PID
	tries=0
	while [ $tries -lt 600 ]; do
		[ -d "/proc/$1" ] && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null || return 0
		tries=$((tries + 1))
		sleep 0.1
	done
	return 1
}
for sig in 15 9; do
	if [ "$(uname)" != Linux ]; then
		skip "berth probe ended by signal $sig" "only Linux tells a child"
		continue
	fi
	rm -f "$TEST_TMP/probe-pid" "$TEST_TMP/tool-pid"
	BERTH_PROBE=$TEST_TMP/kept "$BERTH" probe --here --only launch --measure-name user \
	    --measure-command "echo \$\$ >'$TEST_TMP/tool-pid'; sleep 600; echo 1 img/s" >"$TEST_TMP/ended" 2>&1 &
	berth_pid=$!
	tries=0
	while [ ! -s "$TEST_TMP/tool-pid" ] && [ $tries -lt 1200 ]; do sleep 0.1; tries=$((tries + 1)); done
	[ -s "$TEST_TMP/tool-pid" ]; ok $? "the benchmark runs"
	kill -$sig "$berth_pid"
	wait "$berth_pid" 2>/dev/null; rc=$?
	[ $rc = $((128 + sig)) ]; ok $? "berth is ended by signal $sig ($rc)"
	gone "$(cat "$TEST_TMP/probe-pid")"; ok $? "and berth-probe with it"
	gone "$(cat "$TEST_TMP/tool-pid")"; ok $? "and the benchmark that it ran"
done

# Wrong use
run probe --here --file x
expect_exit 2
run probe history --test dram_traid
expect_exit 0
expect_err_has "none of these measurements has a value of 'dram_traid'"
run probe --file "$sound" --price -3
expect_exit 2
run probe --file "$sound" --quick
expect_exit 2
expect_err_has 'quick goes with --here'
run probe --host h --only dram
expect_exit 2
run probe --measure-devices 8
expect_exit 2
run probe --gpu H100-8
expect_exit 1
expect_err_has 'did you mean'
run probe --precision bf61
expect_exit 2
run probe --instance 77
expect_exit 1
run probe --host -oProxyCommand=x
expect_exit 1 "a host that is an option of ssh"
run --offline probe --host example.invalid
expect_exit 1
expect_err_has 'offline'

done_testing
