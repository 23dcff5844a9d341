#!/bin/sh
# berth forecast: histories that made other tools fail, the keys of the JSON, time, selection, backtest and scores.
. "$TOP_SRCDIR/tests/cli/lib.sh"

# Days from 2026-09-07 (a Monday): "series value value ..." on each line of standard input.
days() {
	awk 'BEGIN { print "series,timestamp,gpus" }
	{ for (i = 2; i <= NF; i++) printf "%s,%d,%s\n", $1, 1788739200 + 86400 * (i - 2), $i }'
}
# Checks of the points with awk: "field[n]" are the columns of -o csv --points.
points() {	# points NAME AWK-CONDITION
	awk -F, "NR > 1 && !($2) { bad++; print } NR > 1 { n++ } END { exit (bad > 0 || n == 0) }" "$out" >"$TEST_TMP/bad"
	ok $? "$1"
}

run forecast
expect_exit 1
expect_err_has 'there is none'
expect_err_has 'next: berth record csv FILE'
printf 'series,timestamp,gpus\n' >none.csv
run --store empty.db record csv none.csv
run --store empty.db forecast
expect_exit 1
expect_err_has 'no series'

days >d.csv <<'D'
zeros 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
once 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 3 0 0 0 0 0 0 0 0
one 12
two 12 16
nine 8 8 9 8 7 8 8 8 8
falling 40 36 32 28 24 20 16 12 8 4
five 10 12 14 12 12
week 18 18 18 18 18 6 6 18 18 18 18 18 6 6 18 18 18 18 18 6 6 18 18 18 18 18 6 6
D
run record csv d.csv --step 1d
expect_exit 0

run forecast zeros --horizon 14d --points -o csv
expect_exit 0
points "no demand: every forecast and bound is 0" '$3 == 0 && $4 == 0 && $14 == 0'
expect_err_has 'no demand'
run forecast once --horizon 14d --points -o csv
points "one day of demand: all between 0 and that day" '$3 >= 0 && $4 >= 0 && $14 <= 3'
run forecast one --horizon 7d --points -o csv
points "one value: it stays, in a band" '$3 == 12 && $4 < 12 && $14 > 12'
expect_err_has '1 observation'
run forecast two --horizon 7d --points -o csv
points "two values: finite, not negative" '$3 >= 0 && $4 >= 0 && $14 < 100'
expect_err_has '2 observations'
run forecast nine --horizon 7d --points -o csv
points "nine values: between 0 and 16" '$3 >= 0 && $3 <= 16 && $4 >= 0 && $14 <= 16'
expect_err_has 'too few for a weekly season'
run forecast falling --horizon 14d --points -o csv
points "a falling series does not pass 0, nor rise again" '$4 >= 0 && $3 <= 4'
run forecast five --horizon 7d --points -o csv
points "five values: within 5 to 20" '$3 >= 5 && $3 <= 20'
run forecast week --horizon 7d --points -o csv
points "18 on weekdays, 6 at weekends" '(NR <= 6 ? $3 - 18 : $3 - 6) ^ 2 < .0001'

run forecast --horizon 7d -o json
expect_exit 0 "one odd series does not stop the others"
expect_json '$.schema' berth.forecast/1
expect_json '$.step_s' 86400
expect_json '$.series[0].name' falling
expect_json '$.series[0].history.samples' 10
expect_json '$.series[0].points[0].t' 2026-09-17T00:00:00Z "the first point is the step after the last sample"
expect_json '$.series[7].model.name' zero
expect_json '$.series[7].peak.p99' 0.000000
expect_json '$.series[7].peak_gpus.p99' 0

# History is what lies strictly before --at; what comes later changes nothing.
awk 'BEGIN { print "series,timestamp,gpus"
	for (i = 0; i < 900; i++)
		printf "gpu,%d,%.3f\n", 1788739200 + 3600 * i, 40 + 12 * sin(i * 6.283185307 / 24) + i % 7 }' >h.csv
head -701 h.csv >past.csv
run --store past.db record csv past.csv
run --store all.db record csv h.csv
run --store past.db forecast --horizon 48h -o json
cp "$out" "$TEST_TMP/past.json"
run --store all.db forecast --horizon 48h --at 2026-10-06T04:00:00Z -o json
cmp -s "$out" "$TEST_TMP/past.json"
ok $? "--at in the past gives what would have been said then"
expect_json '$.as_of' 2026-10-06T04:00:00Z
expect_json '$.series[0].points[0].t' 2026-10-06T04:00:00Z
expect_json '$.series[0].history.to' 2026-10-06T03:00:00Z
run --store all.db forecast --horizon 48h --at 2026-10-06T04:00:00Z -o json --threads 4
cmp -s "$out" "$TEST_TMP/past.json"
ok $? "threads change no byte"

