#!/bin/sh
# Sums: --total and --by add up step by step; recorded totals, series that ended, events of one series, wrong use.
NOW=2026-12-01T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

awk 'BEGIN { print "series,timestamp,gpus,team"; for (i = 0; i < 1000; i++) { t = 1796083200 - 3600 * (1000 - i)
	printf "a,%d,%.2f,nlp\n", t, 40 + 9 * sin(i * 6.2832 / 24) + (i * 7919) % 101 / 25
	printf "b,%d,%.2f,nlp\n", t, 20 + int(i / 90) % 3 * 8
	printf "c,%d,%.2f,bio\n", t, 10 + (i * 131) % 17 / 4
	if (i < 700) printf "old,%d,5,bio\n", t } }' >u.csv
run record csv u.csv
expect_exit 0
run forecast --total --by team --horizon 48h --points -o csv
expect_exit 0
expect_err_has 'series old has no samples since .* it is in no sum'
awk -F, 'NR > 1 && $1 !~ /total|=/ { s[$2] += $3; if ($1 != "c") nlp[$2] += $3 } NR > 1 && $1 == "total" { t[$2] = $3 }
	NR > 1 && $1 == "team=nlp" { g[$2] = $3 }
	END { for (k in t) { n++; if ((t[k] - s[k]) ^ 2 > 1e-8 || (g[k] - nlp[k]) ^ 2 > 1e-8) bad++ } exit !(n == 48 && bad == 0) }' "$out"
ok $? "at every step the series add up to their team and to the total"
run forecast --by team --horizon 48h -o json
expect_json '$.sums[0].name' total
expect_json '$.sums[1].name' team=bio
expect_json '$.sums[2].name' team=nlp
expect_json '$.sums[2].of[1]' b
expect_json '$.series[3].name' total
expect_json_near '$.series[3].points[0].mean' "$(json '$.series[0].points[0].mean' | awk -v b="$(json '$.series[1].points[0].mean')" \
    -v c="$(json '$.series[2].points[0].mean')" '{ print $1 + b + c }')" 1e-5
for how in mint bottom-up; do
	run forecast --total --reconcile $how --horizon 48h --points -o csv
	awk -F, 'NR > 1 && $1 != "total" { s[$2] += $3 } $1 == "total" { t[$2] = $3 }
		END { for (k in t) { n++; if ((t[k] - s[k]) ^ 2 > 1e-8) bad++ } exit !(n == 48 && bad == 0) }' "$out"
	ok $? "--reconcile $how adds up"
done
run forecast --by team --horizon 48h -o csv --columns series,mean
awk -F, '{ v[$1] = $2 } END { d = v["a"] + v["b"] + v["c"] - v["total"]; e = v["a"] + v["b"] - v["team=nlp"]
	exit !(v["total"] > 50 && d * d < 1e-3 && e * e < 1e-3) }' "$out"
ok $? "and on average in the table"

# Names hold the commas that cut lists: "accelerator=H100,team=nlp".
sed 's/^[ab],/"accelerator=H100,team=&/; s/^\("[^,]*,team=.\),/\1",/; /^c,/d; /^old,/d' u.csv >n.csv
run --store n.db record csv n.csv
run --store n.db forecast -s accelerator=H100,team=a --horizon 48h --capacity accelerator=H100,team=a=44,90 \
    --cap accelerator=H100,team=a=46 -o csv --columns series,peak_p99,capacity
expect_out_has '^"accelerator=H100,team=a",46,44$' "a name with a comma in --series, --capacity and --cap"
run --store n.db forecast -s accelerator=H100,team=a,accelerator=H100,team=b --horizon 48h -o csv --columns series
expect_out_has 'team=b"$' "two of them"
run --store n.db forecast -s accelerator=H100,team=x --horizon 48h
expect_exit 1
run --store n.db forecast --capacity accelerator=H100,team=a=many
expect_exit 2
printf 'events:\n  - {name: e, series: a, gpus: 100, start: 2026-12-01T12:00:00Z}\n' >e.yaml
run forecast --total --horizon 48h --events e.yaml -o json
expect_json_near '$.series[3].points[40].mean' 180 20 "an event of one series is in the total"
expect_json_near '$.series[3].points[5].mean' 80 20
expect_json '$.series[3].events[0].name' e

