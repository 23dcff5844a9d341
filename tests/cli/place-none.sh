#!/bin/sh
# A provider's word that it has none: believed for an hour, told with its age, overruled by a newer word or a launch that was
# won, then remembered as a lost launch, and never for ever. Outages that lists tell of are what the spot policy waits by.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

head='provider,region,zone,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency,available'
row() { printf '%s,r1,r1a,%s,L4,1,%s,%s,USD,%s\n' "$1" "$2" "$3" "$4" "$5"; }
read_as() {	# read_as NAME ROW...: what the list of that name says now
	name=$1
	shift
	{ echo "$head"; printf '%s\n' "$@"; } >"$name.csv"
	run prices import "$name.csv"
	[ "$status" -eq 0 ] || expect_exit 0 "the list $name is taken"
}
job() { printf 'schema: berth.job/1\nname: %s\naccelerators: "L4:1"\nwork: 2h\npurchase: [%s]\nrun: make\n' "$1" "$2" >"$1.yaml"; run submit "$1.yaml"; expect_exit 0; }
goes() {	# goes TIME PROVIDER|null WHAT
	NOW=$1
	run place -o json
	[ "$(json '$.jobs[0].offer.provider')" = "$2" ] || { [ "$2" = null ] && [ "$(json '$.jobs[0].offer')" = null ]; }
	ok $? "$1: $3"
}

mkdir -p .config/berth
printf 'schema: berth.config/1\n' >.config/berth/berth.yaml
job one on_demand
read_as cheap "$(row cheap small on_demand 1.0 no)"
read_as dear "$(row dear small on_demand 2.0 yes)"
goes 2026-11-30T00:20:00Z dear 'what its provider has none of is not taken'
expect_json '$.jobs[0].refused.unavailable' 1
expect_json '$.jobs[0].changes[0].what' unavailable
expect_json '$.jobs[0].changes[0].at' 2026-11-30T01:00:00Z
run explain "$(json '$.jobs[0].id')"
expect_out_has 'none to be had, as its provider said at 2026-11-30T00:00:00Z; it is asked again from 2026-11-30T01:00:00Z' 'explain tells the age'
goes 2026-11-30T00:59:59Z dear 'to the second'
goes 2026-11-30T01:00:00Z cheap 'an hour later it may be asked again'
[ "$(json '$.jobs[0].offer.expected_finish')" \> 2026-11-30T03:08:00Z ]
ok $? 'later than from a start at once: a try in vain is reckoned with'
goes 2026-12-03T00:00:00Z cheap 'and it is not held back for ever'
[ "$(json '$.jobs[0].offer.expected_finish')" \< 2026-12-03T02:05:10Z ]
ok $? 'days later the word is forgotten'

# A newer word, of any list, counts before an older one.
NOW=2026-11-30T00:10:00Z
read_as other "$(row cheap small on_demand 1.5 yes)"
goes 2026-11-30T00:20:00Z cheap 'a newer list has it: its own, dearer price is not alone any more'
NOW=2026-11-30T00:30:00Z
read_as other "$(row cheap small on_demand 1.5 no)"
goes 2026-11-30T00:40:00Z dear 'the newest says none'
goes 2026-11-30T01:15:00Z dear 'for an hour from then on'
goes 2026-11-30T01:30:00Z cheap 'and no longer'
NOW=2026-11-30T01:40:00Z
read_as cheap "$(row cheap small on_demand 1.0 yes)"
read_as other "$(row cheap small on_demand 1.5 yes)"
NOW=2026-11-30T02:00:00Z
read_as cheap "$(row cheap small on_demand 1.0 no)"
NOW=2026-11-30T03:00:00Z
read_as cheap "$(row cheap small on_demand 1.1 no)"
goes 2026-11-30T03:10:00Z dear 'none, at another price'
run explain "$(json '$.jobs[0].id')"
expect_out_has 'none to be had since 2026-11-30T02:00:00Z, as its provider last said at 2026-11-30T03:00:00Z' 'since when, over prices that changed'
printf 'schema: berth.config/1\nprices: {none_age: 5m}\n' >short.yaml
run --config short.yaml place -o json
expect_json '$.jobs[0].offer.provider' cheap 'none_age of berth.yaml'
printf 'schema: berth.config/1\nprices: {none_age: never}\n' >bad.yaml
run --config bad.yaml place
expect_exit 1
expect_err_has 'none_age.*not a duration'
expect_err_has 'bad.yaml:2:20'

# Nothing else to be had: the words say why, and when again.
NOW=2026-11-30T03:20:00Z
read_as dear "$(row dear small on_demand 2.0 no)"
run place -o json
expect_exit 3
expect_err_has 'cheap r1a small on_demand: none to be had since 2026-11-30T02:00:00Z, as its provider last said at 2026-11-30T03:00:00Z; it is asked again from 2026-11-30T04:00:00Z'

# A list of tomorrow, by a clock that was wrong, tells nothing now.
NOW=2026-12-20T00:00:00Z
read_as dear "$(row dear small on_demand 2.0 no)"
goes 2026-12-10T00:00:00Z cheap 'the clock goes back'
NOW=2026-12-10T00:00:00Z
read_as cheap "$(row cheap small on_demand 3.0 unknown)"
read_as other "$(row cheap small on_demand 3.5 unknown)"
goes 2026-12-10T00:10:00Z dear 'a word of the future holds nobody back'

# On the replayed cloud: spot is away for two hours twice a day; the tick reads it, and the policy learns from it how long.
cat >one.trace <<EOF
schema: berth.replay/1
start: 2026-12-20T00:00:00Z
pools:
  - provider: aurora
    region: us-east-1
    zone: us-east-1a
    instance_type: a1
    accelerator: L4
    accelerator_count: 1
    startup: [3m, 3m]
    on_demand: {price: 4, capacity: 4}
    spot: {price: 1, capacity: [[0h, 2], [2h, 0], [4h, 2], [12h, 0], [14h, 2], [26h, 0], [28h, 2]]}
EOF
rm -rf .config .local
mkdir -p .config/berth
printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/one.trace}\n' "$PWD" >.config/berth/berth.yaml
half=0
while [ $half -le 54 ]; do	# a reading each half hour
	NOW=$(printf '2026-12-2%dT%02d:%02d:00Z' $((half / 48)) $((half % 48 / 2)) $((half % 2 * 30)))
	run prices refresh
	[ "$status" -eq 0 ] || expect_exit 0
	half=$((half + 1))
done
NOW=2026-12-21T03:10:00Z
cat >long.yaml <<EOF
schema: berth.job/1
name: long
accelerators: "L4:1"
work: 4h
deadline: +40h
checkpoint: {size: 1GB, write: 10s, interval: 10m}
purchase: [spot, on_demand]
run: make
EOF
run submit long.yaml
expect_exit 0
run place -o json
expect_exit 3 'it waits'
expect_json '$.jobs[0].refused.unavailable' 1
expect_json '$.jobs[0].spot.up' false
expect_json_near '$.jobs[0].spot.age_hours' 1.167 0.001
expect_json '$.jobs[0].spot.ends_seen' 2 'two returns were seen'
run explain "$(json '$.jobs[0].id')"
expect_out_has 'waits for spot'
done_testing
