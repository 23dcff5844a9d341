#!/bin/sh
# Plans are made again byte for byte whatever is loaded after them: steps that were missing, that are corrected, and a time before all of it.
NOW=2026-11-30T12:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

# Six weeks of hours that end at noon; eight GPUs by day and four by night. Two days of the third week are missing.
hours() {	# hours FROM TO VALUE [SKIP-FROM SKIP-TO]: hours of the six weeks; VALUE is awk with h
	awk -v f="$1" -v t="$2" -v sf="${4:--1}" -v st="${5:--1}" 'BEGIN { print "timestamp,gpus,series,accelerator"
		for (h = f; h < t; h++) if (h < sf || h >= st) print 1796040000 - 42 * 86400 + 3600 * h "," '"$3"' ",flat,H100" }'
}
costs=
made() {	# made [SERIES]: a plan of now: its id into ids, what on demand alone would cost into costs
	run plan "${1:-flat}" --no-spot --paths 20 -o json
	expect_exit 0
	id=$(json '$.id')
	ids="$ids $id"
	costs="$costs $(json '$.series[0].on_demand_only_cost')"
}
again() {	# again PLAN WHEN
	run plan --replay "$1"
	expect_out_has "^Plan $1 comes out the same, byte for byte" "$2: plan $1 comes out the same"
}
plans() {	# plans WHEN: all of them
	for p in $ids; do again "$p" "$1"; done
}
cat >offers.csv <<-CSV
	provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour
	acme,r1,one,H100,1,on_demand,,,,8
	acme,r1,one,H100,1,reserved,12,none,,5
CSV
run init --no-prices
run prices import offers.csv
day='(h % 24 < 12 ? 8 : 4)'
hours 0 1008 "$day" 400 448 >use.csv
run record csv use.csv
expect_exit 0
made
plans "at once"

# What was missing comes, of twice the demand; a plan of then is another one.
hours 400 448 20 >late.csv
run record csv late.csv
expect_exit 0
plans "missing steps that came"
made
plans "a plan behind it"

# Corrections, twice over, of the same steps and of others.
hours 410 460 3 >fixed.csv
run record csv fixed.csv
plans "steps that were corrected"
made
hours 380 470 12 >fixed.csv
run record csv fixed.csv
hours 380 470 13 >fixed.csv
run record csv fixed.csv
plans "steps that were corrected again"

# A time before all that was there.
hours -336 0 2 >before.csv
run record csv before.csv
expect_exit 0
plans "two weeks before the first step"
made
hours 1008 1020 30 >on.csv
NOW=2026-12-01T00:00:00Z
run record csv on.csv
plans "what went on"

# They are no copies of one plan: what each found differs.
[ "$(printf '%s\n' $costs | sort -u | wc -l)" -eq 4 ]
ok $? "four plans of four histories:$costs"
run store check
expect_exit 0
# Without a plan behind them loads keep nothing.
run store export sample_was
expect_exit 0
n=$(wc -l <"$out")
hours 900 910 9 >more.csv
run record csv more.csv
run store export sample_was
[ "$(wc -l <"$out")" -eq $((n + 10)) ]
ok $? "ten steps that the last plan read are kept as it found them"
hours 900 910 10 >more.csv
run record csv more.csv
run store export sample_was
[ "$(wc -l <"$out")" -eq $((n + 10)) ]
ok $? "once for all loads until the next plan"
plans "at the end"

# A step of which two thirds are known, and then all.
awk 'BEGIN { print "timestamp,gpus,series,accelerator"
	for (i = 0; i < 3024; i++) if (i != 1502) print 1796040000 - 42 * 86400 + 1200 * i "," (i % 72 < 36 ? 8 : 4) ",part,H100" }' >part.csv
run record csv --step 1h part.csv
expect_exit 0
NOW=2026-11-30T12:00:00Z
ids='' costs=
made part
printf 'timestamp,gpus,series,accelerator\n%d,40,part,H100\n' $((1796040000 - 42 * 86400 + 1200 * 1502)) >rest.csv
run record csv --step 1h rest.csv
expect_exit 0
plans "the rest of a step"
made part
[ "$(printf '%s\n' $costs | sort -u | wc -l)" -eq 2 ]
ok $? "the step counts otherwise now:$costs"
plans "beside a plan that found all of it"

# What is rolled up has no single steps any more: that is said.
kept() {	# steps of 2026-11-05 that are kept for plans
	run store export sample_was
	grep -c '"t":17938[0-9]*,' "$out"
}
[ "$(kept)" -gt 0 ]
ok $? "plans found other steps"
run store rollup --raw 10d --hourly 20d
expect_exit 0
run plan --replay "${ids##* }"
expect_exit 1
expect_err_has 'the history of part before 2026-11-[0-9T:]*Z has been rolled up since, and its single steps are not kept'
run store check
expect_exit 0
[ "$(kept)" -eq 0 ]
ok $? "nor is what plans found of them"

# What the GPUs were: told where nothing was said, told otherwise, and of a part.
named() {	# named PRODUCT FROM TO: hours of a series whose name says less
	awk -v p="$1" -v f="$2" -v t="$3" 'BEGIN { print "timestamp,gpus,series,accelerator"
		for (h = f; h < t; h++) print 1796040000 - 42 * 86400 + 3600 * h "," (h % 24 < 12 ? 8 : 4) ",cards," p }' >cards.csv
	run record csv cards.csv
	expect_exit 0
}
ids= costs=
cat >h100.csv <<-CSV
	provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour
	nova,r1,pcie,H100-PCIE-80GB,1,on_demand,,,,6
	nova,r1,sxm,H100-SXM5-80GB,1,on_demand,,,,9
	nova,r1,sxm,H100-SXM5-80GB,1,reserved,12,none,,5
CSV
run prices import h100.csv
named H100-80GB 0 1008
made cards
named H100-PCIE-80GB 0 1008
plans "its product was told"
made cards
named H100-SXM5-80GB 0 500
plans "it was told otherwise"
made cards
named H100-PCIE-80GB 0 504
named H100-80GB 1000 1010
plans "it was told twice more"
made cards
plans "at the end"
[ "$(echo $costs | tr ' ' '\n' | sort -u | wc -l)" -ge 3 ]
ok $? "and they are other plans: $costs"
done_testing
