#!/bin/sh
# Fleets: the decision and its reasons, and replicas that are really rented and given back by ticks on the replayed cloud.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

run init --replay
cp .config/berth/berth.yaml base.yaml
cat >replica.yaml <<'Y'
schema: berth.job/1
name: chat
accelerators: "L4:1"
work: 400h
purchase: [on_demand]
run: serve
Y
fleet() {	# fleet LINE...: one fleet with these keys, and a store without jobs
	{
		cat base.yaml
		printf 'fleets:\n  - name: chat\n    job: ../../replica.yaml\n    max: 20\n    unit: 8\n    boot: 5m\n    down_window: 30m\n'
		for line; do printf '    %s\n' "$line"; done
	} >.config/berth/berth.yaml
	rm -rf .local
	run init --no-prices
	run prices refresh
}
series() {	# series AWK-EXPRESSION: 24 hours of 5-minute samples of "load" from midnight; k counts them, h hours
	awk "BEGIN { srand(7); print \"timestamp,gpus,series\"
		for (k = 0; k < 288; k++) { h = k / 12; v = $1; if (v != \"\") print 1795996800 + 300 * k \",\" v \",load\" } }" >load.csv
	run record csv load.csv --step 5m
}
T0=2026-11-30
at() { NOW=$T0\T$1:00Z; }
day() {	# day HOURS: ticks of five minutes from midnight
	at 00:00
	run tick --until "+$1h" --step 5m -o json
}
moves() { run events -t fleet.scaled -n 0 -o csv --columns message; moves=$(tail -n +2 "$out" | wc -l); }
alive() { run instances -o csv --columns state; tail -n +2 "$out" | wc -l; }

# A decision, and why; a dry run keeps nothing.
fleet 'metric: {series: load}'
series '17'
at 00:05
run scale --dry-run
expect_exit 0
expect_out_has '^chat +17\.0 .* 3 +3 +3 +up$'
expect_out_has 'a load of 17 asks for 3 replicas, and 0 are there: 3 are added\.'
run jobs -o json
expect_json '$.jobs[0].id' '' "a dry run queues nothing"
run explain chat
expect_exit 1 "and keeps no decision"
run scale -o json
expect_exit 0
expect_is_json berth.scale/1
expect_json '$.fleets[0].change' 3
expect_json '$.fleets[0].rule' up
run jobs -o csv --columns name,state
[ "$(grep -c '^chat,queued$' "$out")" -eq 3 ]
ok $? "three replicas are in the queue"
run scale -o json
expect_json '$.fleets[0].change' 0 "what is on its way is counted: nothing is ordered again"
expect_json '$.fleets[0].waiting' 3
run explain chat -n 2
expect_out_has 'scale chat: a load of 17 asks for 3 replicas, and 0 are there'
expect_out_has 'a load above 24 adds replicas'
COLUMNS=80 run scale
[ "$(awk 'length > 80 && !/^  - /' "$out" | wc -l)" -eq 0 ]
ok $? "the table is no wider than 80 columns"
run scale nobody
expect_exit 1
expect_err_has "no fleet 'nobody'; there are chat"

# Constant load, a day of ticks: one order, and no change after it.
fleet 'metric: {series: load}'
series '20'
day 24
expect_json '$.scaled_up' 3
expect_json '$.scaled_down' 0
expect_json '$.errors' 0
moves
[ "$moves" -eq 1 ]
ok $? "constant input: one order in a day"

# 5 % of noise around a step of the machine size: up once, never down and up again.
fleet 'metric: {series: load}'
series '16 * (1 + 0.05 * (2 * rand() - 1))'
day 24
moves
[ "$moves" -le 2 ] && ! grep -q ' goe*s*"*$' "$out"
ok $? "noise of 5 % makes no more than the first changes (is $moves)"

# Up by a step in one period, nothing ordered twice meanwhile; down in the end, to nothing, and the machines are given back.
fleet 'min: 0' 'metric: {series: load}'
series 'h < 1 ? 7 : h < 3 ? 63 : 0'
day 2
expect_json '$.scaled_up' 8
moves
[ "$moves" -eq 2 ]
ok $? "a step from 7 to 63 is one order"
[ "$(alive)" -eq 8 ]
ok $? "eight machines are rented"
at 02:05
run tick --until "+8h" --step 5m -o json
expect_json '$.scaled_down' 8
expect_json '$.scaled_up' 0
at 10:10
[ "$(alive)" -eq 0 ]
ok $? "without load nothing is left"
run jobs --all -o csv --columns state,reason
[ "$(grep -c '^cancelled,.*needs fewer replicas' "$out")" -eq 8 ]
ok $? "each replica says why it went"
run explain chat -n 40
expect_out_has 'which stay: 8 were asked for within the last 30m'
run report -o json
spent=$(json '$.spent')
awk -v s="$spent" 'BEGIN { exit !(s > 0) }'
ok $? "what it cost is in the report ($spent)"

# No metric: nothing goes, nothing comes, whatever was there; and it is said.
fleet 'min: 1' 'metric: {series: load}'
series 'h < 1 ? 40 : ""'
day 8
expect_json '$.scaled_up' 5
expect_json '$.scaled_down' 0 "a metric that is missing never scales in"
[ "$(alive)" -eq 5 ]
ok $? "five machines stay for seven hours without a metric"
at 08:05
run scale -o json
expect_exit 8
expect_json '$.fleets[0].rule' no_metric
expect_json '$.fleets[0].load' null
expect_err_has 'the load of 1 of 1 fleet is not known'
run events -t 'fleet.*' -n 1
expect_out_has 'the load is not known, so 5 replicas stay: series load has no sample of the last 10m'

# Bounds that contradict one another.
fleet 'min: 21' 'metric: {series: load}'
run scale
expect_exit 1
expect_err_has 'at least 21 replicas, and 20 at most'

# What is busy stays; no more than the limit.
fleet 'max: 9' 'metric: {series: load}' 'busy: {series: load}' 'target: 0.5'
grep -v '^    max: 20' .config/berth/berth.yaml >c && mv c .config/berth/berth.yaml
series 'h < 1 ? 9 : 6'
at 00:05
run tick
expect_exit 0
run scale -o json
expect_json '$.fleets[0].target' 3
expect_json '$.fleets[0].busy' 9 "what is said to be busy, though two are there"
series 'h < 1 ? 1000 : 0'
run scale -o json
expect_json '$.fleets[0].target' 9
run tick
at 00:15
run tick
run scale
expect_out_has ' limit$'
expect_out_has 'and more: at most 9 may be, and they are there'

# The queue as the metric: the accelerators that others' jobs ask for.
fleet 'metric: {queue: "vis*"}'
at 00:05
for n in 1 2 3; do sed "s/name: chat/name: other\nproject: vision/; s/L4:1/L4:4/" replica.yaml >other.yaml; run submit other.yaml; done
run scale -o json
expect_json '$.fleets[0].load' 12
expect_json '$.fleets[0].target' 2
run scale -o json
expect_json '$.fleets[0].load' 12 "replicas are no load"
sed -i 's/queue: "vis\*"}/queue: "vis*"}\n    drain: 10m/' .config/berth/berth.yaml
run scale -o json
expect_json '$.fleets[0].load' 0
expect_json_near '$.fleets[0].backlog' $((12 * 400 * 3600)) 1
expect_json '$.fleets[0].target' 20

# A forecast raises before the load does, by the time that a machine takes to come.
fleet 'metric: {series: now}' 'forecast: {series: rush, level: 0.5}'
sed -i 's/boot: 5m/boot: 1h/' .config/berth/berth.yaml
awk 'BEGIN { print "timestamp,gpus,series"; for (h = -28 * 24; h < 9; h++) print 1795996800 + 3600 * h "," ((h + 2400) % 24 >= 9 && (h + 2400) % 24 < 18 ? 40 : 8) ",rush" }' >rush.csv
run record csv rush.csv
printf 'timestamp,gpus,series\n2026-11-30T08:30:00Z,8,now\n' >now.csv
run record csv now.csv --step 5m
at 08:35
run scale --dry-run
expect_err_has 'no forecast of rush covers now: berth forecast rush makes one'
run forecast rush --horizon 1d --at 2026-11-30T08:00:00Z
run scale -o json
expect_json '$.fleets[0].load' 8
expect_json_near '$.fleets[0].forecast' 40 4
expect_json_near '$.fleets[0].soon' 40 4
expect_json '$.fleets[0].target' "$(json '$.fleets[0].forecast' | awk '{ n = int($1 / 8); print n < $1 / 8 ? n + 1 : n }')"
expect_json '$.fleets[0].rule' up

# A quantile of that forecast as headroom: the most that it tells from now until a machine ordered now would work; it may only raise.
run forecast rush --horizon 1d --at 2026-11-30T08:00:00Z -o json
key=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | sed -n 's/^\(.*\)\.p95\t.*/\1/p' | sed -n 2p)
p90=$(json "$key.p90") p99=$(json "$key.p99")
machines() { awk -v q="$1" 'BEGIN { n = int(q / 8); print n < q / 8 ? n + 1 : n }'; }
quantile() {	# quantile LINE...: a fleet with these keys, whose load is 8 and forecast from 08:00 on
	fleet 'metric: {series: now}' "$@"
	sed -i 's/boot: 5m/boot: 1h/' .config/berth/berth.yaml
	run record csv rush.csv
	run record csv now.csv --step 5m
	run forecast rush --horizon 1d --at 2026-11-30T08:00:00Z
}
at 08:35
quantile 'forecast: {series: rush, level: none}' 'headroom: p90'
run scale -o json
expect_exit 0
expect_json '$.fleets[0].forecast' null "a forecast of level none raises nothing itself"
expect_json_near '$.fleets[0].headroom_forecast' "$p90" 1e-4
expect_json '$.fleets[0].headroom_rule' 'p90 of the forecast'
expect_json '$.fleets[0].asked' 1
expect_json '$.fleets[0].target' "$(machines "$p90")"
expect_json '$.fleets[0].headroom' $(($(machines "$p90") - 1))
expect_json '$.fleets[0].note' null
expect_out_has 'headroom p90 of the forecast, a load of 40'
run explain chat
expect_out_has 'headroom p90 of the forecast, a load of 40'
quantile 'forecast: {series: rush, level: none, stale: 30m}' 'headroom: p90'
run scale -o json
expect_exit 0 "a forecast that is too old"
expect_json '$.fleets[0].target' 1
expect_json '$.fleets[0].headroom_forecast' null
expect_err_has 'headroom p90 adds no replica and takes none away: the forecast of rush is of 2026-11-30T08:00:00Z, over 30m ago'
quantile 'forecast: {series: other, level: none}' 'headroom: p99'
run scale --dry-run -o json
expect_json '$.fleets[0].target' 1 "no forecast"
expect_out_has 'headroom p99 of the forecast, which is not known'
expect_json '$.fleets[0].note' 'headroom p99 adds no replica and takes none away: no forecast of other covers now: berth forecast other makes one'
quantile 'forecast: {series: rush, level: none}' 'hours: ["09:00-10:00 +p99"]'
run scale --dry-run -o json
expect_json_near '$.fleets[0].headroom_forecast' "$p99" 1e-4 "of the hour in which a machine ordered now works"
expect_out_has 'headroom p99 of the forecast, a load of 40[0-9.]*, by its hours'
expect_json '$.fleets[0].target' "$(machines "$p99")"
quantile 'forecast: {series: rush, level: none}' 'hours: ["10:00-11:00 +p99"]'
run scale --dry-run -o json
expect_json '$.fleets[0].headroom_forecast' null "not before its hours"
expect_json '$.fleets[0].target' 1
expect_out_has 'from 2026-11-30T09:00:00Z on at least 0 and at most 20 may be, with a headroom of p99 of the forecast'
# A series that has had one value in all that is known stays there: 28 days, of which an hour and a start of another are a
# four-hundredth. Once it has moved, its forecast counts.
fleet 'metric: {series: now}' 'forecast: {series: even, level: 0.99}'
sed -i 's/boot: 5m/boot: 1h/' .config/berth/berth.yaml
run record csv now.csv --step 5m
even() { awk -v last="$1" 'BEGIN { print "timestamp,gpus,series"; for (h = -28 * 24; h < 9; h++) print 1795996800 + 3600 * h "," (h < 8 ? 50 : last) ",even" }' >even.csv; run record csv even.csv; }
even 50
run forecast even --horizon 1d --at 2026-11-28T08:00:00Z
run scale -o json
expect_json '$.fleets[0].forecast' null "a forecast that does not reach"
run forecast even --horizon 1w --at 2026-11-28T08:00:00Z
run scale --dry-run -o json
expect_json_near '$.fleets[0].forecast' 50 0
expect_json_near '$.fleets[0].soon' 50 0
expect_json '$.fleets[0].target' 7
even 49
run scale --dry-run -o json
awk -v a="$(json '$.fleets[0].forecast')" 'BEGIN { exit !(a > 50) }'
ok $? "one value that is another: the kept quantile counts ($(json '$.fleets[0].forecast'))"

fleet 'metric: {queue: "*"}' 'hours: ["10:00-11:00 4..", "12:00-13:00 +p90"]'
run scale
expect_exit 1
expect_err_has "fleets\[0\].hours': is told by a forecast: 'forecast: {series: NAME, level: none}' says"
fleet 'metric: {series: load}' 'headroom: p75'
run scale
expect_exit 1
expect_err_has "'p75' is no headroom: .* or p50, p90, p95 or p99 of the forecast"

# The forecast of the metric itself; once none tells of now, what is there stays, whatever the load asks for.
fleet 'metric: {series: load}' 'headroom: p50'
series 'h < 1 ? 40 : 8'
run forecast load --horizon 1h --at 2026-11-30T01:00:00Z
at 00:50
run tick
expect_exit 0
run jobs -o csv --columns name,state
there=$(grep -c '^chat,' "$out")
[ "$there" -ge 5 ]
ok $? "five replicas carry the load (are $there)"
at 02:10
run tick --until +6h --step 10m -o json
expect_json '$.scaled_down' 0 "a forecast that is missing never scales in"
at 08:15
run scale -o json
expect_json '$.fleets[0].rule' held
expect_out_has 'which stay: no forecast tells the p50 that are to be kept'
run forecast load --horizon 1d --at 2026-11-30T08:00:00Z
run tick --until +3h --step 10m -o json
expect_json '$.scaled_down' $((there - 1)) "with one that tells of 8 GPUs the others go"

# Replicas that end at once are not made again for ever.
fleet 'metric: {series: load}'
sed -i 's/work: 400h/work: 2m/' replica.yaml
series '16'
at 00:00
run tick --until +50m --step 1m -o json
expect_json '$.errors' 0
[ "$(json '$.scaled_up')" -le 4 ]
ok $? "no more than four replicas in 50 minutes (is $(json '$.scaled_up'))"
at 00:51
run scale
expect_out_has ' failing$'
expect_out_has 'failed, or ended at once, within the hour: none is added before 2026-11-30T01:'
sed -i 's/work: 2m/work: 400h/' replica.yaml

# A server of Prometheus, with a token that nothing shows.
if command -v python3 >/dev/null; then
	cat >prom.py <<'P'
import http.server, json, sys, urllib.parse
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_GET(self):
        q = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)['query'][0]
        if self.headers.get('Authorization') != 'Bearer s3cret-TOKEN': q = 'none'
        rows = {'sum(rps)': ['44.5'], 'rps': ['1', '2'], 'bad': ['NaN']}.get(q, [])
        body = json.dumps({'status': 'success', 'data': {'resultType': 'vector', 'result': [
            {'metric': {'i': str(i)}, 'value': [1795996800.0, v]} for i, v in enumerate(rows)]}}).encode()
        self.send_response(200); self.end_headers(); self.wfile.write(body)
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
print(s.server_port, flush=True)
s.serve_forever()
P
	python3 prom.py >port 2>/dev/null &
	server=$!
	await port "$server"
	export PROM_TOKEN=s3cret-TOKEN
	ask() { fleet "metric: {query: '$1', url: 'http://127.0.0.1:$(cat port)/', token: env:PROM_TOKEN}"; at 00:05; run scale -v -o json; }
	ask 'sum(rps)'
	expect_exit 0 "a query of Prometheus"
	expect_json '$.fleets[0].load' 44.5
	expect_json '$.fleets[0].target' 6
	! grep -rq s3cret "$out" "$err" .local
	ok $? "the token is nowhere"
	ask rps
	expect_exit 8
	expect_out_has 'the query gives 2 values, not one'
	ask bad
	expect_json '$.fleets[0].load' null
	ask nothing
	expect_out_has 'gives 0 values'
	kill "$server"
	wait "$server" 2>/dev/null
	ask 'sum(rps)'
	expect_exit 8 "no server: no metric"
	expect_json '$.fleets[0].change' 0
	run --offline scale
	expect_out_has 'offline: no server is asked'
