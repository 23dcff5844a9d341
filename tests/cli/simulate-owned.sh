#!/bin/sh
# berth simulate commit with what is owned: it serves first in every rule, as long as it holds; purchases beside it are
# held against all that there are, one after the other.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run init --no-prices
# Ten GPUs for three hours of four, from noon of 2026-08-24 for 56 days; another one that is flat. Noon of 2026-09-21 is the split.
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 0; h < 56 * 24; h++) {
	print 1787572800 + 3600 * h "," (h % 4 < 3 ? 10 : 0) ",square,H100"
	print 1787572800 + 3600 * h ",10,flat,H100" } }' >use.csv
run record csv use.csv
own() {	# own COUNT GPUS FROM TO [USAGE]: in place of what was owned
	run commitments --all -o csv --columns id
	for id in $(grep '^[0-9]' "$out"); do run commitments delete "$id"; done
	printf 'provider,accelerator,accelerator_count,count,from,to,usage_price_per_hour\nacme,%s,%s,%s,%s,%s,%s\n' \
		"${6:-H100}" "$2" "$1" "$3" "$4" "${5:-0}" >own.csv
	run commitments import own.csv
	expect_exit 0
}
# cost GPUS RATIO OWNED HOURS: of so many reserved ones, where so many are owned for the first hours of 672
cost() {
	awk -v g="$1" -v r="$2" -v o="$3" -v n="$4" 'BEGIN { for (h = 0; h < 672; h++) {
		d = (h % 4 < 3 ? 10 : 0) - (h < n ? o : 0) - g; c += r * g + (d > 0 ? d : 0) } print c }'
}
least() { for g in 0 1 2 3 4 5 6 7 8 9 10 11; do cost $g "$@"; done | sort -n | head -1; }

# Four are owned until half of what is replayed is over.
own 2 2 2026-01-01 2026-10-05T12:00:00Z
for r in 0.3 0.6 0.8; do
	run simulate commit square --reserved $r -o json
	expect_exit 0
	expect_err_has '1 commitment that you own serves first in every rule'
	expect_json '$.by[0].owned_gpus' 2.000
	expect_json_near '$.by[0].cost' "$(cost 0 $r 4 336)" 1e-3 "on demand for what passes what is owned"
	expect_json_near '$.by[5].cost' "$(least $r 4 336)" 1e-3 "no number is better than hindsight's"
	expect_json_near '$.by[1].reserved_gpus' 6 0 "to the mean of 7.5: 3.5 and 7.5 lack"
	expect_json_near '$.by[1].cost' "$(cost 6 $r 4 336)" 1e-3
	expect_json_near '$.by[2].reserved_gpus' 8 0 "to the highest: 6 and 10 lack"
	expect_json_near '$.by[2].cost' "$(cost 8 $r 4 336)" 1e-3
	expect_json_near '$.by[3].cost' "$(least $r 4 336)" 1e-3 "the past is like what came"
	expect_json '$.by[4].policy' berth
	awk -v a="$(json '$.by[4].cost')" -v b="$(least $r 4 336)" 'BEGIN { exit !(a >= b - 1e-3 && a <= 1.02 * b) }'
	ok $? "berth's own plan at $r comes within 2 % of the least of all numbers"
done
run simulate commit square --reserved 0.6 -o csv
expect_out_has '^series,reserved,policy,reserved_gpus,mean,over_hindsight,owned_gpus$'

# With another purchase each two weeks the second begins where what is owned has ended.
run simulate commit square --reserved 0.6 --every 2w -o json
expect_json_near '$.by[5].reserved_gpus' 8 0 "six, then ten"
expect_json_near '$.by[1].reserved_gpus' 6 0 "four, then eight"

# A commitment in the past alone, or of another accelerator, changes nothing.
run commitments delete 1
expect_exit 0
run simulate commit square --reserved 0.6 -o json
grep -v '"owned_gpus"' "$out" >without
own 2 2 2026-01-01 2026-09-21T12:00:00Z
run simulate commit square --reserved 0.6 -o json
grep -v '"owned_gpus"' "$out" | cmp -s - without
ok $? "what ended before the split changes nothing"
expect_err_has '1 of the 1 commitments that you own is not counted'
own 2 2 2026-01-01 2027-01-01 0 A100
run simulate commit square --reserved 0.6 -o json
grep -v '"owned_gpus"' "$out" | cmp -s - without
ok $? "another accelerator changes nothing"
expect_err_has '1 of the 1 commitments that you own is not counted'

# Two series: machines of 3 go where they are in use most; the fourth would have one GPU in use there, 2.25 here.
own 5 3 2026-01-01 2027-01-01
run simulate commit flat square --reserved 0.6 -o json
expect_json '$.by[0].owned_gpus' 9.000 "three machines to the one that is always in use"
expect_json '$.by[6].owned_gpus' 6.000 "the others to that of three hours of four"
expect_json_near '$.by[0].cost' 672 1e-3
expect_json_near '$.by[6].cost' "$(cost 0 0 6 672)" 1e-3

# Where nothing is left to pay for there is no share of it, and the means are of the other series.
own 1 10 2026-01-01 2027-01-01 0.5
run simulate commit flat --reserved 0.6 -o json
expect_err_has 'what 1 of them asks for its use is not counted'
expect_json '$.by[0].cost' 0.000
expect_json '$.by[0].mean' null
expect_json '$.policies[5].runs' 0
expect_json '$.policies[5].mean' null
run simulate commit flat square --reserved 0.6 -o json
expect_json '$.policies[0].runs' 1
expect_json '$.policies[0].mean' 1.000000
run simulate commit flat --reserved 0.6
expect_exit 0
! grep -q nan "$out"
ok $? "and the table has no number there"
run simulate commit flat square --reserved 0.6 --svg c.svg -o json
expect_exit 0
! grep -q nan c.svg
ok $? "nor has the chart"

# Cards of a group count at their rates, as the plan has them: a PCIe card is 756 of 989 of the fastest, by the vendor's sheets.
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 0; h < 56 * 24; h++)
	print 1787572800 + 3600 * h "," (h % 4 < 3 ? 10 : 0) ",grouped,H100-80GB" }' >group.csv
run record csv group.csv
expect_exit 0
own 4 1 2026-01-01 2027-01-01 0 H100-PCIE-80GB
pcie=$(awk 'BEGIN { printf "%.9f", 4 * 756 / 989 }')
run simulate commit grouped --reserved 0.6 -o json
expect_json_near '$.by[0].owned_gpus' "$pcie" 1e-3 "four PCIe cards are 3.06 of the fastest"
expect_json_near '$.by[0].cost' "$(cost 0 0.6 "$pcie" 672)" 1e-2
expect_json_near '$.by[5].cost' "$(least 0.6 "$pcie" 672)" 1e-2 "hindsight counts them so too"
own 4 1 2026-01-01 2027-01-01 0 H100-SXM5-80GB
run simulate commit grouped --reserved 0.6 -o json
expect_json '$.by[0].owned_gpus' 4.000 "the fastest are whole ones"
# History that ran on PCIe cards alone is counted in those.
sed 's/H100-80GB/H100-PCIE-80GB/; s/grouped/alone/' group.csv >alone.csv
run record csv alone.csv
own 4 1 2026-01-01 2027-01-01 0 H100-PCIE-80GB
run simulate commit alone --reserved 0.6 -o json
expect_json '$.by[0].owned_gpus' 4.000 "and so are PCIe cards for work that ran on them alone"
done_testing
