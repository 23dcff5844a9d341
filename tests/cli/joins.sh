#!/bin/sh
# Series that were renamed or split: they are noticed, and `joins` of berth.yaml puts their history in front.
NOW=2026-12-01T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

# until, from: the old name holds until hour 1300 of 1400; H100 after it. A100 is split in two; L4 goes on all the time.
awk 'BEGIN { print "series,timestamp,gpus"; for (i = 0; i < 1400; i++) { t = 1796083200 - 3600 * (1400 - i)
	v = 100 + 40 * sin(i * 6.2832 / 24) + (i * 7919) % 101 / 25
	printf "%s,%d,%.3f\n", i < 1250 ? "h100-old" : "H100", t, v
	if (i < 1200) printf "A100,%d,%.3f\n", t, v / 2
	else { printf "A100-x,%d,%.3f\n", t, v * .3; printf "A100-y,%d,%.3f\n", t, v * .2 }
	printf "L4,%d,%.3f\n", t, 30 + i % 5
	if (i > 1250) printf "T4,%d,3\n", t } }' >u.csv
run record csv u.csv
expect_exit 0
run forecast --horizon 24h --brief
expect_exit 0
expect_err_has 'series h100-old ended on 2026-11-24 at a level of 10[0-9.]+ as H100 began at 10[0-9.]+: if it was renamed'
expect_err_has 'series A100 ended on .* as A100-x, A100-y began at 5[0-9.]+ together: if it was split'
[ "$(grep -c 'say so in joins' "$err")" -eq 2 ]
ok $? "nothing else looks renamed"

mkdir -p .config/berth
cat >.config/berth/berth.yaml <<'Y'
joins:
  - {series: H100, from: h100-old}
  - {series: A100-x, from: [A100], share: 0.6}
  - {series: A100-y, from: A100, share: 0.4}
Y
run forecast --horizon 24h -o json
expect_exit 0
! grep -q 'say so in joins' "$err"
ok $? "what is joined is not warned of"
expect_json '$.series[0].name' A100-x
expect_json '$.series[0].history.samples' 1400 "its history is all there"
expect_json '$.series[0].joined.from[0]' A100
expect_json '$.series[0].joined.share' 0.600000
expect_json '$.series[0].shifts[0].t' '' "and has no step where it was split"
expect_json '$.series[2].name' H100
expect_json '$.series[2].history.samples' 1400
expect_json '$.series[2].joined.until' "$(date -u -d @$((1796083200 - 3600 * 150)) +%Y-%m-%dT%H:%M:%SZ)"
expect_json '$.series[3].name' L4
expect_json '$.series[3].joined.from[0]' ''
expect_json '$.series[5].name' '' "old names are left out"
cp "$out" "$TEST_TMP/joined.json"
# The same as one series that was never renamed: the same numbers.
sed 's/h100-old/H100/' u.csv | grep '^series\|^H100' >one.csv
run --store one.db record csv one.csv
run --store one.db --config /dev/null forecast H100 --horizon 24h --points -o csv
cp "$out" "$TEST_TMP/one"
run forecast H100 --horizon 24h --points -o csv
cmp -s "$out" "$TEST_TMP/one"
ok $? "a renamed series is forecast as if it had kept its name"
run forecast H100 --horizon 24h
expect_out_has 'history before 2026-11-24 is that of h100-old\.'
run forecast h100-old --horizon 24h --brief
expect_exit 0 "an old name that is asked for is forecast"
run forecast H100 --at 2026-11-26T00:00:00Z --horizon 24h -o json
expect_json '$.series[0].history.samples' 1280 "--at cuts the joined history too"
run prices import "$BERTH_DATA/offers.csv"
run plan --horizon 4w --gpu H100 --list-prices -o json
expect_exit 0
expect_json '$.series[2].name' H100
! grep -q 'h100-old' "$out"
ok $? "the plan leaves old names out"

bad() {	# bad TEXT PLACE MESSAGE
	printf 'joins:\n%s' "$1" >.config/berth/berth.yaml
	run forecast --horizon 24h
	expect_exit 1
	expect_err_has "berth.yaml:$2\$"
	expect_err_has "$3"
}
bad '  - {series: H100, form: h100-old}
' 2:20 "did you mean 'from'"
bad '  - {series: H100, from: H100}
' 2:26 'come from itself'
bad '  - {series: H100, from: L4}
  - {series: H100, from: T4}
' 3:5 'a second join'
bad '  - {series: H100, from: h100-old}
  - {series: h100-old, from: H100}
' '[23]:5' 'go round'
printf 'joins:\n  - {series: H100, from: h200}\n' >.config/berth/berth.yaml
run forecast H100
expect_exit 1
expect_err_has 'joins of berth.yaml'
done_testing