else
	skip "a server of Prometheus" "no python3"
fi

# A fleet that is taken out of the config keeps its replicas, and that is said.
fleet 'metric: {series: load}'
series '8'
at 00:05
run scale
cp base.yaml .config/berth/berth.yaml
run scale
expect_err_has 'fleet chat is not in the config any more, and has replicas that nobody scales'

# Hours of a clock: 20:00 to 24:00 and the morning of a Monday in Berlin, an hour ahead of UTC in winter. Two replicas carry the load,
# one more is spare; from 08:00 there on at least six, ten minutes before that so that they work then; after 20:00 as before.
fleet 'metric: {series: load}' 'headroom: 1' 'zone: Europe/Berlin' 'hours: ["mon-fri 08:00-20:00 6..", "sat sun 00:00-24:00 ..2"]'
sed -i 's/boot: 5m/boot: 10m/' .config/berth/berth.yaml
series '16'
at 06:49
run scale -o json
expect_json '$.fleets[0].target' 3 "07:49 in Berlin: two for the load and one spare"
expect_json '$.fleets[0].headroom' 1
expect_json '$.fleets[0].hours' null
expect_out_has 'a load of 16 asks for 3 replicas, 1 of them spare, and 0 are there: 3 are added'
expect_out_has 'from 2026-11-30T06:50:00Z on at least 6 and at most 20 may be'
at 06:50
run scale
expect_out_has 'at least 6|asks for 6 replicas'
run scale -o json
expect_json '$.fleets[0].target' 6 "07:50: those of 08:00 are ordered"
expect_json '$.fleets[0].min' 6
at 07:05
run scale
expect_out_has 'asks for 6 replicas \(the least, by its hours mon-fri 08:00-20:00 6\.\.\)'
at 18:59
run scale -o json
expect_json '$.fleets[0].target' 6 "19:59: still six"
expect_out_has 'from 2026-11-30T19:00:00Z on at least 0 and at most 20 may be'
at 19:00
run tick --until +2h --step 5m -o json
expect_json '$.scaled_down' 3
at 21:00
run scale -o json
expect_json '$.fleets[0].target' 3 "after its hours as before"
T0=2026-12-05
at 00:10
run scale -o json
expect_json '$.fleets[0].max' 2 "on a Saturday at most two"
T0=2026-11-30
fleet 'metric: {series: load}' 'hours: ["mon-fry 08:00-20:00 6.."]'
run scale
expect_exit 1
expect_err_has "'fleets\[0\].hours\[0\]': 'mon-fry 08:00-20:00 6..': days are mon tue wed"
expect_err_has 'berth.yaml:[0-9]+:[0-9]+'
fleet 'metric: {series: load}' 'zone: Europe/Berlin'
run scale
expect_err_has "clock of 'hours'"
fleet 'metric: {series: load}' 'hours: "00:00-24:00 1.."' 'zone: Europe/Nowhere'
run scale
expect_exit 1
expect_err_has 'Europe/Nowhere'
for bad in -1 2.5 20%% '"2 %"' x; do
	fleet 'metric: {series: load}' "headroom: $bad"
	run scale
	expect_exit 1
	expect_err_has "'fleets\[0\].headroom': '.*' is no headroom: it is a number of replicas, a share"
	expect_err_has 'berth.yaml:[0-9]+:[0-9]+'
