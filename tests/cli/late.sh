#!/bin/sh
# Deadlines that a machine cannot keep by what was measured of it, that are missed, and that are changed.
NOW=2026-12-01T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/clouds.sh"

# pool NAME PRICE [MORE]: eight H100, up in five minutes
pool() { echo "- {provider: $1, region: r, zone: z, instance_type: p5, accelerator: H100-SXM5-80GB, accelerator_count: 8, vcpus: 192, startup: 5m, on_demand: {price: $2}${3:+, $3}}"; }
slow='slow: {share: 1, factor: 0.82}'
late_job() {	# late_job NAME DEADLINE [LINE...]: four hours of work
	printf 'schema: berth.job/1\nname: %s\naccelerators: "H100-SXM5-80GB:8"\nwork: 4h\n%scheckpoint: {size: 20GB, write: 60s}\nrun: x\n' \
		"$1" "${2:+deadline: $2
}" >job.yaml
	shift 2
	for line; do echo "$line" >>job.yaml; done
	run submit job.yaml
	expect_exit 0
}
at() { saved=$NOW NOW=$1; shift; "$@"; NOW=$saved; }
told() {	# told TYPE: how many events of this type
	run -q events --type "$1" -o csv --columns type
	grep -c "^$1" "$out"
}
where() { run instances --all -o json; sed -n 's/.*"provider": "\(.*\)".*/\1/p' "$out" | tr '\n' ' '; }

# The probe finds the cheap machine at 82 %: 4 h / 0.82 from 00:05 on are over at 04:58. The other keeps 04:45.
cloud_of "$(pool cheap 30 "$slow")" "$(pool good 40)"
late_job d1 +4h45m 'purchase: [on_demand]'
run tick --until +24h
expect_exit 0
[ "$(at 2026-12-02T00:00:00Z where)" = "cheap good " ]
ok $? "the slow machine is given back, and the dearer one rented"
[ "$(told job.started)" = 1 ] && [ "$(told job.moved)" = 1 ] && [ "$(told 'job.deadline_*')" = 0 ]
ok $? "it starts once, on the one that keeps the deadline"
at 2026-12-02T00:00:00Z run jobs --all -o json
expect_json '$.jobs[0].deadline_missed' false
awk -v f="$(json '$.jobs[0].finished')" 'BEGIN { exit !(f > "2026-12-01T04:00:00Z" && f < "2026-12-01T04:45:00Z") }'
ok $? "done in time"
run explain d1 --kind move
expect_out_has 'gives back a machine that is too slow: at 8[12] % of its rating it would end at 2026-12-01T05:01:'
expect_out_has 'on good z p5 on_demand'
replays

# Its own money does not pay for the dearer one (some 167 USD in all): it stays, says so once, and is late.
cloud_of "$(pool cheap 30 "$slow")" "$(pool good 40)"
late_job d1 +4h45m 'purchase: [on_demand]' 'max_cost: 160'
run tick --until +24h
[ "$(at 2026-12-02T00:00:00Z where)" = "cheap " ] && [ "$(told job.deadline_at_risk)" = 1 ] && [ "$(told job.deadline_missed)" = 1 ]
ok $? "nothing else that it may pay keeps the deadline: it stays, and both are told once"
run events --type job.deadline_at_risk -o json
expect_out_has 'it is expected to end at 2026-12-01T05:0[01]:.*, and the deadline is 2026-12-01T04:45:00Z: its machine does 8[12] %'
NOW=2026-12-01T12:00:00Z
run jobs --all -o json
expect_json '$.jobs[0].deadline_missed' true
expect_out_has '"reason": "done, 1[0-9] min after its deadline"'
run job d1
expect_out_has 'deadline   2026-12-01T04:45:00Z, missed'
run explain d1
expect_out_has 'its deadline of 2026-12-01T04:45:00Z was missed: it ended 1[0-9] min later'
run explain d1 -o json
expect_json '$.deadline_missed' true
run report -o json
expect_json '$.jobs.deadline_missed' 1
expect_json '$.jobs.done' 1
run report --html page.html
expect_out_has '1 done; 1 missed its deadline'
grep -q '2026-12-01T04:45:00Z, missed' page.html
ok $? "the page says which"
run report --from 2026-12-01T05:00:00Z -o json
expect_json '$.jobs.deadline_missed' 0 "a deadline before the period is not one of it"
NOW=2026-12-01T00:00:00Z

