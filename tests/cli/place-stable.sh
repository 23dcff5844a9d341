#!/bin/sh
# Placing again moves nobody without a reason: jobs keep their offer among equal ones, whatever came or went beside them, and
# one that moves pays less, or makes room for one that has nowhere else to go.
. "$TOP_SRCDIR/tests/cli/lib.sh"

cat >offers.csv <<CSV
provider,region,zone,instance_type,accelerator,accelerator_count,vcpus,purchase,price_per_hour,currency
aws,us-east-1,us-east-1a,one,L4,1,8,on_demand,1.0,USD
aws,us-east-1,us-east-1b,one,L4,1,8,on_demand,1.0,USD
aws,eu-west-1,eu-west-1a,one,L4,1,8,on_demand,1.0,USD
gcp,us-central1,us-central1-a,g2,L4,1,8,on_demand,1.5,USD
CSV
cat >berth.yaml <<YAML
schema: berth.config/1
limits:
  - {name: east, provider: aws, region: us-east-1, limit: 72, unit: vcpu}
  - {name: west, provider: aws, region: eu-west-1, limit: 64, unit: vcpu}
YAML
with() { run --config berth.yaml --store q.db "$@"; }
job() {	# job NAME NODES LINE...
	printf 'schema: berth.job/1\nname: %s\nrun: make\nwork: 10h\npurchase: [on_demand]\n' "$1" >"$1.yaml"
	printf 'variants:\n  - {accelerator: "L4:1", nodes: %d}\n' "$2" >>"$1.yaml"
	shift 2
	for line; do printf '%s\n' "$line"; done >>"$name.yaml"
	with submit "$name.yaml"
	[ "$status" -eq 0 ] || expect_exit 0
}
where() {	# where FILE: a plan, and into the file each job with its zone
	with place -o json
	expect_exit 0 "a plan into $1"
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' '$1 ~ /^\$\.jobs\[[0-9]+\]\.name$/ { name = $2 }
	    $1 ~ /^\$\.jobs\[[0-9]+\]\.offer\.zone$/ { print name, $2 }' | sort >"$1"
}
moved() { join "$1" "$2" | awk '$2 != $3' | wc -l | tr -d ' '; }	# jobs of both plans that moved

with prices import offers.csv
k=0
while [ "$k" -lt 24 ]; do
	name=job$(printf %02d "$k")
	job "$name" $((1 + (k % 8 == 7)))
	k=$((k + 1))
done
where first
[ "$(wc -l <first)" -eq 24 ]
ok $? '24 jobs have a place'
[ "$(grep -c us-central1 first)" -gt 0 ] && [ "$(grep -c us-central1 first)" -lt 24 ]
ok $? 'both quotas bind'
where second
[ "$(moved first second)" -eq 0 ]
ok $? "placing again moves nobody ($(moved first second) moved)"

name=extra
job extra 1
where third
[ "$(wc -l <third)" -eq 25 ] && [ "$(moved second third)" -eq 0 ]
ok $? "one job more moves nobody ($(moved second third) moved)"

name=urgent
job urgent 1 'priority: 5' 'regions: ["us-east-1"]'
where fourth
grep -q '^urgent us-east-1' fourth && [ "$(moved third fourth)" -eq 1 ]
ok $? "one that has to be where it is full moves one ($(moved third fourth) moved)"

gone=$(awk '/us-central1/ { next } $1 != "urgent" && $1 != "job07" && $1 != "job15" && $1 != "job23" { print $1; exit }' fourth)
with jobs -o json
id=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' -v name="$gone" '$1 ~ /\.id$/ { id = $2 }
    $1 ~ /\.name$/ && $2 == name { print id; exit }')
with job cancel "$id"
[ "$status" -eq 0 ] || expect_exit 0
where fifth
[ "$(wc -l <fifth)" -eq 25 ] && [ "$(moved fourth fifth)" -eq 1 ]
ok $? "one that leaves lets the one move that saves by it ($(moved fourth fifth) moved)"
[ "$(join fourth fifth | awk '$2 != $3 { print ($2 ~ /central/) && ($3 !~ /central/) }')" = 1 ]
ok $? 'from the dear place to the cheap one'
done_testing
