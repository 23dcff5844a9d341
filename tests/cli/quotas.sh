#!/bin/sh
# What providers tell of their quotas is a limit of placements, where berth.yaml says nothing: in place, tick, backfill, plan; and
# what is not known refuses nothing.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/queue.sh"

site() {	# site LIMIT [TEXT]: one account with that quota; more of berth.yaml
	hall own.trace "$1"
	home "accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}
${2-}"
	NOW=2026-11-30T00:00:00Z
	begin
}

# Nothing is known of it until somebody asks: then the amount is compared, not whether there is any.
site 6
run quotas
expect_err_has 'no account was asked yet'
job big 8 1h
run place
expect_exit 0 "an unknown quota refuses nothing"
run quotas refresh
expect_exit 0
expect_out_has '^site: 1 quota'
run quotas refresh --account nobody
expect_exit 1
expect_err_has "no account fits 'nobody'; .berth doctor. lists the accounts"
run quotas -o csv
expect_out_has '^site,,L4,on_demand,gpu,6,0,2026-11-30T00:00:00Z,limit$'
run quotas list -o json
expect_is_json berth.quotas/1
expect_json '$.accounts[0].state' 'known'
expect_json '$.quotas[0].limit' 6
expect_json '$.quotas[0].ours' 0
run place
expect_exit 3 "8 GPUs are over a quota of 6"
expect_err_has 'no_quota have=6 need=8 gpu, as its provider told of account site at 2026-11-30T00:00:00Z'
run place -o json
expect_json '$.jobs[0].quota.have' 6
expect_json '$.jobs[0].quota.need' 8
expect_json '$.jobs[0].quota.source' 'provider'
expect_json '$.jobs[0].quota.account' 'site'
expect_json '$.jobs[0].refused.no_quota' 1
expect_json '$.quota_readings[0].state' 'known'
run explain "$(cat big)"
expect_out_has 'site L4 on_demand has 6 left: no_quota have=6 need=8'
replays

# What the user says of it by `override` holds in its place; without, the tighter one binds.
berth_yaml "accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}
limits: [{name: hall, account: site, limit: 9}]"
run place
expect_exit 3 "a wider limit of berth.yaml does not widen it"
expect_err_has 'have=6 need=8'
berth_yaml "accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}
limits: [{name: hall, account: site, limit: 9, override: true}]"
run place
expect_exit 0 "with override it does"
replays
berth_yaml "accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}
limits: [{name: hall, account: site, limit: 5}]"
run place
expect_err_has 'no_quota have=[56] need=8'
run place -o json
expect_json '$.limits[0].name' 'hall'

# Too old, or turned off: unknown, which refuses nothing and is said.
berth_yaml "accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}
quotas: {max_age: 1h}"
NOW=2026-11-30T02:00:00Z
run prices refresh
run place --explain
expect_exit 0 "a reading of two hours ago refuses nothing"
expect_out_has 'quotas of site are unknown: last told 2026-11-30T00:00:00Z'
run quotas -o csv
expect_out_has ',old$'
replays
berth_yaml "accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}
quotas: {max_age: 0s}"
NOW=2026-11-30T00:30:00Z
run place
expect_exit 0 "max_age 0 looks at none"
berth_yaml "quotas: {often: 1h}"
run place
expect_exit 1
expect_err_has "quotas.often"

# A tick asks by itself, counts what it runs once, and asks again after an hour.
site 8
job a 4 3h
job b 4 3h
run tick
job c 1 1h
run tick
expect_exit 0
is a placed
is c queued "the quota is full"
run jobs -o csv --columns name,reason
expect_out_has '^c,.*site L4 on_demand'
run instances -o csv --columns instance_type
expect_lines 3 "nothing was asked of the cloud that it would refuse"
NOW=2026-11-30T01:30:00Z
run tick
run quotas -o csv
expect_out_has '^site,,L4,on_demand,gpu,8,8,2026-11-30T01:30:00Z,limit$'
run quotas -o json
expect_json '$.quotas[0].ours' 8
is c queued "what is used is ours, and is counted once"
hall own.trace 9
NOW=2026-11-30T01:40:00Z
run tick
is c queued "the reading of ten minutes ago still holds"
run quotas refresh
NOW=2026-11-30T01:41:00Z
run tick
is c placed "a quota of 9 leaves one"
replays

