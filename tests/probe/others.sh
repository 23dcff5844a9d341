#!/bin/sh
# berth-probe on machines of other vendors: their tools are scripts written here in the shapes that the vendors document,
# their PCI buses directories. What is wrong must be found; what hangs is killed; what cannot be read fails.
n=0 failed=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=$((failed + 1)); fi
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -e /dev/nvidia0 ]; then
	echo "1..0 # SKIP this machine has a GPU"
	exit 0
fi

# machine: empties the machine; pci N VENDOR DEVICE CLASS [SUBSYSTEM]; tool NAME <script
machine() {
	rm -rf "$dir/root" "$dir/bin"
	mkdir -p "$dir/root/sys/bus/pci/devices" "$dir/root/dev/vfio" "$dir/bin"
}
pci() {
	i=0
	while [ $i -lt "$1" ]; do
		d=$dir/root/sys/bus/pci/devices/0000:$2:0$i.0
		mkdir -p "$d"
		echo "0x$2" >"$d/vendor"; echo "0x$3" >"$d/device"; echo "0x$4" >"$d/class"; echo "0x${5:-0000}" >"$d/subsystem_device"
		i=$((i + 1))
	done
}
tool() {
	{ echo '#!/bin/sh'; cat; } >"$dir/bin/$1"
	chmod +x "$dir/bin/$1"
}
# fixture NAME EXIT PATTERN [OPTION ...]
fixture() {
	name=$1 want=$2 pattern=$3
	shift 3
	PATH="$dir/bin:$PATH" LD_LIBRARY_PATH=$dir/none "$BERTH_PROBE" --json --array-mib 1 --sysroot "$dir/root" "$@" \
	    >"$dir/out" 2>/dev/null
	rc=$?
	grep -Eq "$pattern" "$dir/out" && [ $rc = "$want" ]
	ok $? "$name"
	if [ $rc != "$want" ] || ! grep -Eq "$pattern" "$dir/out"; then
		echo "# exit $rc (want $want), pattern $pattern"
		grep -E 'failed|"where"' "$dir/out" | head -6 | sed 's/^/# /'
	fi
}

