#!/bin/sh
# berth-probe starts and says something useful on a machine with no driver at all
n=0 failed=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=$((failed + 1)); fi
}
none=$(mktemp -d)
trap 'rm -rf "$none"' EXIT

if LD_LIBRARY_PATH=$none "$BERTH_PROBE" --json --array-mib 16 >"$none/out" 2>"$none/err"; then rc=0; else rc=$?; fi
if grep -q '"mode":"gpu"' "$none/out"; then
	echo "1..0 # SKIP this machine has a GPU"
	exit 0
fi
[ $rc = 3 ]; ok $? "nothing to measure is exit 3"
[ ! -s "$none/err" ]; ok $? "nothing on standard error"
grep -q '"schema":"berth.probe-result/1"' "$none/out"; ok $? "the schema is named"
grep -q '"mode":"host"' "$none/out"; ok $? "the host reference is labelled as such"
grep -Eq '"name":"host_triad","gpu":null,"peer":null,"value":[0-9.e+]+,"unit":"GB/s"' "$none/out"
ok $? "the host's triad was measured"
grep -Eq '"name":"host_fma_fp32","gpu":null,"peer":null,"value":[0-9.e+]+,"unit":"GFLOP/s"' "$none/out"
ok $? "the host's FMA rate was measured"
grep -q 'no NVIDIA driver' "$none/out"; ok $? "it says why there is no GPU"

# no core of today does more than 256 FP32 operations in a cycle of 6 GHz, none less than one in a microsecond
rate=$(sed -n 's/.*"host_fma_fp32","gpu":null,"peer":null,"value":\([0-9.e+]*\),.*/\1/p' "$none/out")
cpus=$(getconf _NPROCESSORS_ONLN)
awk -v r="$rate" -v c="$cpus" 'BEGIN { exit !(r > 0.002 * c && r < 256 * 6 * c) }'
ok $? "the FMA rate is one that a CPU can have ($rate GFLOP/s)"
rate=$(sed -n 's/.*"host_triad","gpu":null,"peer":null,"value":\([0-9.e+]*\),.*/\1/p' "$none/out")
awk -v r="$rate" 'BEGIN { exit !(r > 0.1 && r < 2000) }'
ok $? "the triad rate is one that a host can have ($rate GB/s)"

"$BERTH_PROBE" --list >"$none/list"; ok $? "--list"
[ "$(wc -l <"$none/list")" -ge 30 ]; ok $? "--list names the suite"
if "$BERTH_PROBE" --nonsense >/dev/null 2>&1; then rc=0; else rc=$?; fi
[ $rc = 2 ]; ok $? "an unknown option is exit 2"
if "$BERTH_PROBE" --cap x >/dev/null 2>&1; then rc=0; else rc=$?; fi
[ $rc = 2 ]; ok $? "a value that is no number is exit 2"
for wrong in "--only gemm,nonsense" "--quick --deep" "--measure-name x" "--measure-devices 2" \
	"--measure-command true --measure-devices 1.5" "--peer nonsense" "--peer h:99999" "--peer :7" "--serve 99999" "--serve h:"; do
	if BERTH_PROBE_TOKEN=0123456789abcdef "$BERTH_PROBE" $wrong >"$none/out" 2>"$none/err"; then rc=0; else rc=$?; fi
	[ $rc = 2 ] && [ ! -s "$none/out" ] && [ "$(wc -l <"$none/err")" = 2 ]; ok $? "$wrong is exit 2, said in two lines"
done
if [ -c /dev/full ]; then
	if "$BERTH_PROBE" --json --array-mib 16 >/dev/full 2>/dev/null; then rc=0; else rc=$?; fi
	[ $rc = 1 ]; ok $? "a full disk is exit 1"
fi
# what leaves this machine must start on old ones: 2.17 is that of CentOS 7
if grep -q '^am__append_[0-9]* = $(OLDGLIBC_LIBS)' "$TOP_BUILDDIR/Makefile" && command -v objdump >/dev/null; then
	need=$(objdump -T "$BERTH_PROBE" | grep -o 'GLIBC_2\.[0-9]*' | sort -t. -k2 -n | tail -n 1)
	[ "${need#GLIBC_2.}" -le 17 ]; ok $? "needs no glibc newer than 2.17 ($need)"
else
	n=$((n + 1))
	echo "ok $n - needs no glibc newer than 2.17 # SKIP not x86-64 with glibc, or a build with sanitizers"
fi
echo "1..$n"
[ $failed = 0 ]
