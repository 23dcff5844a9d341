#!/bin/sh
# The bundled data files as text: plain CSV, one line a row, and made again by their scripts byte for byte.
set -u
LC_ALL=C
export LC_ALL
data=$TOP_SRCDIR/data
shared=${BERTH_SHARED:-$TOP_SRCDIR/../shared}
awk=${AWK:-awk}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0

# check TEXT FILE: passes if FILE is empty, else shows its first lines.
check() {
	n=$((n + 1))
	if [ -s "$2" ]; then
		echo "not ok $n - $1"
		sed -n 's/^/# /; 1,5p' "$2"
	else
		echo "ok $n - $1"
	fi
}

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# Without quotes in them, offers and history can be read by anything that splits at commas.
for file in offers.csv history/gpu-usage.csv; do
	$awk -F, 'NR == 1 { cols = NF } NF != cols || /["\r]/ || / $/ { print FILENAME ":" NR ": " $0 }' \
		"$data/$file" >"$tmp/out" 2>&1
	check "$file: as many fields in each line as in the first, no quotes" "$tmp/out"
done

$awk -F, 'NR > 1 && $17 !~ /^20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-9:]*Z$/ { print NR ": date " $17 }
	NR > 1 && $18 !~ /^[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+@[0-9a-z]+/ { print NR ": source " $18 }
	NR > 1 && $10 == "spot" && $1 == "aws" && $16 == "" { missing++ }
	NR > 1 && $16 != "" && ($10 != "spot" || $16 <= 0 || $16 > 0.01) { print NR ": interruption rate " $16 }
	END { if (missing > 20) print missing " AWS spot rows without an interruption rate" }' \
	"$data/offers.csv" >"$tmp/out"
check "offers.csv: date, repository@commit and hourly interruption rate in each row" "$tmp/out"

$awk -F, 'NR > 1 && $1 < last { print NR ": " $1 " after " last } NR > 1 { last = $1 }' "$data/history/gpu-usage.csv" \
	>"$tmp/out"
check "history: in order of time" "$tmp/out"
$awk -F, 'NR > 1 && ($2 !~ /^[0-9]+$/ || $3 !~ /^[0-9]+$/ || $3 + 0 < $2 + 0) { print NR ": " $0 }
	NR == 2 && $1 != "2026-06-01T00:00:00Z" { print "begins at " $1 }
	NR > 1 { rows[$4]++; end = $1 }
	END {
		if (end != "2026-11-29T23:00:00Z") print "ends at " end
		for (s in rows) { k++; if (rows[s] < 26 * 168 - 12 || rows[s] > 26 * 168) print s ": " rows[s] " rows" }
		if (k != 6) print k " series"
	}' "$data/history/gpu-usage.csv" >"$tmp/out"
check "history: six series of 26 weeks, whole GPUs, peaks not below means" "$tmp/out"
$awk -F, 'NR > 1 { all[$4] = all[$4] " " $2 } END { for (s in all) print s all[s] }' "$data/history/gpu-usage.csv" |
	$awk '{ a = b = 0; for (i = 2; i < 2186; i++) a += $i; for (; i <= NF; i++) b += $i
		if (b <= a && $1 != "finetune") print $1 " does not grow" }' >"$tmp/out"
check "history: what should grow grows" "$tmp/out"

$awk -f "$data/make-history.awk" >"$tmp/history.csv" 2>"$tmp/out"
cmp "$tmp/history.csv" "$data/history/gpu-usage.csv" >>"$tmp/out" 2>&1
check "history: the generator makes these bytes again" "$tmp/out"
$awk -v seed=7 -f "$data/make-history.awk" | cmp -s - "$data/history/gpu-usage.csv" && echo same >"$tmp/out"
check "history: another seed makes others" "$tmp/out"

if [ ! -r "$shared/data/prices/gpu_prices.csv" ]; then
	skip "offers.csv made again from the collected price lists" "no shared/data/prices"
elif ! command -v python3 >/dev/null; then
	skip "offers.csv made again from the collected price lists" "no python3"
else
	: >"$tmp/out"
	python3 "$data/make-offers.py" "$shared/data/prices" >"$tmp/offers.csv" 2>"$tmp/log" || cat "$tmp/log" >"$tmp/out"
	cmp "$tmp/offers.csv" "$data/offers.csv" >>"$tmp/out" 2>&1
	check "offers.csv: the script makes these bytes again" "$tmp/out"
fi

if [ ! -r "$shared/facts/accelerators.csv" ]; then
	skip "no accelerator of the facts is lost" "no shared/facts"
else
	sed 1d "$shared/facts/accelerators.csv" | cut -d, -f1 | sort >"$tmp/facts"
	grep '^product,' "$data/accelerators.csv" | cut -d, -f2 | sort >"$tmp/ours"
	comm -23 "$tmp/facts" "$tmp/ours" >"$tmp/out"
	check "accelerators.csv: no accelerator of the facts is lost" "$tmp/out"
fi

sed -n '/^.Bd -literal/,/^.Ed/p' "$TOP_SRCDIR/man/berth-job.5" | sed '/^.Ed/,$d; 1d' >"$tmp/job.yaml"
cmp "$tmp/job.yaml" "$data/jobs/finetune-a100-spot.yaml" >"$tmp/out" 2>&1
check "berth-job(5) shows the bundled fine-tune" "$tmp/out"

echo "1..$n"
