#!/bin/sh
# Factors at which a plan under a budget or shares would buy another number, told and then tried: reserved prices through the
# price list, demand through an event of the roadmap.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run init
awk 'BEGIN {
	srand(5)
	print "timestamp,gpus,series,accelerator"
	for (h = 0; h < 28 * 24; h++) {
		v = 20 + 8 * sin(6.2831853 * h / 24) + (int(h / 24) % 7 < 5 ? 4 : 0) + 6 * (rand() - .5)
		printf "%d,%.3f,s,H100-SXM5-80GB\n", 1796040000 - 28 * 86400 + 3600 * h, v
	}
}' >use.csv
run record csv use.csv
expect_exit 0
offers() {	# offers FACTOR: on the prices of what is reserved
	awk -v f="$1" 'BEGIN {
		print "provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,usage_price_per_hour"
		print "acme,r1,one,H100-SXM5-80GB,1,on_demand,,,,2.4,"
		print "acme,r1,one,H100-SXM5-80GB,1,spot,,,,0.9,"
		printf "acme,r1,oct,H100-SXM5-80GB,8,reserved,1,none,0,%.7f,\n", 7.8 * f
		printf "acme,r1,two,H100-SXM5-80GB,2,reserved,12,none,0,%.7f,%.7f\n", 2.9 * f, 0.16 * f
		printf "bold,r1,one,H100-SXM5-80GB,1,reserved,12,none,0,%.7f,\n", 1.55 * f
	}' >offers.csv
	run prices import offers.csv
}
events() { # events FACTOR: on demand
	printf 'schema: berth.roadmap/1\nevents:\n  - { name: e, series: s, factor: %s, start: %s }\n' "$1" "$NOW" >r.yaml
}
bought() {
	run plan s --horizon 8w --paths 25 --list-prices "$@" -o json
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '$1 ~ /^\$\.series\[0\]\.buys\[[0-9]*\]\.gpus$/ { n += $2 } END { print n + 0 }'
}
used() { awk -F , 'NR > 1 { n += $4 } END { printf "%.9g", n }' "$1"; }
around() {	# around SIDE: short of the factor $f, and past it, by 1e-4
	case $1 in *up) set -- 0.9999 1.00001 ;; *) set -- 1.0001 0.99999 ;; esac
	awk -v f="$f" -v a="$1" -v b="$2" 'BEGIN { printf "%.9f %.9f", f * a, f * b }'
}
turns=0 spots=0
for rule in '--budget 16100' '--provider acme --spot-share 0.3' '--provider acme --budget 22000 --spot-share 0.1' '--budget 15000 --no-spot' '--share acme=..0.6 --no-spot' '--share acme=..0.6 --budget 24000 --no-spot'; do
	offers 1
	was=$(bought $rule --write-demand demand.csv)
	cp "$out" told.json
	events 1
	bought $rule --events r.yaml --write-demand event.csv >/dev/null
	as_is=$(awk -v a="$(used demand.csv)" -v b="$(used event.csv)" 'BEGIN { printf "%.9f", b / a }')	# paths with an event are not raised
	for side in reserved_price_up reserved_price_down demand_up demand_down; do
		cp told.json "$out"
		f=$(json "\$.series[0].what_changes_it.$side.factor") told=$(json "\$.series[0].what_changes_it.$side.gpus")
		[ "$f" != null ] || continue
		turns=$((turns + 1))
		case $rule$side in *--spot-share*demand*) spots=$((spots + 1)) ;; esac
		[ "$told" != "$was" ]
		ok $? "$rule, $side: another number than $was is told ($told)"
		want=$was
		for x in $(around $side); do
			case $side in
			reserved*) offers "$x"; got=$(bought $rule) ;;
			*) offers 1; events "$(awk -v x="$x" -v c="$as_is" 'BEGIN { printf "%.9f", x / c }')"; got=$(bought $rule --events r.yaml) ;;
			esac
			[ "$got" = "$want" ]
			ok $? "$rule, $side at $x: $want GPUs are bought ($got)"
			want=$told
		done
	done
done
[ $turns -ge 8 ]
ok $? "turns were told: $turns"
[ $spots -ge 2 ]
ok $? "... in demand with spot, which may carry a share of its peak: $spots"
done_testing
