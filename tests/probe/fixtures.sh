#!/bin/sh
# berth-probe against planted faults: what is wrong must be found, what is sound must pass, and nothing may be invented.
# Each row: name | expected exit status | fake driver | extended pattern that the result must match | extra options
n=0 failed=0
fakes=$TOP_BUILDDIR/tests/probe/fake
probe=$TOP_BUILDDIR/tests/probe/probe-on-fakes
base="--json --array-mib 1 --gemm-n 64 --pattern-mib 2 --steady 0.1 --library $fakes/libcublasLt.so.13"

ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=$((failed + 1)); fi
}

fixture() {
	name=$1 want=$2 fake=$3 pattern=$4
	shift 4
	out=$(LD_LIBRARY_PATH=$fakes ASAN_OPTIONS=detect_leaks=0 BERTH_FAKE=$fake "$probe" $base --kmsg /dev/null "$@" 2>/dev/null)
	rc=$?
	printf '%s\n' "$out" | grep -Eq "$pattern"
	matched=$?
	last=$(printf '%s\n' "$out" | tail -n 1)
	case $last in *'"duration_s":'*'}') whole=0 ;; *) whole=1 ;; esac
	[ "$rc" = "$want" ] && [ $matched = 0 ] && [ $whole = 0 ]
	ok $? "$name"
	if [ "$rc" != "$want" ] || [ $matched != 0 ] || [ $whole != 0 ]; then
		echo "# exit $rc (want $want), pattern $pattern: $([ $matched = 0 ] && echo found || echo missing)"
		printf '%s\n' "$out" | grep -E 'failed|"errors"|partial' | head -5 | sed 's/^/# /'
	fi
}

# sound machines
fixture "a sound H100" 0 "" '"name":"dram_triad","gpu":0,"peer":null,"value":(3000|2999\.9)'
fixture "a sound V100" 0 "name=Tesla V100-SXM2-16GB,cc=70,bw=800,nosass=1" '"name":"gemm_bf16".*no bf16 units'
fixture "a sound T4" 0 "name=Tesla T4,cc=75,bw=240,gemm=50,gen=3,gen_max=3,norow=1" '"name":"mma_f16","gpu":0,"peer":null,"value":(600|599\.9)'
fixture "eight sound GPUs" 0 "ndev=8,links=18" '"name":"p2p","gpu":7,"peer":6,"value":(376|375\.9).*"status":"ok"'
fixture "deep: peers of the triad" 0 "" '"name":"dram_stream","gpu":0,"peer":null,"value":(3000|2999\.9)' --deep --only dram
fixture "an old driver takes the PTX" 0 "nosass=1,drv=11040" '"cuda":"11.4","image":"ptx"'
fixture "machine code is preferred" 0 "" '"image":"sass"'
fixture "a MIG slice is named" 0 "name=NVIDIA A100-SXM4-40GB MIG 1g.5gb,cc=80" '"name":"NVIDIA A100-SXM4-40GB".*"mig":"1g.5gb"'
fixture "the link generation is read under load" 0 "" '"name":"pcie_link","gpu":0,"status":"ok","value":63'
fixture "at the power cap is normal" 0 "reasons=4" '"name":"throttle","gpu":0,"status":"ok"'
fixture "remap pending is a note" 0 "row_pending=1" '"name":"remap_pending","gpu":0,"status":"note","value":1'
fixture "corrected errors are a note" 0 "cor=12" '"name":"ecc_corrected","gpu":0,"status":"note","value":12'
fixture "not supported is unknown, not zero" 0 "norow=1,norecovery=1,noecc=1" \
	'"name":"ecc_uncorrected","gpu":0,"status":"unknown","value":null,"detail":"not supported"'
fixture "no permission is unknown, not zero" 0 "noperm=1" '"status":"unknown","value":null,"detail":"no permission"'
fixture "no NVML is unknown" 0 "nvml=9" '"name":"nvml","gpu":null,"status":"unknown".*driver not loaded'
fixture "no cuBLASLt: skipped, own kernels stay" 0 "lt=1" '"name":"gemm_bf16".*"status":"skipped","error":"no library'
fixture "a format that the library lacks is skipped" 0 "lt_none=fp8" '"name":"gemm_fp8".*"status":"skipped"'
fixture "FP4 runs on Blackwell" 0 "name=NVIDIA B200,cc=100,mem_gib=178" '"name":"gemm_fp4","gpu":0,"peer":null,"value":(280[01]|2799).*"status":"ok"'
fixture "hidden devices are noted" 0 "nvml_n=8" '"name":"visible","gpu":null,"status":"note","value":8'
fixture "disjoint pairs at once" 0 "ndev=4,links=18" '"name":"p2p_all","gpu":3,"peer":0,"value":(376|375\.9).*"status":"ok"' --only p2p
fixture "three GPUs: one rests at each turn" 0 "ndev=3" '"name":"p2p_all","gpu":2,"peer":1,"value":(376|375\.9).*"status":"ok"' --only p2p_all
fixture "no peer access is said" 0 "ndev=2,can=0" '"name":"p2p".*copied through the host'
fixture "an idle link at full width is no fault" 0 "gen=4,gen_max=5" '"name":"pcie_link","gpu":0,"status":"note"'
fixture "another process is noted" 0 "free_mib=40000,util=80" '"name":"utilization","gpu":0,"status":"note","value":80'
fixture "fabric manager that comes up is waited for" 0 "init=802,init_times=1" '"mode":"gpu"'

