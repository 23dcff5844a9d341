#!/bin/sh
# A place is kept for the job that a quota makes wait: a stream of small jobs does not starve it, and those that do not make it
# later still run.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"
. "$TOP_SRCDIR/tests/cli/queue.sh"

site() {	# site [TEXT [LIMIT]]: own machines with one, four and eight GPUs, of which eight may be held; more of berth.yaml
	hall own.trace
	sed 's/provider: own/provider: sky/; s/price: \([148]\)/price: 9\1/' own.trace >sky.trace
	home "limits: [{name: hall, account: site, limit: ${2:-8}, unit: gpu}]
accounts:
  - {name: site, provider: replay, trace: $PWD/own.trace}
${1-}"
	NOW=2026-11-30T00:00:00Z
	begin
}
stream() {	# stream N: six hours in which N GPUs are asked for by jobs of 2 h every 20 minutes
	for h in 0 1 2 3 4 5; do
		for m in 20 40; do
			NOW=2026-11-30T0$h:$m:00Z
			i=0
			while [ $i -lt "$1" ]; do
				job "s$h$m$i" 1 2h "user: ${2-me}"
				i=$((i + 1))
			done
			run tick
			case $(state big) in
			running | placed | done) return ;;
			esac
		done
	done
}

# Six GPUs are taken for 2 h, then all eight are asked for. Jobs of 2 h come every 20 minutes and would keep the hall full for good.
site
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
expect_out_has "^long,.*waits so that job $(cat big) can start at 2026-11-30T02:0"
run place -o json
expect_json '$.jobs[1].refused.reserved' 1
stream 2
case $NOW in
2026-11-30T02:[02]*) true ;;
*) false ;;
esac
ok $? "the large job starts when what ran before it has ended: $NOW"
run tick --until +4h
NOW=2026-11-30T06:20:00Z
is big 'done'
is long running "and then the others go on"
replays

# All submitted for one tick: the large one has its place kept in that tick, as if those before it ran already.
site
for i in 1 2 3 4 5 6; do job a$i 1 2h; done
job big 8 1h
job short 1 30m
job long 1 3h
run place -o json
expect_json '$.jobs[6].id' "$(cat big)"
expect_json '$.jobs[6].offer' null
expect_json '$.jobs[8].refused.reserved' 3 'place keeps it too, on machines of each size'
run tick
is a6 placed
is short placed "it ends before what is kept"
is long queued "it would not, and waits from the first tick on"
run jobs -o csv --columns name,reason
expect_out_has "^big,.*its place is kept, so that it can start at 2026-11-30T02:0[0-9]:"
expect_out_has "^long,.*waits so that job $(cat big) can start at 2026-11-30T02:0"
replays
run tick --until +2h10m
NOW=2026-11-30T02:10:00Z
is big running "it starts when those before it have ended"
is long queued

# What fits beside those before it needs none kept, and neither does one that money keeps out.
site '' 12
for i in 1 2 3; do job a$i 1 2h; done
job big 8 1h
job long 1 9h
job last 1 9h
run tick
is big placed
is long placed
run jobs -o csv --columns name,reason
expect_out_lacks 'its place is kept'
site
run budget set all -c 20 -p total
for i in 1 2 3; do job a$i 1 2h; done
job big 8 9h
job long 1 3h
run tick
is big queued 'no money is there for it'
is long placed

# Room beside it: four of eight are free at 2 h, and two more at once and then; those behind it may have these, and no third.
site
job a1 4 2h
job a2 1 5h
job a3 1 5h
run tick
job big 4 1h
for i in 1 2 3; do job beside$i 1 9h; done
NOW=2026-11-30T00:10:00Z
run tick
is beside1 placed
is beside2 placed "two stay free beside it"
is beside3 queued
is big queued

# What starts before it in the same placement is not there at 2 h either: 12 less 1, less 1, less its 8 leave 2 beside it.
site '' 12
job a1 4 2h
job a2 1 9h
run tick
job early 1 9h
job big 8 1h
for i in 1 2 3; do job beside$i 1 9h; done
NOW=2026-11-30T00:10:00Z
run tick
is early placed
is beside2 placed "two stay free beside it"
is beside3 queued "the third would make it wait"
run jobs -o csv --columns name,reason
expect_out_has "^beside3,.*binds: what is kept for job $(cat big)\."
run tick --until +2h10m
NOW=2026-11-30T02:20:00Z
is big running
site
for i in 1 2 3 4 5 6; do job a$i 1 2h; done
run tick
job early 1 10h
job big 8 1h
job long 1 3h
NOW=2026-11-30T00:10:00Z
run tick
is long placed "early keeps the hall from the large one for ten hours anyhow"
run jobs -o csv --columns name,reason
expect_out_has "^big,.*its place is kept, so that it can start at 2026-11-30T10:1"

# By shares: who has used least has the place kept, whoever else asks.
site 'fair_share: {}'
for i in 1 2 3 4 5 6; do job a$i 1 2h 'user: many'; done
run tick
job big 8 1h 'user: few'
stream 2 many
case $NOW in
2026-11-30T02:[02]*) true ;;
*) false ;;
esac
ok $? "with shares the large job starts as soon: $NOW"

# Priority goes before it, a deadline that would be missed too, and where a cloud has no such limit nothing waits.
site
for i in 1 2 3 4 5 6; do job a$i 1 2h; done
run tick
job big 8 1h
job first 1 3h 'priority: 1'
job late 1 3h 'deadline: 2026-11-30T04:00:00Z'
NOW=2026-11-30T00:10:00Z
run tick
is first placed
is late placed
site
for i in 1 2 3 4 5 6; do job a$i 1 2h; done
run tick
job never 8 1h 'deadline: 2026-11-30T03:00:00Z'
job long 1 3h
NOW=2026-11-30T00:10:00Z
run tick
is never queued "at 2 h there is no time left for it"
is long placed "and no place is kept for it"
site "  - {name: cloud, provider: replay, trace: $PWD/sky.trace}"
for i in 1 2 3 4 5 6; do job a$i 1 2h; done
run tick
job big 8 1h
job long 1 3h
NOW=2026-11-30T00:10:00Z
run tick
is big placed "in the cloud"
is long placed
run instances -o csv --columns account,job
expect_out_has "^cloud,$(cat big)"
expect_out_has "^site,$(cat long)"
done_testing