# The truth for what was forecast from past.db is recorded: it is scored.
run --store past.db forecast --scores
expect_err_has 'nothing was recorded'
run --store past.db record csv h.csv
run --store past.db forecast --scores -o json
expect_exit 0
expect_json '$.schema' berth.backtest/1
expect_json '$.series[0].name' gpu
expect_json '$.series[0].horizon_s' 172800
expect_json '$.series[0].as_of' 2026-10-06T04:00:00Z
run --store past.db forecast --scores gpo
expect_exit 1 "--scores of a series that nobody knows"
run --store past.db forecast gpu --horizon 24h
expect_out_has 'How sure: of 1 earlier forecast [0-9]+ % of the steps'

run --store all.db forecast --backtest --horizon 48h --origins 3 -o json
expect_exit 0
expect_json '$.series[0].origins' 3
awk '/"mase"/ { gsub(/[^0-9.]/, ""); if ($0 < 0.2) good++ } END { exit (good != 2) }' "$out"
ok $? "a regular series is forecast within a fifth of seasonal naive's error"

run --store all.db forecast --compare --horizon 48h --origins 2 -o json
expect_exit 0
expect_json '$.series[0].peers[1].name' 'seasonal naive'
expect_json '$.series[0].peers[0].name' 'last value'

run --store all.db forecast gpo
expect_exit 1
expect_err_has "did you mean 'gpu'"
run --store all.db forecast 'g*' --horizon 1w --svg p.svg --plot
expect_exit 0
grep -q '<svg' p.svg
ok $? "--svg writes a picture"
run --store all.db forecast --horizon 48h --windows -o csv
expect_out_has '^series,from,to,p50,p90,p95,p99,likeliest$'
run --store all.db forecast --horizon 1w --cap 50 -o json
expect_json '$.series[0].censored' true "a history that stands at the cap is said to be censored"
awk '/"p99"/ { n++; if ($2 + 0 > 50) bad++ } END { exit (bad > 0 || n < 168) }' "$out"
ok $? "no forecast passes the cap"
# Days off: office hours of 2026, with the German days off like Sundays; Unity Day of 3 October is a Saturday.
awk 'BEGIN { print "series,timestamp,gpus"; n = split("20546 20549 20574 20587 20598", v, " "); for (k in v) off[v[k]] = 1
	for (i = 0; i < 24 * 150; i++) { t = 1769904000 + 3600 * i; d = int(t / 86400)	# since 2026-02-01
		printf "o,%d,%.2f\n", t, ((d + 3) % 7 < 5 && !(d in off) && i % 24 > 8 && i % 24 < 18 ? 100 : 20) + (i * 7919) % 101 / 100 } }' >o.csv
run --store o.db record csv o.csv
run --store o.db forecast --at 2026-05-22T00:00:00Z --horizon 1w --holidays de -o json
expect_exit 0
expect_json '$.series[0].holidays.effect' sunday
expect_json '$.series[0].holidays.ahead' 1
expect_json_near '$.series[0].points[84].mean' 20 5 "Whit Monday at noon is like a Sunday"
expect_json_near '$.series[0].points[108].mean' 100 5 "Tuesday is not"
run --store o.db forecast --at 2026-05-22T00:00:00Z --horizon 1w --holidays de
expect_out_has 'Days off: [0-9]+ on weekdays .* like Sundays'
printf 'defaults:\n  zone: Europe/Berlin\n  holidays: de\n' >c.yaml
run --store o.db --config c.yaml forecast --at 2026-05-22T00:00:00Z --horizon 1w -o json
cp "$out" "$TEST_TMP/config.json"
run --store o.db forecast --at 2026-05-22T00:00:00Z --horizon 1w --holidays de --zone Europe/Berlin -o json
cmp -s "$out" "$TEST_TMP/config.json"
ok $? "zone and holidays of berth.yaml are the defaults"
expect_json '$.series[0].holidays.effect' sunday
printf 'day,name\n2026-05-25,x\n2026-5-26,y\n' >bad.csv
run --store o.db forecast --holidays bad.csv
expect_exit 1
expect_err_has 'at: bad.csv:3'
run --store o.db forecast --holidays xx
expect_exit 1

