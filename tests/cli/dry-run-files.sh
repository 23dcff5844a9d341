#!/bin/sh
# --dry-run: no verb writes the file that it is asked for, and each says so.
. "$TOP_SRCDIR/tests/cli/lib.sh"

awk 'BEGIN {
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 42 * 24; h++)
		print 1792411200 + 3600 * h "," 12 + h % 3 ",flat,H100"
}' >use.csv
run record csv use.csv
expect_exit 0
cat >offers.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,quad,H100,4,on_demand,,,,8,USD
acme,r1,quad,H100,4,reserved,1,none,0,4.8,USD
CSV
run prices import offers.csv
expect_exit 0

dry() {	# dry FILES ARG...: says of each file that it is not written, and leaves none; without --dry-run they are there
	files=$1
	shift
	run --dry-run "$@"
	expect_exit 0
	for f in $files; do
		grep -qx "dry run: $f is not written" "$out" "$err"
		ok $? "it says so of $f"
		[ ! -e "$f" ]
		ok $? "$f is not there"
	done
	run "$@"
	expect_exit 0
	for f in $files; do
		[ -s "$f" ]
		ok $? "$f is there without --dry-run"
		rm -f "$f"
	done
}
plan='plan flat --horizon 2w --paths 10 --no-spot'
dry 'x.lp x.csv' $plan --write-lp x.lp --write-demand x.csv
dry 'y.lp y.csv' $plan --starts 1w --write-lp y.lp --write-demand y.csv
dry f.svg forecast flat --horizon 1w --svg f.svg
dry c.svg simulate commit flat --svg c.svg
dry r.html report --html r.html
dry store.copy store backup store.copy
done_testing