# wrong results
fixture "one flipped bit in triad" 4 "flip=berth_k_triad" '"name":"dram_triad.sum","gpu":0,"status":"failed".*wrong twice alike' --only dram_triad
fixture "a bit that flips now and then" 4 "flaky=berth_k_triad" '"name":"dram_triad.sum","gpu":0,"status":"failed".*silent corruption' --only dram_triad
fixture "one flipped bit in copy" 4 "flip=berth_k_copy" '"name":"dram_copy.sum","gpu":0,"status":"failed"' --only dram_copy
fixture "one flipped bit in read" 4 "flip=berth_k_read" '"name":"dram_read.xor","gpu":0,"status":"failed"' --only dram_read
fixture "a wrong FMA" 4 "flip=berth_k_fma32" '"name":"fma_fp32.chains","gpu":0,"status":"failed"' --only fma_fp32
fixture "a wrong FP64 FMA" 4 "flip=berth_k_fma64" '"name":"fma_fp64.chains","gpu":0,"status":"failed"' --only fma_fp64
fixture "a wrong tensor core" 4 "flip=berth_k_mma_bf16" '"name":"mma_bf16.elements","gpu":0,"status":"failed"' --only mma_bf16
fixture "a tensor kernel that never ran" 4 "idle=berth_k_wgmma_bf16" '"name":"wgmma_bf16.elements","gpu":0,"status":"failed"' --only wgmma_bf16
fixture "a memory kernel that never ran" 4 "idle=berth_k_triad" '"name":"dram_triad.sum","gpu":0,"status":"failed"' --only dram_triad
fixture "a walk that goes astray" 4 "flip=berth_k_chase" '"name":"dram_latency.walk","gpu":0,"status":"failed"' --only dram_latency
fixture "a stuck bit" 4 "stuck=99" '"name":"memory_patterns.words","gpu":0,"status":"failed".*first at word 99 .*flipped bits 0x10000000000' --only memory_patterns
fixture "a wrong product of the library" 4 "lt_flip=1" '"name":"gemm_bf16.product","gpu":0,"status":"failed".*wrong twice alike' --only gemm_bf16
fixture "a product that is wrong now and then" 4 "lt_flaky=1" '"name":"gemm_bf16.product","gpu":0,"status":"failed".*silent corruption' --only gemm_bf16
fixture "wrong bytes to the device" 4 "badcopy=h2d" '"name":"pcie_h2d.sum","gpu":0,"status":"failed"' --only pcie,p2p
fixture "wrong bytes from the device" 4 "badcopy=d2h" '"name":"pcie_d2h.sum","gpu":0,"status":"failed"' --only pcie,p2p
fixture "wrong bytes between devices" 4 "ndev=2,badcopy=p2p" '"name":"p2p","gpu":0,"peer":1.*"status":"failed","error":"what arrived is wrong"' --only pcie,p2p
fixture "wrong bytes while all talk" 4 "ndev=4,badcopy@2=p2p" '"name":"p2p_all","gpu":2,"peer":0.*"status":"failed","error":"what arrived is wrong"' --only p2p_all
fixture "only the second GPU is wrong" 4 "ndev=2,flip@1=berth_k_triad" '"name":"dram_triad.sum","gpu":1,"status":"failed"' --only dram_triad

# broken machines
fixture "the library fails" 4 "lt_fail=1" '"name":"gemm_bf16","gpu":0,"peer":null,"value":null.*"status":"failed"' --only gemm_bf16
fixture "a launch that fails" 4 "fail=berth_k_triad" '"name":"dram_triad","gpu":0,"peer":null,"value":null.*launch failed' --only dram_triad
fixture "an uncorrectable error stops a kernel" 4 "fail=berth_k_sum,code=214" '"code":214,"message":"gpu 0.*uncorrectable ECC' --only dram
fixture "a clock that stands still" 4 "clock=0" '"name":"dram_triad".*"value":null.*clock did not advance' --only dram_triad
fixture "no memory left" 4 "oom=1" '"name":"open","gpu":0,"status":"failed".*out of device memory' --only dram_triad
fixture "a device that cannot be opened" 4 "ndev=2,ctx@1=46" '"name":"dram_triad","gpu":1,"peer":null,"value":null' --only dram_triad
fixture "the other device is still measured" 4 "ndev=2,ctx@1=46" '"name":"dram_triad","gpu":0,"peer":null,"value":(3000|2999\.9)' --only dram_triad
fixture "a mesh with a device that cannot be opened" 4 "ndev=4,ctx@1=46" '"name":"p2p_all","gpu":1,"peer":null,"value":null' --only p2p_all
fixture "the others of the mesh are measured" 4 "ndev=4,ctx@1=46" '"name":"p2p_all","gpu":0,"peer":3,"value":(376|375\.9)' --only p2p_all
fixture "no image loads" 4 "nosass=1,noptx=1" '"name":"open","gpu":0,"status":"failed","value":null,"detail":"device code' --only dram_triad

