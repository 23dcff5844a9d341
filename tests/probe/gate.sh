#!/bin/sh
# Device code: built for every architecture without a warning or a spill, within its registers, and the PTX for old
# drivers is what the assembler takes. Needs a build with nvcc.
n=0 failed=0
k=$TOP_BUILDDIR/kernels
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=$((failed + 1)); fi
}

if [ ! -s "$k/base.fatbin.log" ]; then
	echo "1..0 # SKIP device code was not built by nvcc"
	exit 0
fi
nvcc=$(sed -n 's/^NVCC = //p' "$TOP_BUILDDIR/Makefile")
ptxas=$(dirname "$nvcc")/ptxas

# arch kernel registers spilled-bytes, from "ptxas info" lines of any version
kernels() {
	awk '/Compiling entry function/ { split($0, q, "\047"); kernel = q[2]; arch = q[4] }
	    /spill stores/ { for (i = 1; i < NF; i++) if ($(i + 1) == "bytes" && $(i + 2) == "spill") spill = $i }
	    /Used [0-9]+ registers/ { for (i = 1; i < NF; i++) if ($i == "Used") print arch, kernel, $(i + 1), spill + 0 }' "$1"
}

# 65536 registers an SM: 2048 threads need at most 32 each, 1536 at most 40; Turing has 1024 threads, and 64 for each.
# The tensor kernels live on registers; 1024 threads keep their units busy.
limit() {	# limit ARCH KERNEL
	case $1:$2 in
	*:berth_k_wgmma_*) echo 168 ;;	# 128 of them are accumulators
	*:berth_k_mma_*) echo 64 ;;
	sm_75:*) echo 64 ;;
	*) echo 40 ;;
	esac
}

want_base=$(grep -c '^berth_k_\|^FMA_KERNEL(' "$TOP_SRCDIR/kernels/base.cu")
for f in base tensor75 tensor80 tensor89 wgmma; do
	[ -s "$k/$f.fatbin" ] || continue
	kernels "$k/$f.fatbin.log" >"$k/gate.tmp"
	[ -s "$k/gate.tmp" ]; ok $? "$f: the assembler reported its kernels"
	! grep -Eiq '(^|[^-])warning' "$k/$f.fatbin.log"; ok $? "$f: no warning"
	[ "$(awk '{ s += $4 } END { print s + 0 }' "$k/gate.tmp")" = 0 ]; ok $? "$f: no spill"
	over=$(while read -r arch kernel regs spill; do
		[ "$regs" -le "$(limit "$arch" "$kernel")" ] || echo "$arch:$kernel:$regs"
	done <"$k/gate.tmp")
	[ -z "$over" ]; ok $? "$f: within its registers ${over:+($over)}"
	[ $f != base ] || {
		bad=$(awk -v w="$want_base" '{ c[$1]++ } END { for (a in c) if (c[a] != w) print a, c[a] }' "$k/gate.tmp")
		[ -z "$bad" ]; ok $? "base: $want_base kernels on each architecture ${bad:+($bad)}"
	}
done
rm -f "$k/gate.tmp"

head_is() {
	grep -q "^\.version $2\$" "$k/$1.ptx" && grep -q "^\.target $3\$" "$k/$1.ptx"
	ok $? "$1.ptx: ISA $2 for $3"
}
head_is base 7.0 sm_60
head_is tensor75 7.0 sm_75
head_is tensor80 7.0 sm_80
head_is tensor89 8.4 sm_89
[ ! -s "$k/wgmma.ptx" ] || head_is wgmma 8.0 sm_90a
if [ -x "$ptxas" ]; then
	for pair in base:75 base:90 base:120 tensor75:75 tensor80:80 tensor80:90 tensor89:89 tensor89:120 wgmma:90a; do
		[ -s "$k/${pair%:*}.ptx" ] || continue
		"$ptxas" -arch="sm_${pair#*:}" -o /dev/null "$k/${pair%:*}.ptx" >/dev/null 2>&1
		ok $? "${pair%:*}.ptx is assembled for sm_${pair#*:}"
	done
