#!/bin/sh
# A fault in any part of berth.yaml is told by doctor, at its place; unknown providers by every verb that reads the file.
. "$TOP_SRCDIR/tests/cli/lib.sh"

bad() {	# bad LINE REGEX: this line below the schema is a fault
	printf 'schema: berth.config/1\n%s\n' "$1" >c.yaml
	run --config c.yaml --offline doctor
	expect_exit 1
	expect_out_has "fail +config: +$2"
}
bad 'fair_share: {x: 1}' "c.yaml:2:14: key 'fair_share.x': there is no such key"
bad 'limits: [{name: a, quux: 1}]' "c.yaml:2:20: key 'limits\[0\].quux'"
bad 'block: [{nope: 1}]' "c.yaml:2:10: key 'block\[0\].nope'"
bad 'idle: {foo: 1}' "c.yaml:2:8: key 'idle.foo'"
bad 'measure: [{x: 1}]' "c.yaml:2:12: key 'measure\[0\].x'"
bad 'fleets: [{name: a}]' "c.yaml:2:10: key 'fleets\[0\]'"
bad 'sinks: [{name: a}]' "c.yaml:2:9: key 'sinks\[0\]': a sink has either"
bad 'joins: [{x: 1}]' "c.yaml:2:10: key 'joins\[0\].x'"
bad 'network: {x: 1}' "c.yaml:2:11: key 'network.x'"
bad 'prices: {x: 1}' "c.yaml:2:10: key 'prices.x'"
bad 'roadmap: /nowhere.yaml' 'roadmap of berth.yaml: /nowhere.yaml'
bad 'defaults: {zone: Europe/Nowhere}' "zone of berth.yaml: time zone 'Europe/Nowhere'"
bad 'defaults: {holidays: nowhere.csv}' 'holidays of berth.yaml: nowhere.csv'
bad 'retention: {x: 1d}' "c.yaml:2:13: key 'retention.x'"
bad 'accounts: [{name: a, provider: nosuch}]' "c.yaml:2:32: no provider 'nosuch'"
for verb in place plan tick forecast; do
	run --config c.yaml $verb
	expect_exit 1
	expect_err_has "no provider 'nosuch'"
done
"$BERTH" --config c.yaml jobs >"$out" 2>"$err"
[ $? -eq 1 ] && grep -q "no provider 'nosuch'" "$err"
ok $? "jobs looks into the file for its store"
# Several faults are told at once, and a file without any is fine.
printf 'schema: berth.config/1\nidle: {foo: 1}\nprices: {bar: 1}\n' >c.yaml
run --config c.yaml --offline doctor
expect_out_has "idle.foo"
expect_out_has "prices.bar"
printf 'schema: berth.config/1\ndefaults: {zone: "+01:00", holidays: de}\nsinks: [{name: a, file: e.log}]\n' >c.yaml
run --config c.yaml --offline doctor
expect_out_has "ok +config: +c.yaml, accounts: 0"
done_testing