done
fleet 'metric: {series: load}' 'headroom: 1001%'
run scale
expect_exit 1
expect_err_has "more than 1000%"
for bad in '{gpu: 16}' '{gpus: -1}' '{}' '{gpus: 2, share: 20%}' '[2]'; do
	fleet 'metric: {series: load}' "headroom: $bad"
	run scale
	expect_exit 1 "headroom: $bad"
	expect_err_has "fleets\[0\].headroom"
	expect_err_has 'berth.yaml:[0-9]+:[0-9]+'
done
fleet 'metric: {series: load}' 'hours:' '  - "mon-fri 08:00-20:00 4..20 +25%"' '  - "sat sun 00:00-24:00 4..20 +x"'
run scale
expect_exit 1
expect_err_has "'fleets\[0\].hours\[1\]': 'sat sun 00:00-24:00 4..20 .x': 'x' is no headroom"
expect_err_has "berth.yaml:$(grep -n '+x' .config/berth/berth.yaml | cut -d: -f1):"

# A headroom by share, at least one replica of any load; what of them is spare is told, and by explain too.
fleet 'metric: {series: load}' 'headroom: 20%'
series 'h < 1 ? 0 : h < 2 ? 16 : 80'
at 00:05
run scale -o json
expect_json '$.fleets[0].want' 0 "a share of no load is nothing"
expect_json '$.fleets[0].headroom_rule' 20%
at 01:10
run scale --dry-run
expect_out_has 'a load of 16 asks for 3 replicas, 1 of them spare \(headroom 20%\), and 0 are there: 3 are added'
run scale -o json
expect_json '$.fleets[0].asked' 2
expect_json '$.fleets[0].headroom' 1
expect_json '$.fleets[0].want' 3
expect_out_has 'a load above 16 adds replicas'
run explain chat
expect_out_has '1 of them spare \(headroom 20%\)'
at 02:10
run scale -o json
expect_json '$.fleets[0].asked' 10
expect_json '$.fleets[0].headroom' 2
expect_json '$.fleets[0].change' 9 "a step is answered at once, with what is on its way counted"
run scale -o json
expect_json '$.fleets[0].change' 0
T0=2026-12-01
at 01:00
run scale -o json
expect_exit 8
expect_json '$.fleets[0].headroom' null "without a load it is not known what is spare"
expect_json '$.fleets[0].change' 0
run scale --columns fleet,headroom,want
expect_out_has '^chat +- +12$'
T0=2026-11-30