# Every place is slow: a job leaves two machines at most, then goes on where it is.
cloud_of "$(pool one 30 "$slow")" "$(pool two 31 "$slow")" "$(pool three 32 "$slow")" "$(pool four 33 "$slow")" "$(pool five 34 "$slow")"
late_job d1 +4h50m 'purchase: [on_demand]'
run tick --until +24h
[ "$(at 2026-12-02T00:00:00Z where)" = "one two three " ] && [ "$(told job.deadline_at_risk)" = 1 ] && [ "$(told job.done)" = 1 ]
ok $? "three machines at most, one warning, and the work is done"

# A gang is as fast as its slowest machine, and leaves as one.
cloud_of "$(pool cheap 30 "$slow")" "$(pool good 40)"
late_job g1 +4h45m 'purchase: [on_demand]' 'nodes: 2'
run tick --until +24h
[ "$(at 2026-12-02T00:00:00Z where)" = "cheap cheap good good " ] && [ "$(told job.deadline_missed)" = 0 ] && [ "$(told job.done)" = 1 ]
ok $? "both machines of the gang are given back, and it is in time elsewhere"

# Another deadline for a job that runs: what was good enough is too slow for it, as its progress tells.
cloud_of "$(pool cheap 30 "$slow")" "$(pool good 40)"
late_job d1 '' 'purchase: [on_demand]'
run tick --until +40m
NOW=2026-12-01T00:40:00Z
run job deadline d1 2026-11-30T00:00:00Z
expect_exit 1
expect_err_has 'lies in the past'
run job deadline d1 soon
expect_exit 1
run job deadline nobody +1h
expect_exit 1
run --dry-run job deadline d1 2026-12-01T04:45:00Z
expect_exit 0
expect_out_has 'dry run: j-.*  deadline 2026-12-01T04:45:00Z, before none'
run job d1 -o json
expect_json '$.deadline' null "a dry run changes nothing"
run job deadline d1 2026-12-01T04:45:00Z -o json
expect_exit 0
expect_is_json berth.jobs/1
expect_json '$.jobs[0].deadline' 2026-12-01T04:45:00Z
[ "$(told job.deadline_changed)" = 1 ]
ok $? "the change is an event"
run tick --until +24h
[ "$(at 2026-12-02T00:00:00Z where)" = "cheap good " ] && [ "$(told job.deadline_missed)" = 0 ]
ok $? "it leaves for one that keeps the new deadline"
replays
run explain d1 --kind move
expect_out_has 'leaves a machine that is too slow: at 8[12] % of its rating it would end at 2026-12-01T0[45]:'
NOW=2026-12-02T00:00:00Z
run job deadline d1 none
expect_exit 1
expect_err_has 'is done: its deadline stays'
NOW=2026-12-01T00:00:00Z

# Begun, and sold out until the deadline cannot be kept: it goes on when there is something again, and says that it is late.
cloud_of '- {provider: aws, region: r, zone: z, instance_type: p5, accelerator: H100-SXM5-80GB, accelerator_count: 8, vcpus: 192, startup: 5m, on_demand: {price: 40, capacity: [[0h, 2], [1h, 0], [20h, 2]]}, spot: {price: 12, capacity: [[0h, 2], [2h, 0], [4h, 2]], notice: 2m}}'
late_job d1 +6h
late_job never +3h
run tick --until +3h50m
NOW=2026-12-01T03:50:00Z
is d1 queued "no machine is to be had"
is never queued
[ "$(told job.deadline_at_risk)" -ge 1 ]
ok $? "that the deadline is lost is told"
NOW=2026-12-01T03:50:00Z
run tick --until +10h
NOW=2026-12-01T14:00:00Z
is d1 done "late, where it waited for ever before"
is never queued "what has not begun does not start late"
run jobs --all -o csv --columns name,deadline_missed
expect_out_has '^d1,yes'
expect_out_has '^never,yes'
run events --type job.deadline_missed -o csv --columns subject
expect_lines 3 "the heading, and each job once"
run explain d1 --kind place
expect_out_has 'late: it has begun, and nothing ends it by its deadline of 2026-12-01T06:00:00Z any more'
same=0
for i in $(decided placement | tail -20); do
	run place --replay "$i"
	grep -q 'comes out the same, byte for byte' "$out" && same=$((same + 1))
done
[ "$same" -eq 20 ]
ok $? "$same of the last 20 placements come out the same"

# Without its deadline what had not begun goes; what was decided before comes out as it was.
last=$(decided placement | tail -1)
run job deadline never none
expect_exit 0
run place --replay "$last"
expect_out_has "Placement $last comes out the same, byte for byte"
run tick --until +10h
NOW=2026-12-02T12:00:00Z
is never done
run job never -o json
expect_json '$.deadline_missed' false
done_testing