# AMD, amd-smi
amd() {	# COUNT NAME MIB UNCORRECTED HOTSPOT
	cat >"$dir/amd.awk" <<-'AWK'
	function q(v) { return v ~ /^[0-9]/ ? v : "\"" v "\"" }
	BEGIN {
		printf "{\"gpu_data\": ["
		for (i = 0; i < n; i++) {
			if (i) printf ", "
			if (what == "static")
				printf "{\"gpu\": %d, \"asic\": {\"market_name\": \"%s\", \"vendor_id\": \"0x1002\", \"subvendor_id\": \"0x1002\", \"device_id\": \"0x74a1\", \"subsystem_id\": \"0x74a1\", \"asic_serial\": \"0x%d\", \"num_compute_units\": 304, \"target_graphics_version\": \"gfx942\"}, \"limit\": {\"max_power\": {\"value\": 750, \"unit\": \"W\"}}, \"driver\": {\"name\": \"amdgpu\", \"version\": \"6.10.5\"}, \"vram\": {\"type\": \"HBM3\", \"size\": {\"value\": %s, \"unit\": \"MB\"}}}", i, name, i, q(mib)
			else
				printf "{\"gpu\": %d, \"temperature\": {\"edge\": \"N/A\", \"hotspot\": {\"value\": %s, \"unit\": \"C\"}, \"mem\": {\"value\": 40, \"unit\": \"C\"}}, \"ecc\": {\"total_correctable_count\": 0, \"total_uncorrectable_count\": %s, \"total_deferred_count\": 0}}", i, q(hot), q(unc)
		}
		print "]}"
	}
	AWK
	tool amd-smi <<-SH
	n=$1
	if [ "\$1" = metric ] && [ -n "$6" ]; then n=$6; fi
	exec ${AWK:-awk} -v what=\$1 -v n=\$n -v name="$2" -v mib=$3 -v unc=$4 -v hot=$5 -f "$dir/amd.awk"
	SH
}
machine; pci 8 1002 74a1 120000; amd 8 "AMD Instinct MI300X" 196592 0 45
fixture "a sound MI300X machine" 0 '"index":7,"name":"AMD Instinct MI300X".*"memory_mib":196592'
grep -q '"mode":"other"' "$dir/out" && grep -q '"driver":"6.10.5"' "$dir/out"; ok $? "its mode and its driver"
machine; pci 8 1002 74a1 120000; amd 8 "AMD Instinct MI300X" 196592 N/A N/A
fixture "AMD: what is not told is unknown, not zero" 0 '"name":"ecc_uncorrected","gpu":0,"status":"unknown","value":null'
machine; pci 8 1002 74a1 120000; amd 8 "AMD Instinct MI300X" 196592 3 45
fixture "AMD: uncorrected memory errors" 4 '"name":"ecc_uncorrected","gpu":0,"status":"failed","value":3'
machine; pci 8 1002 74a1 120000; amd 8 "AMD Instinct MI300X" 196592 0 111
fixture "AMD: too hot" 4 '"name":"temperature","gpu":3,"status":"failed","value":111'
machine; pci 8 1002 74a1 120000; amd 7 "AMD Instinct MI300X" 196592 0 45
fixture "AMD: a device off the tool's list" 4 '"name":"identify".*"failed".*names 7 devices, the PCI bus shows 8'
machine; pci 2 1002 74a1 120000; amd 2 "AMD Instinct MI300X" 196592 0 45 1
fixture "AMD: metrics of one device are missing" 4 'tells of 1 of 2 devices'
machine; pci 1 1002 74a1 120000; amd 1 "N/A" 196592 0 45
fixture "AMD: no name" 4 'amd-smi does not name the device'
machine; pci 1 1002 74a1 120000; amd 1 "AMD Instinct MI300X" N/A 0 45
fixture "AMD: no memory" 4 'amd-smi does not tell the memory'
machine; pci 2 1002 740c 120000; amd 2 "AMD Instinct MI250X" 65520 0 45
fixture "AMD: two dies are one MI250X" 0 '"index":0,"name":"AMD Instinct MI250X".*"memory_mib":131040'
machine; pci 1 1002 74b5 120000; amd 1 "Aqua Vanjaram [Instinct MI300X VF]" 196592 0 45
fixture "AMD: a name with a code name" 0 '"name":"AMD Instinct MI300X",'
machine; pci 1 1002 74a1 120000; echo 'echo "{ \"gpu_data\": [ {"' | tool amd-smi
fixture "AMD: output cut off" 4 'what amd-smi static prints cannot be read: cut off'
machine; pci 1 1002 74a1 120000; echo 'echo ERROR: driver not initialized; exit 1' | tool amd-smi
fixture "AMD: the tool fails" 4 'amd-smi ended with status 1; the PCI bus shows 1'
machine; pci 1 1002 74a1 120000; echo 'sleep 60' | tool amd-smi
start=$(date +%s)
fixture "AMD: the tool hangs" 4 'amd-smi did not answer within 6 s and was killed' --quick
[ $(($(date +%s) - start)) -le 40 ]; ok $? "and was killed in time"
machine; pci 1 1002 74a1 120000
if command -v rocm-smi >/dev/null || command -v amd-smi >/dev/null; then n=$((n + 1)); echo "ok $n - AMD: no tool at all # SKIP one is installed"
else fixture "AMD: no tool at all" 4 'is not installed; the PCI bus shows 1'; fi