# A launch that is refused for a quota says that the reading is out of date: the next tick asks again, whatever its age.
site 8
run tick
hall own.trace 4
job big 8 1h
NOW=2026-11-30T00:01:00Z
run tick
expect_exit 5 "the cloud has cut it since"
run quotas -o json
expect_json '$.accounts[0].due' true
expect_json '$.quotas[0].limit' 8
NOW=2026-11-30T00:02:00Z
run tick
run quotas -o json
expect_json '$.accounts[0].due' false
expect_json '$.quotas[0].limit' 4
run jobs -o csv --columns name,reason
expect_out_has '^big,.*on hold after a refusal'
replays

# It is on hold for an hour, or until a reading tells of room that the one before did not; the same again ends nothing.
hall own.trace 7
NOW=2026-11-30T00:03:00Z
run quotas refresh
run tick
run instances -o csv --columns instance_type
expect_lines 1 "7 do not let 8 GPUs go"
run jobs -o csv --columns name,reason
expect_out_has '^big,.*on hold after a refusal'
hall own.trace 8
NOW=2026-11-30T00:04:00Z
run quotas refresh
run tick
is big placed "8 do, 56 minutes before the hold would have ended"
replays
site 8
run tick
hall own.trace 4
job big 8 1h
NOW=2026-11-30T00:01:00Z
run tick
expect_exit 5
hall own.trace 8
NOW=2026-11-30T00:02:00Z
run tick
run quotas -o json
expect_json '$.accounts[0].as_of' '2026-11-30T00:02:00Z'
run jobs -o csv --columns name,reason
expect_out_has '^big,.*on hold after a refusal' "8 were told before the refusal too: told again they prove nothing"

# A place is kept for a job that a provider's quota makes wait, as for one that berth.yaml limits.
site 8
for i in 1 2 3 4 5 6; do job a$i 1 2h; done
run tick
job big 8 1h
job short 1 30m
job long 1 3h
NOW=2026-11-30T00:10:00Z
run tick
is short placed "it ends before what is kept"
is long queued "it would not"
run jobs -o csv --columns name,reason
expect_out_has "^big,.*its place is kept, so that it can start at 2026-11-30T02:0[0-9]:"
replays

# An account whose call fails changes nothing for the others.
hall own.trace 6
hall sky.trace 8 9
home "accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}
  - {name: sky, provider: replay, trace: $PWD/sky.trace}"
NOW=2026-11-30T00:00:00Z
begin
mv own.trace away.trace
run quotas refresh
expect_exit 8 "one of two did not tell"
expect_err_has '1 of 2 accounts did not tell their quotas; site: '
run quotas -o csv
expect_lines 2 "the other one did"
expect_out_has '^sky,'
mv away.trace own.trace
job big 8 1h
run place -o json
expect_json '$.jobs[0].offer.account' 'site'

