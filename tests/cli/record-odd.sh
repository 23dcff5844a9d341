#!/bin/sh
# Files as people have them: what spreadsheets, other machines and packers make of CSV, names of one card, and progress.
. "$TOP_SRCDIR/tests/cli/lib.sh"

# As a spreadsheet in Europe saves it: a byte order mark, a line that says the separator, quotes, CRLF, lines of separators.
printf '\357\273\277sep=;\r\n"Timestamp";"GPU_type";"gpus";"price_eur";\r\n' >sheet.csv
printf '"2026-01-05T00:00:00Z";"A100-80GB";"12,5";"2,48";\r\n2026-01-05T01:00:00Z;A100-80GB;8;2,48;\r\n;;;;\r\n;;;;\r\n' >>sheet.csv
run record csv --decimal-comma sheet.csv -o json
expect_exit 0
expect_json '$.rows_read' 2
expect_json '$.gpu_seconds' 73800
expect_json '$.series[0].name' accelerator=A100-80GB
expect_json '$.warnings[0].message' '' 'a price that is left out is no warning'
expect_err_has "note.*price_eur.* left out|price_eur.* left out"

# Marks between thousands are never taken for decimals, nor the other way round.
printf 'time;gpus\n2026-01-05T00:00:00Z;1.234,5\n2026-01-05T01:00:00Z;1,234,567\n2026-01-05T02:00:00Z;1,234\n' >marks.csv
run --store marks.db record csv --decimal-comma marks.csv -o json
expect_exit 8
expect_json '$.rows_stored' 1 '1,234 is a decimal comma where that is said'
expect_json '$.series[0].peak' 1.234
expect_json '$.warnings[0].message' "gpus is '1.234,5': write numbers without marks between their thousands"
printf 'time,gpus\n2026-01-05T00:00:00Z,"1,234"\n2026-01-05T01:00:00Z,"1,234.5"\n' >marks.csv
run --store marks2.db record csv marks.csv -o json
expect_exit 8
expect_json '$.rows_stored' 0

# Times: seconds, milliseconds, micro and nanoseconds, fractions, offsets; serial dates with a decimal comma.
cat >times.csv <<'X'
ts,gpus
1767571200,1
1767574800000,2
1767578400000000,3
1767582000000000000,4
1767585600.0,5
2026-01-05T06:00:00+0100,6
2026-01-05 06:00:00 UTC,7
2026-01-05T07:00:00.123456789Z,8
X
run --store times.db record csv times.csv -o json
expect_exit 0
expect_json '$.series[0].from' 2026-01-05T00:00:00Z
expect_json '$.series[0].to' 2026-01-05T07:00:00Z
expect_json '$.series[0].samples' 8
for bad in 05.01.2026 '01/05/2026 12:00 AM' '2026-01-05T00:00:00 CET' 20260105 1.7675928E9 17675712000; do
	printf 'time,gpus\n%s,3\n' "$bad" >bad.csv
	run --store bad.db record csv bad.csv -o json
	expect_exit 8 "the time '$bad' is refused"
	expect_json '$.rows_stored' 0
done
printf 'date;gpus\n46023,5;8\n46024;4\n' >serial.csv
run --store serial.db record csv --serial-dates --decimal-comma serial.csv -o json
expect_exit 0
expect_json '$.series[0].from' 2026-01-01T12:00:00Z
run --store serial2.db record csv serial.csv -o json
expect_exit 8
expect_json '$.warnings[0].line' 2
expect_json '$.rows_stored' 0

# Fields that are not there, or too many; other encodings and line ends.
printf 'time,gpus\n2026-01-05T00:00:00Z,3,,\n2026-01-05T01:00:00Z,3,4\n2026-01-05T02:00:00Z\n\n,,\n2026-01-05T03:00:00Z,5' >ragged.csv
run --store ragged.db record csv ragged.csv -o json
expect_exit 8
expect_json '$.rows_read' 4
expect_json '$.rows_stored' 2
expect_json '$.warnings[0].line' 3
printf 'time,gpus\r2026-01-05T00:00:00Z,3\r' >cr.csv
run --store cr.db record csv cr.csv
expect_exit 1
expect_err_has 'CR alone'
printf '\377\376t\0i\0m\0e\0' >wide.csv
run --store wide.db record csv wide.csv
expect_exit 1
expect_err_has 'UTF-16'
printf 'time,team,gpus\n2026-01-05T00:00:00Z,M\374nchen,3\n2026-01-05T00:00:00Z,K\303\266ln,4\n' >latin.csv
run --store latin.db record csv latin.csv -o json
expect_exit 8
expect_json '$.rows_stored' 1

