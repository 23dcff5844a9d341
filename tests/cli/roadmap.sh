#!/bin/sh
# The roadmap: --events and `roadmap` of berth.yaml in forecast and plan; errors with their place; capacities and answers.
NOW=2026-12-01T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

# Flat demand of 100 with a little noise; 40 less since ten days before the end.
awk 'BEGIN { print "series,timestamp,gpus,team"; for (i = 0; i < 1200; i++) { t = 1796083200 - 3600 * (1200 - i)
	printf "H100,%d,%.2f,nlp\n", t, 100 + (i * 7919) % 101 / 50 - 1 - (i >= 960 ? 40 : 0)
	printf "A100,%d,%.2f,vision\n", t, 50 + (i * 7919) % 101 / 50 - 1 } }' >u.csv
run record csv u.csv
expect_exit 0
cat >roadmap.yaml <<'Y'
schema: berth.roadmap/1
events:
  - {name: project, series: "H*", gpus: 64, start: 2026-12-08, duration: 26w, probability: 0.6}
  - {name: vision leaves, labels: {team: vis*}, factor: 0, start: 2026-12-15}
  - {name: gone, accelerator: h100, gpus: {least: -60, likely: -40, most: -20}, start: 2026-11-21}
  - {name: tomorrow, accelerator: B300, gpus: 8, start: 2026-12-02}
Y
run forecast --events roadmap.yaml --horizon 4w -o json
expect_exit 0
expect_err_has "event 'tomorrow' concerns none of the series"
expect_is_json berth.forecast/1
expect_json '$.events[0].name' project
expect_json '$.events[0].gpus.likely' 64
expect_json '$.events[2].gpus.least' -60
expect_json '$.series[0].name' A100
expect_json '$.series[0].events[0].name' 'vision leaves'
expect_json '$.series[0].points[400].p99' 0.000000 "nothing is left of a team that leaves"
expect_json '$.series[1].events[0].state' ahead
expect_json '$.series[1].events[0].happens' 0.600000
expect_json '$.series[1].events[1].state' seen
expect_json_near '$.series[1].events[1].measured' -40 1
expect_json '$.series[1].shifts[0].t' '' "what the roadmap explains is no shift"
expect_json_near '$.series[1].points[10].mean' 60 1 "the level after it is carried on, once"
expect_json_near '$.series[1].points[400].mean' 98.4 1.5 "60 % of 64 GPUs are in the mean"
expect_json_near '$.series[1].points[400].p90' 124 5
expect_json_near '$.series[1].drivers.level' 60 1
sum=$(json '$.series[1].drivers.peak')
parts=0
for k in level growth season events doubt; do parts="$parts $(json "\$.series[1].drivers.$k")"; done
echo "$parts" | awk -v p="$sum" '{ for (i = 1; i <= NF; i++) s += $i; exit !(s - p < 1e-4 && p - s < 1e-4) }'
ok $? "drivers add up to the peak"
cp "$out" "$TEST_TMP/one.json"
run forecast --events roadmap.yaml --horizon 4w -o json --threads 3
cmp -s "$out" "$TEST_TMP/one.json"
ok $? "threads change no byte"

# Chances against the same paths: 64 GPUs more on 60 % of them pass 100 GPUs, and hardly anything else does.
run forecast H100 --events roadmap.yaml --horizon 4w --capacity 100 --capacity 'A*=7' -o json
expect_json_near '$.series[0].capacity[0].passed' 0.6 0.05
expect_json '$.series[0].capacity[1].name' '' "a capacity of others is not of this series"
expect_json_near '$.series[0].capacity[0].dates[0].passed' 0 0.1 "not before the project begins"
run forecast H100 --events roadmap.yaml --horizon 4w --capacity 100 --plot
expect_out_has 'Capacity of 100 GPUs: passed within the horizon with a chance of 6'
expect_out_has 'Event project: \+64 GPUs from 2026-12-08 for 26w, with a chance of 60 %'
expect_out_has 'Event gone: .* it is not counted twice'
expect_out_has '\^' "the plot marks where events begin"
run forecast H100 --events roadmap.yaml --horizon 4w --svg p.svg --capacity 120
grep -q '>project<' p.svg && grep -q '>capacity of 120<' p.svg
ok $? "the picture has events and capacities in its key"

# The file of berth.yaml is used by both verbs; the command line goes before it.
mkdir -p .config/berth && cp roadmap.yaml .config/berth/map.yaml
printf 'roadmap: map.yaml\nlimits:\n  - {name: main, accelerator: H100, limit: 90}\n' >.config/berth/berth.yaml
run forecast H100 --horizon 4w -o json
expect_json '$.series[0].events[0].name' project
expect_json '$.series[0].capacity[0].name' 'quota main'
expect_json_near '$.series[0].capacity[0].passed' 0.6 0.05
run forecast H100 --horizon 4w --no-events -o json
expect_json '$.series[0].events[0].name' ''
run prices import "$BERTH_DATA/offers.csv"
run plan H100 --horizon 8w --list-prices -o json
expect_exit 3
expect_err_has 'quota main \(90 GPUs\) is too small'
printf 'roadmap: map.yaml\n' >.config/berth/berth.yaml
run plan H100 --horizon 8w --list-prices -o json
expect_exit 0
with=$(json '$.series[0].peak')
expect_json '$.series[0].events[0].name' project
expect_json '$.series[0].events[0].happens' 0.600000
grep -q "the roadmap's project" "$out"
ok $? "the plan says what the roadmap adds"
run plan H100 --horizon 8w --list-prices --no-events -o json
# without a roadmap the paths, which fall on, are raised to what was used: that is told, and taken out again here
raised=$(sed -n 's/.*they are raised by \([0-9.]*\) %.*/\1/p' "$out" | head -1)
awk -v a="$with" -v b="$(json '$.series[0].peak')" -v r="${raised:-0}" 'BEGIN { exit !(a > b / (1 + r / 100) + 40) }'
ok $? "its peak is that with the events"
rm .config/berth/berth.yaml