# Region by region: one that refuses changes nothing for those behind it, and keeps what it told.
if command -v python3 >/dev/null; then
	mkfifo hold
	python3 "$TOP_SRCDIR/tests/cli/quota_server.py" "$HOME/shut" <hold >port &
	exec 8>hold
	while [ ! -s port ]; do sleep 0.1; done
	export K=key
	home "accounts:
  - {name: aws, provider: aws, regions: [eu-west-1, us-east-1, us-west-2], access_key_id: env:K, secret_access_key: env:K,
     endpoint: 'http://127.0.0.1:$(cat port)'}"
	NOW=2026-11-30T00:00:00Z
	run init --no-prices
	echo eu-west-1 >shut
	run quotas refresh
	expect_exit 8
	expect_out_has '^aws: 2 quotas$'
	expect_err_has '1 of 1 accounts did not tell all their quotas; aws: quota: 1 of 3 regions did not tell; eu-west-1: .*not here'
	run quotas -a -o csv
	expect_lines 3
	expect_err_has 'quotas of aws in eu-west-1 are unknown: never told; .*not here'
	[ "$(grep -c 'quotas of aws' "$err")" = 1 ]
	ok $? "of the other regions nothing is said"
	echo us-west-2 >shut
	NOW=2026-11-30T01:00:00Z
	run quotas refresh
	expect_exit 8
	run quotas -o json
	expect_json '$.accounts[0].state' 'known'
	expect_json '$.accounts[0].as_of' null "all three never told at once"
	expect_json '$.accounts[0].regions[0].as_of' '2026-11-30T01:00:00Z'
	expect_json '$.accounts[0].regions[0].error' null
	expect_json '$.accounts[0].regions[2].as_of' '2026-11-30T00:00:00Z'
	expect_out_has 'not here'
	run doctor
	expect_out_has 'warn +account aws: aws: quotas: 1 of 3 regions did not tell; us-west-2: '
	NOW=2026-12-01T00:30:00Z
	run quotas -a
	expect_err_has 'quotas of aws in us-west-2 are unknown: last told 2026-11-30T00:00:00Z; .*not here'
	: >shut
	run quotas refresh
	expect_exit 0
	expect_out_has '^aws: 3 quotas$'
	exec 8>&-
else
	skip "quotas region by region" "no python3"
fi

# A plan keeps to them, tells when one that it draws on is too small, and of those in regions that it takes nothing of nothing.
cat >own.trace <<T
schema: berth.replay/1
start: 2026-11-30T00:00:00Z
quotas:
  - {accelerator: L4, region: near, purchase: on_demand, limit: 29}
  - {accelerator: L4, region: idle, purchase: on_demand, limit: 0}
pools:
  - {provider: own, region: near, zone: a, instance_type: x8, accelerator: L4, accelerator_count: 8, on_demand: {price: 8, capacity: 99}}
  - {provider: own, region: far, zone: a, instance_type: x8, accelerator: L4, accelerator_count: 8, on_demand: {price: 9, capacity: 99}}
  - {provider: own, region: idle, zone: a, instance_type: x8, accelerator: L4, accelerator_count: 8, on_demand: {price: 20, capacity: 99}}
T
home "accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}"
NOW=2026-11-30T00:00:00Z
begin
awk 'BEGIN {	# 49 days up to now, of 8 to 32 GPUs
	print "timestamp,gpus,series,accelerator"
	for (h = 49 * 24; h >= 1; h--) print 1796083200 - 3600 * h "," int(20 + 12 * sin(6.2831853 * h / 24)) ",day,L4"
}' >use.csv
run record csv use.csv
run plan day --horizon 2w --paths 40 -o json
expect_json '$.series[0].rest[0].offer' 'own near x8 on_demand' "nothing is known: all in the cheapest region"
before=$(json '$.totals.expected_cost')
run quotas refresh
run plan day --horizon 2w --paths 40 -o json
expect_json '$.quotas[0].limit' 'site near L4 on_demand'
expect_json '$.quotas[0].source' 'provider'
expect_json '$.quotas[0].as_of' '2026-11-30T00:00:00Z'
expect_json '$.quotas[0].usable' 24 "of 29 three machines of 8"
expect_json '$.series[0].rest[0].gpus' 24
expect_json '$.series[0].rest[1].offer' 'own far x8 on_demand' "the rest goes where there is no quota"
awk -v a="$before" -v b="$(json '$.totals.expected_cost')" 'BEGIN { exit !(a > 0 && b > a && b < a * 9 / 8) }'
ok $? "which costs more, and less than all of it there"
expect_json '$.quota_runway[0].limit' 'site near L4 on_demand'
expect_json '$.quota_runway[0].gpus' 24
expect_out_lacks 'site idle' "a quota of a region that the plan takes nothing of"
berth_yaml "accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}
limits: [{name: more, region: near, limit: 99, override: true}]"
run plan day --horizon 2w --paths 40 -o json
expect_json_near '$.totals.expected_cost' "$before" 0.000001
done_testing