# In GPUs: those of the replica's job file tell how many replicas they are.
sed 's/L4:1/L4:4/' replica.yaml >four.yaml
sed 's/^accelerators.*/accelerators: ["L4:8", "H100:2"]/' replica.yaml >either.yaml
fleet 'metric: {series: load}' 'headroom: {gpus: 10}'
sed -i 's/replica.yaml/four.yaml/' .config/berth/berth.yaml
series 16
at 00:05
run scale -o json
expect_json '$.fleets[0].want' 5 "ten GPUs are two replicas of four and a half"
expect_json '$.fleets[0].headroom' 3
expect_json '$.fleets[0].headroom_rule' '10 GPUs'
fleet 'metric: {series: load}' 'headroom: 10gpus' 'hours: "00:00-24:00 +4gpus"'
series 16
sed -i 's/replica.yaml/four.yaml/' .config/berth/berth.yaml
run scale -o json
expect_json '$.fleets[0].want' 3
expect_out_has '1 of them spare \(headroom 4 GPUs, by its hours\)'
sed -i 's/four.yaml/either.yaml/' .config/berth/berth.yaml
run scale --dry-run -o json
expect_json '$.fleets[0].want' 4 "of two variants the one with fewer GPUs counts"
sed -i 's/either.yaml/nowhere.yaml/' .config/berth/berth.yaml
run scale
expect_exit 1
expect_err_has 'fleet chat: .*nowhere.yaml'