# Names of cards: each spelling is its model, and no model swallows another.
{
	echo time,accelerator,gpus
	for name in 'NVIDIA H100 80GB HBM3' h100-sxm5-80gb 'NVIDIA H100 PCIe' 'NVIDIA H100 NVL' 'NVIDIA H200' 'NVIDIA GH200 480GB' \
		nvidia-a100-sxm4-80gb 'A100-SXM4-40GB' 'NVIDIA A10' nvidia_a10g 'NVIDIA A40' 'Tesla V100-SXM2-32GB' tesla-v100-sxm2-16gb \
		NVIDIA-L4 'NVIDIA L40' l40s 'Tesla T4' 'NVIDIA RTX A6000' 'NVIDIA B200' 'AMD Instinct MI300X' 'AMD Instinct MI250X'; do
		echo "2026-01-05T00:00:00Z,$name,1"
	done
} >cards.csv
run --store cards.db record csv cards.csv -o csv --columns name --no-headers
expect_exit 0
[ "$(grep -c . "$out")" = 19 ]
ok $? "21 spellings, 19 models: $(grep -c . "$out")"
expect_no_err 'none is unknown'
for pair in 'H100-80GB 3' 'A10 1' 'A10G 1' 'A40 1' 'L4 1' 'L40 1' 'L40S 1' 'H200 1'; do
	run --store cards.db series "accelerator=${pair% *}" -o json
	expect_json '$.series[0].peak' "${pair#* }" "cards counted as ${pair% *}"
done

# Packed: members one after the other, damage, the end missing, packings that are not known.
printf 'time,gpus\n2026-01-05T00:00:00Z,3\n' >a.csv
printf '2026-01-05T01:00:00Z,4\n' >b.csv
gzip -k a.csv b.csv
cat a.csv.gz b.csv.gz >ab.csv.gz
run --store gz.db record csv ab.csv.gz -o json
expect_json '$.rows_read' 2
head -c $(($(wc -c <a.csv.gz) + 9)) ab.csv.gz >cut.csv.gz
run --store cut.db record csv cut.csv.gz
expect_exit 1
expect_err_has 'ends too early'
{ cat a.csv.gz; printf 'and more'; } >more.csv.gz
run --store more.db record csv more.csv.gz
expect_exit 1
expect_err_has 'damaged'
if command -v zstd >/dev/null 2>&1; then
	zstd -q a.csv b.csv
	{ printf '\120\052\115\030\004\000\000\000abcd'; cat a.csv.zst b.csv.zst; } >ab.csv.zst
	"$BERTH" --now "$NOW" --store zst.db record csv - -o json <ab.csv.zst >"$out" 2>"$err"
	status=$? ran='berth record csv - (zstd)'
	if grep -q 'built without' "$err"; then
		skip 'zstd' 'berth is built without it'
	else
		expect_json '$.rows_read' 2 'zstd: a frame to skip, then two more, from standard input'
	fi
else
	skip 'zstd' 'no zstd here'
fi
printf '\3757zXZ\0\0\4' >x.csv.xz
run --store xz.db record csv x.csv.xz
expect_exit 1
expect_err_has 'xz -dc'

# Progress on a terminal, with rate and time left; none elsewhere.
cat >terminal.py <<'X'
import os, pty, signal, sys, time
seen = b''
def read(fd):
    global seen
    data = os.read(fd, 4096)
    seen += data
    return data
pid, fd = pty.fork()
if pid == 0:
    os.dup2(os.open('/dev/null', os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
for _ in range(8):	# held now and then, so that the load lasts longer than what is drawn at all, on any machine
    time.sleep(0.02)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.15)
    os.kill(pid, signal.SIGCONT)
try:
    while read(fd):
        pass
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
X
awk 'BEGIN { print "time,gpus,team"; for (i = 0; i < 1500000; i++) printf "%d,%d,t%d\n", 1700000000 + 60 * int(i / 30), i % 9, i % 30 }' >long.csv
if command -v python3 >/dev/null 2>&1 && python3 -c 'import os, pty; os.close(pty.openpty()[0])' 2>/dev/null; then
	TERM=xterm COLUMNS=100 python3 terminal.py "$BERTH" --now "$NOW" --store long.db record csv long.csv >drawn
	tr '\r' '\n' <drawn | grep -Eq 'record long.csv: [0-9]+ rows, [0-9]+/s, [0-9]+%, [0-9hms]+ left'
	ok $? "rows, rate, share and time left: $(tr '\r' '\n' <drawn | grep -E 'left' | tail -n 1 | tr -d '\033')"
	run --store long.db record csv long.csv
	! grep -q 'left' "$err"
	ok $? 'nothing of it without a terminal'
else
	skip 'progress on a terminal' 'no python3 or no pseudo terminal'
fi
done_testing
