#!/bin/sh
# berth plan on what is rare: a large event of low chance, an offer that is sold out now or always, and GPUs that stand idle.
. "$TOP_SRCDIR/tests/cli/lib.sh"

offers() {	# offers AVAILABLE: of the cheapest
	cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency,available
acme,r1,one,H100,1,on_demand,,,,2,USD,$1
bold,r1,one,H100,1,on_demand,,,,3,USD,yes
acme,r1,one,H100,1,reserved,12,none,0,1.2,USD,
CSV
}
flat() {	# flat GPUS NAME
	awk -v g="$1" -v s="$2" 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 0; h < 56 * 24; h++) print 1791201600 + 3600 * h "," g "," s ",H100" }'
}

# Two GPUs, and 300 more from a week on with a chance of 5 %: no path is absurd that a named event makes, whatever the seed.
flat 2 base >base.csv
run record csv base.csv
offers yes
run prices import offers.csv
expect_exit 0
printf 'schema: berth.roadmap/1\nevents:\n  - {name: win, series: base, gpus: 300, start: 2026-12-07, probability: 0.05}\n' >road.yaml
for seed in 1 2; do
	run plan base --horizon 4w --no-spot --events road.yaml --seed "$seed" --service-level 0.98 --write-demand d.csv -o json
	expect_exit 0
	! grep -q absurd "$out"
	ok $? "no path of the event is cut (seed $seed)"
	want=$(awk -F, 'NR > 1 { k = $2; if ($5 + 0 > p[k]) p[k] = $5 } END { for (k in p) n += p[k] > 290; print n / 200 }' d.csv)
	[ "$want" = 0.05 ]
	ok $? "5 % of the paths have it: $want"
	awk -v p="$(json '$.series[0].peak')" 'BEGIN { exit !(p > 300 && p < 306) }'
	ok $? "the peak at 0.98 is with it: $(json '$.series[0].peak')"
	awk -v m="$(json '$.series[0].mean')" -v n="$want" 'BEGIN { w = 2 + n * 300 * 21.5 / 28; exit !(m > 0.85 * w && m < 1.15 * w) }'
	ok $? "its GPUs are in the mean: $(json '$.series[0].mean')"
done
# The same of a sum of series.
run plan --total --horizon 4w --no-spot --events road.yaml --service-level 0.98 -o json
expect_exit 0
! grep -q absurd "$out"
ok $? "nor of a sum"
awk -v m="$(json '$.series[0].mean')" 'BEGIN { exit !(m > 6) }'
ok $? "a sum has the event: $(json '$.series[0].mean')"

# That there is none now says nothing of weeks: the price of the plan is that of the offer, and it says what it counts on.
flat 2 two >two.csv
run --store now.db record csv two.csv
offers no
run --store now.db prices import offers.csv
run --store now.db plan two --no-spot --horizon 8w -o json
expect_exit 0
expect_json_near '$.series[0].rest[0].price_per_gpu_hour' 2 1e-9
run --store now.db plan two --no-spot --horizon 8w
tr -s ' \n' ' ' <"$out" | grep -q 'sold out now: acme r1 one on_demand'
ok $? "it says that what it counts on is sold out now"
run --store now.db plan --replay 1
expect_exit 0
# Said again and again for four weeks, it is believed; for three it is not.
days() {	# days N: readings of so many days up to now
	rm -f long.db
	run --store long.db record csv two.csv
	k=$1
	while [ "$k" -ge 0 ]; do
		at=$(date -u -d "$NOW - $k days" +%Y-%m-%dT%H:%M:%SZ)
		"$BERTH" --now "$at" --store long.db prices import offers.csv >/dev/null 2>&1
		k=$((k - 7))
	done
	run --store long.db plan two --no-spot --horizon 8w -o json
}
days 28
expect_exit 0
expect_json_near '$.series[0].rest[0].price_per_gpu_hour' 3 1e-9
expect_json '$.series[0].refused.unavailable' 1
run --store long.db plan two --no-spot --horizon 8w
tr -s ' \n' ' ' <"$out" | grep -q '1 offer is left out: sold out at every reading for four weeks'
ok $? "what was sold out for four weeks is left out, and it says so"
run --store long.db plan --replay 1
expect_exit 0
NOW=2026-12-20T12:00:00Z
"$BERTH" --now "$NOW" --store long.db prices import offers.csv >/dev/null 2>&1
run --store long.db plan --replay 1
expect_exit 0 "later readings change no plan that was made"
NOW=2026-11-30T12:00:00Z
days 21
expect_json_near '$.series[0].rest[0].price_per_gpu_hour' 2 1e-9