# unhealthy machines
fixture "uncorrected memory errors" 4 "unc=3" '"name":"ecc_uncorrected","gpu":0,"status":"failed","value":3' --only steady,dram_triad,pcie_h2d
fixture "memory errors while it runs" 4 "unc_after=2" '"name":"ecc_during_run","gpu":0,"status":"failed","value":2' --only steady,dram_triad,pcie_h2d
fixture "a row that cannot be remapped" 4 "row_failed=1" '"name":"remap_failure","gpu":0,"status":"failed"' --only steady,dram_triad,pcie_h2d
fixture "the driver wants a reset" 4 "recovery=1" '"name":"recovery_action","gpu":0,"status":"failed".*reset the GPU' --only steady,dram_triad,pcie_h2d
fixture "thermal throttling" 4 "reasons=68,temp=92" '"name":"throttle","gpu":0,"status":"failed".*thermal \(hardware\)' --only steady,dram_triad,pcie_h2d
fixture "a power brake" 4 "reasons=128" '"name":"throttle","gpu":0,"status":"failed".*power brake' --only steady,dram_triad,pcie_h2d
fixture "PCIe gen1 x1" 4 "gen=1,width=1" '"name":"pcie_link","gpu":0,"status":"failed".*gen1 x1 under load, of gen5 x16' --only steady,dram_triad,pcie_h2d
fixture "NVLinks down" 4 "links=18,links_down=2" '"name":"nvlink","gpu":0,"status":"failed".*2 of 18 links are down' --only steady,dram_triad,pcie_h2d
fixture "an Xid during the run" 4 "xid=79" '"name":"xid","gpu":0,"status":"failed","value":79' --only steady,dram_triad,pcie_h2d
fixture "a device off the bus" 4 "lost=1" '"status":"failed".*fallen off the bus' --only steady,dram_triad,pcie_h2d
fixture "hanging kernel: the cap ends it" 5 "hang=berth_k_triad" \
	'"name":"dram_triad","gpu":0,"peer":null,"value":null.*no answer for' --cap 2 --only dram
fixture "hanging NVML is found out" 5 "nvml_hang=1" '"name":"finished","gpu":null,"status":"failed"' --cap 3

# nothing to measure
fixture "no device" 3 "ndev=0" '"mode":"host".*"level"'
fixture "cuInit fails" 3 "init=999" '"where":"cuInit","code":999'
fixture "fabric manager never comes" 3 "init=802" '"code":802,"message":"system not ready'
fixture "driver and library differ" 3 "init=803" '"code":803'
CUDA_VISIBLE_DEVICES="" fixture "hidden by the environment" 3 "init=100" 'CUDA_VISIBLE_DEVICES hides devices'

# host buffers near the device
log=$(mktemp) root=$(mktemp -d)
trap 'rm -rf "$log" "$root"' EXIT
mkdir -p "$root/sys/bus/pci/devices/0000:10:00.0"
echo 0-4095 >"$root/sys/bus/pci/devices/0000:10:00.0/local_cpulist"
fixture "host buffers lie near the device" 0 "" '"name":"host_buffers","gpu":0,"status":"ok","value":[1-9]' --sysroot "$root" --only pcie_h2d
echo 4000-4095 >"$root/sys/bus/pci/devices/0000:10:00.0/local_cpulist"
fixture "CPUs that are not there are not known" 0 "" '"name":"host_buffers","gpu":0,"status":"unknown","value":null' --sysroot "$root" --only pcie_h2d

# the kernel log
echo '3,1234,99999,-;NVRM: Xid (PCI:0000:10:00): 79, pid=1, GPU has fallen off the bus.' >"$log"
fixture "an Xid in the kernel log" 4 "" '"name":"xid","gpu":0,"status":"failed","value":79' --kmsg "$log" --only dram_triad
echo '3,1234,99999,-;NVRM: Xid (PCI:0000:10:00): 31, pid=1, a fault of some program' >"$log"
fixture "a harmless Xid is a note" 0 "" '"name":"xid","gpu":0,"status":"note","value":31' --kmsg "$log" --only dram_triad
fixture "an unreadable log is unknown" 0 "" '"name":"kernel_log","gpu":null,"status":"unknown"' --kmsg "$root/none" --only dram_triad

echo "1..$n"
[ $failed = 0 ]