# AMD, rocm-smi
rocm() {
	tool rocm-smi <<-SH
	echo '{"card0": {"Card Series": "AMD Instinct MI300X", "GFX Version": "gfx942", "Unique ID": "0x1", "Temperature (Sensor junction) (C)": "$1", "VRAM Total Memory (B)": "$2", "VRAM Total Used Memory (B)": "0"}, "system": {"Driver version": "6.7.0"}}'
	SH
}
machine; pci 1 1002 74a1 120000; rocm 37.0 206141652992
fixture "rocm-smi: a sound MI300X" 0 '"name":"AMD Instinct MI300X".*"memory_mib":196592'
machine; pci 1 1002 74a1 120000; rocm 120.0 206141652992
fixture "rocm-smi: too hot" 4 '"name":"temperature","gpu":0,"status":"failed"'
machine; pci 2 1002 74a1 120000; rocm 37.0 206141652992
fixture "rocm-smi: one of two devices" 4 'rocm-smi names 1 devices, the PCI bus shows 2'
machine; pci 1 1002 74a1 120000; echo 'echo "No JSON data to report"' | tool rocm-smi
fixture "rocm-smi: no JSON" 4 'what rocm-smi prints cannot be read'

# Trainium and Inferentia
neuron() { # COUNT TYPE CORES BYTES
	tool neuron-ls <<-SH
	i=0; printf '['
	while [ \$i -lt $1 ]; do
		[ \$i = 0 ] || printf ','
		printf '\n{"instance_type": "$2", "neuron_device": %d, "bdf": "cc:0%d.0", "connected_to": null, "nc_count": $3, "logical_neuroncore_config": 2, "memory_size": $4, "neuroncore_ids": [0], "neuron_processes": []}' \$i \$i
		i=\$((i + 1))
	done
	printf '\n]\n'
	SH
}
monitor() { # UNCORRECTED
	tool neuron-monitor <<-SH
	while :; do
	echo '{"neuron_runtime_data": [], "system_data": {"neuron_hw_counters": {"period": 1.0, "neuron_devices": [{"neuron_device_index": 0, "mem_ecc_corrected": 1, "mem_ecc_uncorrected": $1, "sram_ecc_uncorrected": 0, "sram_ecc_corrected": 0}], "error": ""}}}'
	sleep 1
	done
	SH
}
machine; pci 4 1d0f 7364 088000; neuron 4 trn2.48xlarge 4 103079215104; monitor 0
fixture "a sound Trainium2 machine" 0 '"index":3,"name":"Trainium2".*"memory_mib":98304'
grep -q '"name":"mem_ecc_uncorrected","gpu":0,"status":"ok","value":0' "$dir/out"; ok $? "its memory errors are told"
grep -q '"name":"mem_ecc_corrected","gpu":0,"status":"note","value":1' "$dir/out"; ok $? "corrected ones are a note"
machine; pci 1 1d0f 7264 088000; neuron 1 inf2.xlarge 2 34359738368; monitor 2
fixture "Neuron: uncorrected memory errors" 4 '"name":"mem_ecc_uncorrected","gpu":0,"status":"failed","value":2'
machine; pci 1 1d0f 7064 088000; neuron 1 "" 4 8589934592
fixture "Neuron: an older tool, named by the PCI bus" 0 '"name":"Inferentia1".*"memory_mib":8192'
machine; pci 16 1d0f 7164 088000; neuron 15 trn1.32xlarge 2 34359738368
fixture "Neuron: one of sixteen is missing" 4 'names 15 devices'
machine; pci 1 1d0f 7364 088000; neuron 1 trn2.3xlarge 0 103079215104
fixture "Neuron: no cores" 4 '"name":"cores","gpu":0,"status":"failed"'
machine; pci 1 1d0f 7364 088000; neuron 1 trn2.3xlarge 4 '"?"'
fixture "Neuron: no memory" 4 'neuron-ls does not tell the memory'
machine; pci 1 1d0f 7364 088000; neuron 1 trn2.3xlarge 4 1e99
fixture "Neuron: a memory that no device has is unknown" 4 '"memory_mib":null'
grep -q 'neuron-ls does not tell the memory' "$dir/out"; ok $? "and that is said"
machine; neuron 1 p9.large 4 103079215104
fixture "Neuron: an instance that nobody knows" 4 'says which device it is'
machine; pci 1 1d0f 7364 088000; echo 'echo "[]"' | tool neuron-ls
fixture "Neuron: an empty list" 4 'neuron-ls names 0 devices, the PCI bus shows 1'
machine; pci 1 1d0f 7364 088000; neuron 1 trn2.3xlarge 4 103079215104; echo 'echo "no driver"' | tool neuron-monitor
fixture "Neuron: the monitor cannot be read" 4 'what neuron-monitor prints cannot be read'

