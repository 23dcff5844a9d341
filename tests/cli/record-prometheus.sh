#!/bin/sh
# berth record prometheus --url: ranges under the server's limit, resuming, who may ask, values that cannot be, what goes wrong;
# on a stand-in for the server (tests/live/prometheus.sh has the real one).
. "$TOP_SRCDIR/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || { skip 'record prometheus --url' 'no python3 here'; done_testing; exit 0; }
mkfifo in
python3 "$TOP_SRCDIR/tests/cli/prometheus.py" log <in >port 2>server.err &
server=$!
exec 9>in
await port "$server"
url=http://127.0.0.1:$(cat port)
asked() {	# ranges of a query, oldest first: start end points
	awk -v q="$1" '$1 == q { print $2, $3, ($3 - $2) / $4 + 1 }' log
}

# Three weeks of minutes are more points than the server gives at once: ranges one behind the other, without a gap.
run --store flat.db record prometheus --url $url/ --query flat --metric '' --from 2026-11-09T12:00:00Z -o json
expect_exit 0
expect_json '$.series[0].samples' 505 'three weeks of hours, and the one that begins'
expect_json_near '$.gpu_seconds' $((4 * 21 * 86400)) 300
asked flat | awk 'NR > 1 && $1 != end + 60 { bad = 1 } $3 > 11000 { bad = 1 } { end = $2; if (NR == 1) first = $1 }
	END { exit !(NR >= 3 && !bad && first == 1794225600 && end == 1796040000) }'
ok $? "$(asked flat | wc -l) requests of at most 11000 points, one behind the other"
: >log
NOW=2026-11-30T15:00:00Z run --store flat.db record prometheus --url $url --query flat --metric '' -o json
expect_exit 0
asked flat | awk 'NR == 1 && $1 <= 1796040000 && $1 >= 1796040000 - 7200 { first = 1 } { end = $2 } END { exit !(first && end == 1796050800) }'
ok $? 'it resumes where the last load ended'
expect_json '$.series[0].samples' 508
expect_no_err 'resuming warns of nothing: it may run from cron'
: >log
run --store flat.db record prometheus --url $url --query many --metric used --by pool --from 2026-11-28T12:00:00Z -o json
expect_exit 0
expect_json '$.series[299].samples' 49
asked many | awk '{ n += $3; if ($3 > 1000) bad = 1 } END { exit !(NR > 4 && !bad && n == 2881) }'
ok $? 'many series: answers are kept small, and no time is left out'

# Nobody's values are zero, and what cannot be is no value.
run --store holes.db record prometheus --url $url --query holes --from 2026-11-30T09:00Z --to 2026-11-30T09:59Z -o json
expect_exit 0
expect_json '$.values_refused' 48
expect_json '$.series[0].peak' 50
expect_err_has 'DCGM_FI_DEV_GPU_UTIL of GPU-1: 48 of 60 values cannot be'
run --store reset.db record prometheus --url $url --query reset --from 2026-11-30T08:00Z --to 2026-11-30T11:00Z -o json
expect_exit 0
expect_json '$.series[0].name' metric=mean_power
expect_json '$.series[0].peak' 1 'a counter that begins again has not run backwards, nor around'
run --store stale.db record prometheus --url $url --query stale --metric used --from 2026-11-30T08:00Z -o json
expect_exit 0
expect_json '$.series[0].to' 2026-11-30T09:00:00Z 'what has ended is not 0 from then on'
expect_err_has '2h.* older .* does the exporter still run'
run --store stale.db record prometheus --url $url --query stale --metric used --from 2026-11-30T11:00Z -o json
expect_exit 0
expect_err_has 'no sample of used'

# Tokens and passwords: from the environment or a file, never told.
run --store auth.db record prometheus --url $url --query secret --metric used
expect_exit 1
expect_err_has 'status 401'
export BERTH_PROMETHEUS_TOKEN='open sesame'
run --store auth.db record prometheus --url $url --query secret --metric used
expect_exit 0
BERTH_PROMETHEUS_TOKEN='shut sesame' run --store auth.db record prometheus --url $url --query secret --metric used
expect_exit 1
! grep -q sesame "$err" "$out"
ok $? 'the token is not told'
unset BERTH_PROMETHEUS_TOKEN
echo 'open sesame' >token
run --store auth.db record prometheus --url $url --query secret --metric used --token-file token
expect_exit 0 'a token in a file'
run --store auth.db record prometheus --url $url --query basic --metric used --user ann
expect_exit 1
expect_err_has 'BERTH_PROMETHEUS_PASSWORD'
BERTH_PROMETHEUS_PASSWORD=pass:word run --store auth.db record prometheus --url $url --query basic --metric used --user ann
expect_exit 0 'basic, with a colon in the password'
run --store auth.db store export
! grep -q 'sesame\|pass:word' "$out"
ok $? 'neither is in the store'

# What goes wrong stores nothing of the load, and says by its status whether to try again.
for wrong in 'refused 1' 'broken 5' 'busy 5' 'garbled 1' 'cut 5'; do
	run --store wrong.db record prometheus --url $url --query ${wrong% *} --metric used
	expect_exit ${wrong#* } "${wrong% *}: status ${wrong#* }"
done
run --store wrong.db record prometheus --url $url --query refused --metric used
expect_err_has 'query timed out in expression evaluation'
run --store wrong.db series -o csv --columns name --no-headers
expect_no_out 'no series was made'
run --store wrong.db record prometheus --url $url --query warned --metric used -o json
expect_exit 0
expect_json '$.warnings[0].message' 'store of eu-west-1 does not answer' 'a part of the answer, and what is missing'
exec 9>&-
wait $server
run --store wrong.db record prometheus --url $url --query flat --metric used
expect_exit 5 'nobody answers'
done_testing