fi

# what the kernels are written for is what the compiler made of them
count() { grep -c "$2" "$k/$1.ptx"; }
[ "$(count base 'ld.global.*v4')" -ge 8 ]; ok $? "loads of 16 bytes"
[ "$(count base 'fma.rn.f32')" -ge 128 ]; ok $? "FP32: 128 FMA a turn"
[ "$(count base 'fma.rn.f64')" -ge 128 ]; ok $? "FP64: 128 FMA a turn"
[ "$(count tensor80 'mma.sync')" -ge 60 ]; ok $? "tensor kernels issue mma.sync"

# and the machine code, where the toolkit has the program that shows it
sass=$(command -v cuobjdump || echo "$(dirname "$nvcc")/cuobjdump")
ops() {	# IMAGE: arch kernel instruction count
	"$sass" -sass "$k/$1.fatbin" 2>/dev/null | awk '/^arch = / { arch = $3 } /Function : / { fn = $3 }
	    $1 ~ /^\/\*[0-9a-f]+\*\/$/ { i = $2 ~ /^@/ ? $3 : $2; sub(/;$/, "", i); n[arch " " fn " " i]++ }
	    END { for (x in n) print x, n[x] }'
}
least() {	# IMAGE KERNEL INSTRUCTION(pattern) COUNT ARCHITECTURES(pattern): those that have fewer
	awk -v fn="^berth_k_$2$" -v op="^($3)" -v want="$4" -v arch="^(${5-sm_})" \
	    '$1 !~ arch { next } $2 ~ fn { a[$1] += 0 } $2 ~ fn && $3 ~ op { a[$1] += $4 }
	    END { for (x in a) if (a[x] < want) print x ":" a[x] }' "$k/gate.$1"
}
if [ -x "$sass" ] && "$sass" --version >/dev/null 2>&1; then
	for f in base tensor75 tensor80 tensor89 wgmma; do
		[ ! -s "$k/$f.fatbin" ] || ops $f >"$k/gate.$f"
	done
	[ "$(awk '$3 ~ /^(LDL|STL)/' "$k"/gate.base "$k"/gate.tensor?? "$k"/gate.wgmma | wc -l)" = 0 ]
	ok $? "machine code: nothing goes by local memory"
	# FP8 has an mma of its own on Ada and the small Blackwells; elsewhere the probe does not run that kernel
	for row in "base read LDG.*128 5" "base copy LDG.*128 5" "base copy STG.*128 5" "base triad LDG.*128 6" \
	    "base triad STG.*128 3" "base fma32 FFMA 128" "base fma64 DFMA 128" "tensor75 mma_f16_turing HMMA 12" \
	    "tensor80 mma_f16 HMMA 12" "tensor80 mma_bf16 HMMA 12" "tensor80 mma_tf32 HMMA 12" "tensor80 mma_s8 IMMA 12" \
	    "tensor80 mma_f64 DMMA 12" "tensor89 mma_e4m3 QMMA 12 sm_89|sm_12" "wgmma wgmma_bf16 HGMMA 5" "wgmma wgmma_e4m3 QGMMA 5"; do
		set -- $row
		[ -s "$k/gate.$1" ] || continue
		few=$(least $1 $2 "$3" $4 ${5+"$5"})
		[ -z "$few" ] && grep -q " berth_k_$2 " "$k/gate.$1"
		ok $? "machine code: $2 has $4 of $3 on ${5:-every architecture} ${few:+($few)}"
	done
	rm -f "$k"/gate.base "$k"/gate.tensor?? "$k"/gate.wgmma
else
	ok 0 "machine code # SKIP cuobjdump is not installed"
fi
cp "$TOP_BUILDDIR/berth-probe" "$k/gate.bin" && strip "$k/gate.bin" 2>/dev/null
size=$(wc -c <"$k/gate.bin")
rm -f "$k/gate.bin"
[ "$size" -le 1048576 ]; ok $? "at most 1 MiB without symbols ($size bytes)"
echo "1..$n"
[ $failed = 0 ]