# Gaudi
gaudi() { # NAME MEMORY TEMP ECC
	tool hl-smi <<-SH
	i=0
	while [ \$i -lt 8 ]; do
		echo "\$i, 01P4-HL30\$i, $1, 0000:19:00.0, 1.22.1-97ec1a4, $2, $3, $4"
		i=\$((i + 1))
	done
	SH
}
machine; pci 8 1da3 1060 120000; gaudi HL-325L "131072 MiB" "36 C" 0
fixture "a sound Gaudi3 machine" 0 '"index":7,"name":"Gaudi3".*"memory_mib":131072'
machine; pci 8 1da3 1020 120000; gaudi HL-225 "98304 MiB" "36 C" "N/A"
fixture "Gaudi: a Gaudi2, errors not told" 0 '"name":"ecc_uncorrected","gpu":7,"status":"unknown"'
machine; pci 8 1da3 1060 120000; gaudi HL-325L "131072 MiB" "36 C" 5
fixture "Gaudi: uncorrected errors" 4 '"name":"ecc_uncorrected","gpu":0,"status":"failed","value":5'
machine; pci 8 1da3 1060 120000; gaudi HL-325L "131072 MiB" "108 C" 0
fixture "Gaudi: too hot" 4 '"name":"temperature","gpu":0,"status":"failed"'
machine; pci 8 1da3 1060 120000; gaudi HL-325L "N/A" "36 C" 0
fixture "Gaudi: no memory" 4 "gives the memory as 'N/A'"
machine; pci 8 1da3 1060 120000; gaudi HL-325L "1e99 MiB" "36 C" 0
fixture "Gaudi: a memory that no device has" 4 "gives the memory as '1e99 MiB'"
machine; pci 8 1da3 1060 120000; echo 'echo "0, HL-325L"' | tool hl-smi
fixture "Gaudi: a line of another shape" 4 'what hl-smi prints cannot be read'
machine; pci 9 1da3 1060 120000; gaudi HL-325L "131072 MiB" "36 C" 0
fixture "Gaudi: eight of nine" 4 'hl-smi names 8 devices, the PCI bus shows 9'
machine; pci 8 1da3 1060 120000; echo 'kill -SEGV $$' | tool hl-smi
fixture "Gaudi: the tool dies" 4 'hl-smi ended with signal 11'

# Ascend
ascend() { # NAME HEALTH TEMP TOTAL
	tool npu-smi <<-SH
	cat <<'TABLE'
	+------------------------------------------------------------------------------------------------+
	| npu-smi 24.1.0                   Version: 24.1.0                                               |
	+---------------------------+---------------+----------------------------------------------------+
	| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
	| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
	+===========================+===============+====================================================+
	| 0     $1               | $2            | 89.1        $3                0    / 0             |
	| 0                         | 0000:C1:00.0  | 0           0    / 0          3437 / $4         |
	+===========================+===============+====================================================+
	| 1     $1               | OK            | 90.0        33                0    / 0             |
	| 0                         | 0000:01:00.0  | 0           0    / 0          3378/ 65536         |
	+===========================+===============+====================================================+
	+---------------------------+---------------+----------------------------------------------------+
	| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
	+===========================+===============+====================================================+
	| 0       0                 | 4242          | python                   | 1024                    |
	TABLE
	SH
	sed 's/^	*//' "$dir/bin/npu-smi" >"$dir/bin/t" && mv "$dir/bin/t" "$dir/bin/npu-smi" && chmod +x "$dir/bin/npu-smi"
}
machine; pci 2 19e5 d802 120000; ascend 910B3 OK 32 65536
fixture "a sound Ascend machine" 0 '"index":1,"name":"910B3".*"memory_mib":65536'
grep -q '"driver":"24.1.0"' "$dir/out"; ok $? "its driver is told"
machine; pci 2 19e5 d802 120000; ascend 910B3 Alarm 32 65536
fixture "Ascend: an alarm" 4 '"name":"health","gpu":0,"status":"failed","value":null,"detail":"npu-smi says Alarm"'
machine; pci 2 19e5 d802 120000; ascend 910B3 Warning 32 65536
fixture "Ascend: a warning is a note" 0 '"name":"health","gpu":0,"status":"note"'
machine; pci 2 19e5 d802 120000; ascend 910B3 OK 32 0
fixture "Ascend: no memory" 4 'npu-smi does not tell the memory'
machine; pci 8 19e5 d802 120000; ascend 910B3 OK 32 65536
fixture "Ascend: two of eight" 4 'npu-smi names 2 devices, the PCI bus shows 8'
machine; pci 1 19e5 d802 120000; echo 'echo "dcmi module initialize failed. ret is -8005"' | tool npu-smi
fixture "Ascend: the driver is not there" 4 'what npu-smi prints cannot be read: no table'