# What counts something else than GPUs is told in its own unit.
awk 'BEGIN { print "timestamp,value"; for (i = 0; i < 400; i++) printf "%d,%.3f\n", 1790000000 - 1790000000 % 3600 - 3600 * (400 - i), .4 + .1 * sin(i * 6.2832 / 24) }' >share.csv
run --store share.db record csv -s util --unit share share.csv
expect_exit 0
run --store share.db forecast util --horizon 24h
expect_out_has 'The peak is at most 0[.][0-9]+ share with a chance of 50 %, 0[.][0-9]+ share'
expect_out_lacks 'nodes[)]'
expect_out_has '^util +0[.][0-9]{4} +0[.][0-9]{4} +0[.][0-9]{4} .* -  20' "its row has decimals and no nodes"
printf 'events:\n  - {name: more, series: util, gpus: 0.2, start: 2026-12-01}\n' >more.yaml
run --store share.db --now 2026-12-01T00:00:00Z forecast util --horizon 24h --events more.yaml --capacity 1
expect_out_has 'Capacity of 1 share: passed' "capacities and events too"
expect_out_has 'Event more: [+]0.2 share from .* share on the mean'
run --store share.db forecast util --horizon 24h --plot
expect_out_has 'up to P95  [(]share, UTC[)]'
run --store share.db forecast util --horizon 24h -o json
expect_json '$.series[0].unit' share
expect_json '$.series[0].peak_gpus.p95' null "there are no whole GPUs of a share"
run --store share.db forecast util --horizon 24h --svg u.svg
grep -q '>share<' u.svg && ! grep -q GPUs u.svg
ok $? "the picture's axis has the unit"

# The same forecast again takes the place of the first; a capacity of a series that is not there is said.
run --store past.db forecast --scores
before=$(wc -l <"$out")
run --store past.db forecast gpu --horizon 48h --at 2026-10-06T04:00:00Z --capacity gpo=40,gpu=50 -o json
expect_exit 0
expect_err_has "'gpo' is none of the series"
expect_json '$.series[0].capacity[0].gpus' 50
run --store past.db forecast --scores
expect_lines "$before" "a forecast that is made again is scored once"

run --store all.db --dry-run forecast --horizon 24h
run --store all.db forecast --scores -o json
expect_exit 0

# Pictures of series whose names are no names of files: none takes the place of another.
long=$(awk 'BEGIN { for (i = 0; i < 400; i++) printf "n" }' </dev/null)
awk -v long="$long" 'BEGIN { print "series,timestamp,gpus"; for (i = 0; i < 60; i++) { t = 1796083200 - 3600 * (60 - i)
	printf "a/b,%d,%d\na_b,%d,%d\n%s,%d,3\n%sm,%d,3\n", t, i % 9, t, i % 7, long, t, long, t } }' </dev/null >names.csv
mkdir pictures
run --store names.db record csv names.csv
run --store names.db forecast --horizon 1d --svg pictures/p.svg --brief
expect_exit 0
ok $(($(ls pictures | wc -l) - 4)) "four series, four pictures"
ok $(($(ls pictures | grep -c '^p-a_b.svg$') - 1)) "a name that can be kept is"

# A store that may be read only: forecast all the same, and nothing is kept.
if [ "$(id -u)" -ne 0 ]; then
	chmod 444 names.db
	mkdir shut && mv names.db shut && chmod 555 shut
	run --store shut/names.db forecast --horizon 1d --brief
	expect_exit 0
	expect_err_has 'cannot be written: .*; it is read, and nothing of this run is kept'
	run --store shut/names.db plan --horizon 4w
	expect_exit 1
	chmod 755 shut
else
	skip "a store that may be read only" "root may write everywhere"
fi

# What would be left out in silence is refused; a store that is not there is not made.
together() {	# together ONE OTHER [ARGUMENT...]
	run --store names.db forecast --horizon 1d "$@"
	expect_exit 2
	expect_err_has "^berth forecast: $1 does not go with .*$2"
}
together --points --windows
together --brief --why
together --scores --backtest
together --plot --backtest
together --windows --compare
run --store names.db forecast --by team,team
expect_exit 2
expect_err_has "'team' is given twice"
run --store none.db forecast
expect_exit 1
expect_err_has 'store none.db: there is none'
[ ! -e none.db ]
ok $? "a store that is not there is not made"

# Where forecasts begin in the past this is said.
awk 'BEGIN { print "series,timestamp,gpus"; for (i = 0; i < 400; i++) { t = 1793836800 - 3600 * (400 - i)
	printf "live,%d,%d\n", t, i % 9; if (i < 300) printf "gone,%d,7\n", t } }' </dev/null >ended.csv
run --store ended.db record csv ended.csv
NOW=2026-11-05T01:00:00Z
run --store ended.db forecast --horizon 1d --brief
expect_err_has '1 series ended before the others, and its forecast begins where it ended: gone .2026-10-31.; --at'
! grep -q 'nothing was recorded' "$err"
ok $? "an hour ago is now"
NOW=2026-11-09T00:00:00Z
run --store ended.db forecast live --horizon 1d --brief
expect_err_has 'nothing was recorded since 2026-11-05T00:00:00Z: forecasts begin there, not now'
done_testing