# Idle GPUs: 12 are in use, 5 stood idle all the time of these four weeks; 5 machines of those that are bought need not be.
offers yes
flat 12 twelve >twelve.csv
run --store idle.db record csv twelve.csv
run --store idle.db prices import offers.csv
run --store idle.db plan twelve --no-spot --horizon 8w -o json
expect_json '$.series[0].buys[0].count' 12
expect_json '$.series[0].reclaim.gpus_used' 0
expect_json '$.series[0].reclaim.not_bought[0].count' ''
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 672; h > 0; h--) print 1796040000 - 3600 * h ",5.5,idle,H100" }' >idle.csv
run --store idle.db record csv --unit gpu_held_idle idle.csv
run --store idle.db plan twelve --no-spot --horizon 8w -o json
expect_json_near '$.series[0].reclaim.gpus' 5.5 1e-6
expect_json '$.series[0].reclaim.gpus_used' 5
expect_json '$.series[0].reclaim.not_bought[0].count' 5
expect_json '$.series[0].reclaim.not_bought[0].term_months' 12
expect_json_near '$.series[0].reclaim.not_bought[0].bound' 8064 1e-3	# 5 x 1.2 x 1344 h
expect_json_near '$.series[0].reclaim.saves' 8064 1e-2
run --store idle.db plan twelve --no-spot --horizon 8w
tr -s ' \n' ' ' <"$out" | grep -q 'with 5 of them in use for this series, these need not be bought: 5 x acme r1 one reserved 12 months, nothing upfront, and 8064.00 USD less'
ok $? "the table says which purchases they replace"
run --store idle.db explain plan
tr -s ' \n' ' ' <"$out" | grep -q 'these need not be bought: 5 x acme r1 one'
ok $? "so does berth explain"

# Names that nobody has are said, with what may be meant; a least share that nothing can fill lets nothing be bought.
flat 4 four >four.csv
run --store names.db record csv four.csv
run --store names.db prices import offers.csv
run --store names.db plan four --no-spot --horizon 52w --provider 'a*' -o json
expect_exit 0
! grep -q 'no offer is of such' "$err"
ok $? "a pattern that fits is no cause for a word"
expect_json '$.series[0].buys[0].count' 4
run --store names.db plan four --no-spot --share 'acm=0.5..' --share 'gone=..0.2'
expect_exit 0
expect_err_has "--share 'acm': no offer is of such a provider; did you mean acme?"
expect_err_has "--share 'gone': no offer is of such a provider; .berth prices list. names those there are"
tr -s ' \n' ' ' <"$out" | grep -q 'acm: 0 of 0 GPUs that are owned or bought (asked: 50 to 100 %): it reserves nothing that fits, so that nothing may be bought at all'
ok $? "why nothing is bought"
run --store names.db plan four --no-spot --share 'acme=0.5..'
expect_exit 0
expect_out_lacks 'nothing may be bought'
run --store names.db plan four --region r2,r1
expect_exit 0
expect_err_has "--region 'r2': no offer is of such a region; did you mean r1?"
run --store names.db plan four --region r2 --provider bolt
expect_exit 3
expect_err_has "--provider 'bolt': no offer is of such a provider; did you mean bold?"
tr -s ' \n' ' ' <"$err" | grep -q 'residency 3; allow more by --region, or see'
ok $? "the next step is the option that keeps all out"
# One GPU is one, and a horizon of hours is told in hours.
flat 1 single >single.csv
run --store names.db record csv single.csv
run --store names.db plan single --no-spot --horizon 5h
expect_out_has 'Expected cost over 5h: '
expect_out_has 'GPU 1 is busy 100.0 % of the time: reserve'
! grep -Eq 'GPUs 1-1|[^0-9]1 GPUs|100.0 to 100.0' "$out"
ok $? "no plural of one"
done_testing