# The size of a fleet binds the sums too: of every series, of one that is named, of the quotas that are known.
caps() {	# caps NAME CONDITION: on series, step, mean, p99 of all rows; and all adds up
	awk -F, 'NR > 1 && !('"$2"') { bad++ } NR > 1 && $1 !~ /total|=/ { s[$2] += $3 } $1 == "total" { t[$2] = $3 }
		END { for (k in t) { n++; if ((t[k] - s[k]) ^ 2 > 1e-8) bad++ } exit !(n == 48 && bad == 0) }' "$out"
	ok $? "$1"
}
run forecast --total --horizon 48h --cap 60 --points -o csv
caps "--cap binds the total: nothing passes 60, and all adds up" '$3 <= 60 && $14 <= 60'
run forecast --by team --horizon 48h --cap team=nlp=50,c=9 --points -o csv
caps "--cap of a sum and of a series by name" '($1 != "team=nlp" || $14 <= 50) && ($1 != "c" || $14 <= 9)'
awk -F, '$1 == "team=nlp" && $14 > 49 { n++ } END { exit !n }' "$out"
ok $? "no more than that is taken"
run forecast --by team --horizon 48h --cap team=nlp=50 --events e.yaml -o json
awk -v p="$(json '$.series[5].peak.p99')" 'BEGIN { exit !(p <= 50 + 1e-6) }'
ok $? "events do not lift a sum over its cap ($(json '$.series[5].name') $(json '$.series[5].peak.p99'))"
expect_json_near '$.series[3].points[40].mean' "$(json '$.series[0].points[40].mean' | awk -v b="$(json '$.series[1].points[40].mean')" \
    -v c="$(json '$.series[2].points[40].mean')" '{ print $1 + b + c }')" 1e-3
run forecast --total --cap 60 --requested
expect_exit 2
expect_err_has 'bounds what runs, not what is asked for'
run forecast --total --cap many
expect_exit 2
expect_err_has 'write 512, SERIES=512, or quota'
run forecast --total --cap x=5 --horizon 24h --brief
expect_err_has "'x' is none of the series"

# A recorded total is the total's history, and no part of it.
awk 'BEGIN { print "series,timestamp,gpus"; for (i = 0; i < 1000; i++)
	printf "total,%d,%.2f\n", 1796083200 - 3600 * (1000 - i), 74 + (i * 7919) % 101 / 25 }' >t.csv
run record csv t.csv
run forecast --total --horizon 48h -o json
expect_json '$.series[3].name' total
expect_json '$.series[4].name' '' "the recorded total is no leaf"
expect_json_near '$.series[3].points[5].mean' 78 8

# Quotas are those of the accelerator that all series of a sum have.
awk 'BEGIN { print "series,timestamp,gpus,team,accelerator"; for (i = 0; i < 1000; i++) { t = 1796083200 - 3600 * (1000 - i)
	printf "p,%d,%.2f,x,H100\nq,%d,%.2f,y,H100\nl,%d,3,y,L4\n", t, 40 + (i * 7919) % 101 / 25, t, 30 + (i * 131) % 17 / 4, t } }' >q.csv
printf 'limits:\n  - {name: main, accelerator: H100, limit: 64}\n' >q.yaml
run --store q.db record csv q.csv
run --store q.db --config q.yaml forecast --by accelerator --horizon 48h -o json
expect_json '$.series[4].name' accelerator=H100
expect_json '$.series[4].capacity[0].name' 'quota main' "the sum of one accelerator is held against its quota"
expect_json_near '$.series[4].capacity[0].passed' 1 0.01 "together they pass it"
expect_json_near '$.series[1].capacity[0].passed' 0 0.01 "none does alone"
run --store q.db --config q.yaml forecast --horizon 48h --brief
expect_err_has 'quota main is shared by p, q: --by accelerator'
run --store q.db --config q.yaml forecast --by accelerator --horizon 48h --cap quota -o json
expect_json_near '$.series[4].points[5].mean' 64 0.001 "--cap quota keeps the sum to it"
expect_json_near '$.series[5].points[5].mean' 3 0.5 "what has no quota is not capped"
expect_json '$.series[4].capacity[0].passed' 0.000000

run forecast --by nothing
expect_exit 1
expect_err_has "none of the series has a label 'nothing'"
run forecast --total --backtest
expect_exit 2
run forecast --total --reconcile best
expect_exit 2
awk 'BEGIN { print "series,timestamp,gpus"; for (i = 0; i < 40; i++) printf "daily,%d,3\n", 1796083200 - 86400 * (40 - i) }' >d.csv
run record csv d.csv --step 1d
run forecast --total
expect_exit 1
expect_err_has 'can not be added up'
done_testing