# TPU
machine; pci 4 1ae0 006f 120000; touch "$dir/root/dev/vfio/0" "$dir/root/dev/vfio/1" "$dir/root/dev/vfio/2" "$dir/root/dev/vfio/3"
fixture "a sound TPU v6e machine" 0 '"index":3,"name":"TPU v6e".*"memory_mib":32768'
tool tpu-info <<'SH'
echo "TPU Chips"
for i in 0 1 2; do echo "| /dev/vfio/$i   TPU v6e chip  1        1052   |"; done
SH
fixture "TPU: tpu-info names three of four" 4 'tpu-info names 3 chips, the PCI bus shows 4'
echo 'sleep 60' | tool tpu-info
fixture "TPU: tpu-info hangs" 4 'tpu-info did not answer' --quick
rm "$dir/bin/tpu-info" "$dir/root/dev/vfio/3"
fixture "TPU: a chip without its driver" 4 '3 of 4 chips have a device file'
machine; pci 1 1ae0 0abc 120000; touch "$dir/root/dev/accel0"
fixture "TPU: a chip that nobody knows" 4 '1ae0:0abc is no TPU'
machine; pci 1 1ae0 0042 020000
fixture "a network card of the same vendor is none" 3 '"mode":"host"'
machine; pci 2 10de 2330 030200
fixture "NVIDIA devices without a driver are named" 3 'the PCI bus shows 2 NVIDIA devices'

# a user's own benchmark
machine; pci 1 1da3 1060 120000; gaudi HL-325L "131072 MiB" "36 C" 0
u() { fixture "$1" "$2" "$3" --measure-command "$4" --measure-name "${5:-user}" --measure-devices "${6:-1}"; }
u "a user's benchmark" 0 '"name":"user","gpu":null,"peer":null,"value":812.5,"unit":"img/s"' 'echo warm; echo 812.5 img/s'
u "in place of a test of the suite" 0 '"name":"gemm_bf16","gpu":null,"peer":null,"value":1200,"unit":"TFLOP/s"' 'echo 1.2 PFLOP/s' gemm_bf16
u "for eight devices" 0 '"name":"gemm_bf16","gpu":null,"peer":null,"value":1200,' 'echo 9600 TFLOPS' gemm_bf16 8
u "of another unit than that test" 4 'gemm_bf16 is measured in TFLOP/s, not GB/s' 'echo 1200 GB/s' gemm_bf16
u "a time is no rate" 4 'is no unit of a rate' 'echo 12 ms'
u "no number" 4 "the last line is no rate: 'done'" 'echo 5 img/s; echo done'
u "nothing at all" 4 'the last line is no rate' ':'
u "a command that fails" 4 'ended with status 3' 'echo 5 img/s; exit 3'
u "zero is no rate" 4 'the last line is no rate' 'echo 0 img/s'
u "not repeatable" 4 'it does not repeat' "echo x >>'$dir/count'; wc -l <'$dir/count' | tr -d '\n'; echo ' img/s'"
u "a name of nothing" 4 'is neither a test' 'echo 5 img/s' frobnicate
fixture "a benchmark that hangs" 4 'did not end within' --measure-command 'sleep 100' --cap 9
echo "1..$n"
[ $failed = 0 ]