# Past times: what was known then is in the score, and beside it what the forecast would have been without.
awk 'BEGIN { print "series,timestamp,gpus"; for (i = 0; i < 1200; i++)
	printf "B200,%d,%.2f\n", 1796083200 - 3600 * (1200 - i), 100 + (i * 7919) % 101 / 50 - 1 + (i >= 1000 ? 60 : 0) }' >step.csv
run --store step.db record csv step.csv
printf 'events:\n  - {name: e, series: B200, gpus: 60, start: 2026-11-22T16:00:00Z}\n' >e.yaml
run --store step.db forecast --backtest --origins 5 --horizon 1w --events e.yaml -o json
expect_exit 0
expect_err_has 'without a date .known. count as known at every past time: e;'
expect_json_near '$.series[0].mase' 0 0.1 "a step that the roadmap says is no error"
expect_json_near '$.series[0].without_roadmap.mase' 9 1 "without it, it is"
plain=$(json '$.series[0].without_roadmap.mase')
run --store step.db forecast --backtest --origins 5 --horizon 1w --no-events -o json
expect_json '$.series[0].mase' "$plain" "that is the score of a store without a roadmap"
expect_json '$.series[0].without_roadmap.mase' ''
sed 's/}/, known: 2026-11-23}/' e.yaml >late.yaml
run --store step.db forecast --backtest --origins 5 --horizon 1w --events late.yaml -o json
awk -v a="$(json '$.series[0].mase')" -v b="$plain" 'BEGIN { exit !(a > 0.9 * b && a <= b) }'
ok $? "what nobody knew at the origins is left out of them"
run --store step.db forecast --compare --origins 5 --horizon 1w --events e.yaml
expect_out_has 'BERTH  NO-ROADMAP  LAST-VALUE'

refuse() {	# refuse TEXT PLACE MESSAGE
	printf 'events:\n%s' "$1" >bad.yaml
	run forecast --events bad.yaml
	expect_exit 1
	expect_err_has "at: bad.yaml:$2\$"
	expect_err_has "$3"
}
refuse '  - {name: x, start: 2027-01-01, gpu: 4, series: a}
' 2:34 "did you mean 'gpus'"
refuse '  - {name: x, start: 2027-01-01, gpus: 4}
' 2:5 'which demand does it concern'
refuse '  - {name: x, start: 2027-01-01, series: a}
' 2:5 'how large is it'
refuse '  - {name: x, start: 2027-02-30, gpus: 4, series: a}
' 2:22 'no such day'
refuse '  - {name: x, start: 2027-01-01, gpus: {least: 5, most: 4}, series: a}
' 2:40 'must not fall'
refuse '  - {name: x, start: {earliest: 2027-01-01, last: 2027-01-02}, gpus: 4, series: a}
' 2:45 "did you mean 'latest'"
refuse '  - {name: x, start: 2027-01-01, gpus: 4, factor: 2, series: a}
' 2:51 "'gpus' is given already"
refuse '  - {name: x, start: 2027-01-01, gpus: 4, until: 2026-01-01, series: a}
' 2:50 'ends before it begins'
refuse '  - {name: x, start: 2027-01-01, gpus: 4, ramp_down: 1w, series: a}
' 2:54 'without end does not fade'
refuse '  - {name: x, start: 2027-01-01, gpus: 4, probability: 60, series: a}
' 2:56 'not in 0..1'
refuse '  - {name: x, start: 2027-01-01, factor: -1, series: a}
' 2:42 'between 0 and 1000'
refuse '  - {name: x, start: 2027-01-01, gpus: 4, series: a}
  - {name: x, start: 2027-01-01, gpus: 4, series: a}
' 3:12 "a second event named 'x'"
run forecast --events none.yaml
expect_exit 1

# An event's GPUs fall on all series that it concerns, whichever are asked for: 60 and 50 of 110; a total has all.
printf 'events:\n  - {name: p, series: "*", gpus: 110, start: 2026-12-02}\n' >share.yaml
run forecast H100 A100 --events share.yaml --horizon 1w -o json
a100=$(json '$.series[0].events[0].share') h100=$(json '$.series[1].events[0].share')
awk -v a="$a100" -v h="$h100" 'BEGIN { exit !(a > .3 && h > .5 && a + h > .999999 && a + h < 1.000001) }'
ok $? "two series share an event ($a100, $h100)"
run forecast H100 --events share.yaml --horizon 1w -o json
expect_json '$.series[0].events[0].share' "$h100" "one asked for by itself takes no more"
awk -F, 'NR > 1 { sum[$2] += $3 } END { print "series,timestamp,gpus"; for (t in sum) printf "total,%d,%.2f\n", t, sum[t] }' u.csv >t.csv
run --store t.db record csv u.csv
run --store t.db record csv t.csv
run --store t.db forecast --events share.yaml --horizon 1w -o json
expect_json '$.series[1].events[0].share' "$h100" "a recorded total takes nothing from its parts"
expect_json '$.series[2].events[0].share' 1.000000 "and has all of it"
run forecast H100 --capacity many
expect_exit 2
expect_err_has 'no number of GPUs'
done_testing