# By the hours of a clock: from 08:00 in Berlin half as much again, ordered ten minutes before.
fleet 'metric: {series: load}' 'zone: Europe/Berlin' 'hours: ["mon-fri 08:00-20:00 +50%"]'
sed -i 's/boot: 5m/boot: 10m/' .config/berth/berth.yaml
series 32
at 06:49
run scale -o json
expect_json '$.fleets[0].target' 4
expect_out_has 'from 2026-11-30T06:50:00Z on at least 0 and at most 20 may be, with a headroom of 50%'
at 06:50
run scale -o json
expect_json '$.fleets[0].target' 6
expect_json '$.fleets[0].headroom' 2
expect_out_has 'asks for 6 replicas, 2 of them spare \(headroom 50%, by its hours\)'
run tick --until +13h --step 5m -o json
expect_json '$.scaled_up' 0
expect_json '$.scaled_down' 2 "after 20:00 and a window the spare ones go"
fleet 'metric: {series: load}' 'headroom: 3' 'hours: "08:00-20:00 +50%"'
series 32
at 07:55
run scale --dry-run -o json
expect_json '$.fleets[0].headroom' 3
expect_json '$.fleets[0].headroom_rule' '3 or 50%, whichever is more' "where two headrooms meet"
at 12:00
run scale --dry-run -o json
expect_json '$.fleets[0].headroom' 2
T0=2026-12-02
at 00:00
run scale
expect_out_has 'the load is not known, so no replica is added: '
T0=2026-11-30

# Faults of the config, by line and key.
fleet 'metrik: {series: load}'
run scale
expect_exit 1
expect_err_has "'fleets\[0\].metrik'.*did you mean 'metric'"
expect_err_has 'berth.yaml:[0-9]+:[0-9]+'
fleet 'metric: {query: up}'
run tick
expect_exit 1
expect_err_has "'query' and the 'url'"
fleet 'metric: {series: load, queue: "*"}'
run scale
expect_err_has "needs one of 'series', 'query' and 'queue'"
fleet 'metric: {series: load}' 'target: 0'
run scale
expect_err_has 'target: 0 is not above 0'
fleet 'metric: {series: load}'
sed -i 's/replica.yaml/nowhere.yaml/' .config/berth/berth.yaml
run scale
expect_exit 1
expect_err_has 'fleet chat: .*nowhere.yaml'
run tick
expect_exit 0 "a job file that is gone holds up no tick"
done_testing
