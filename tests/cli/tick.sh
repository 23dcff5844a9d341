#!/bin/sh
# From init to report on the replayed cloud: the oracle of money is the sum over the machines' own hours.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

run init --replay --dry-run
expect_exit 0
[ ! -e "$HOME/.config/berth/berth.yaml" ] && [ ! -e "$HOME/.local/state/berth/berth.db" ]
ok $? "a dry run of init makes nothing"
run init --replay -o json
expect_is_json berth.init/1
expect_json '$.config_created' true
[ "$(stat -c %a "$HOME/.local/state/berth/berth.db")" = 600 ]
ok $? "the store is for its owner alone"
cp "$HOME/.config/berth/berth.yaml" first.yaml
run init -o json
expect_json '$.config_created' false
cmp -s first.yaml "$HOME/.config/berth/berth.yaml"
ok $? "init twice leaves the config as it is"

run -q tick
expect_exit 0
expect_no_out "a tick with nothing to do says nothing"
expect_no_err
run prices refresh
expect_exit 0
run submit "$BERTH_DATA/jobs/batch-inference-l4.yaml" "$BERTH_DATA/jobs/finetune-a100-spot.yaml"
expect_exit 0
run tick --dry-run
expect_exit 0
expect_out_has 'would be placed'
run instances --all -o json
expect_json '$.instances[0].id' '' "a dry run rents nothing"
run tick --until 2026-11-29T00:00:00Z
expect_exit 2 "a clock that goes back"
run tick --until +20h --step 2m -o json
expect_exit 0
expect_is_json berth.tick/1
expect_json '$.finished' 2
expect_json '$.errors' 0

# In the middle of it, with hours that are not in the ledger yet, each way of splitting the money has the same sum.
NOW=2026-11-30T01:30:00Z
run report -o json
for by in project account purchase; do
	parts=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' -v by="$.by_$by." 'index($1, by) == 1 { s += $2 } END { printf "%.6f", s }')
	expect_json '$.spent' "$parts" "the parts by $by are all of what was spent"
done
awk -v s="$(json '$.spent')" 'BEGIN { exit !(s > 0) }'
ok $? "some of it is spent by then"

NOW=2026-12-01T00:00:00Z
run jobs -o json
expect_json '$.jobs[0].state' done
expect_json '$.jobs[1].state' done
run instances -o json
expect_json '$.instances[0].id' '' "nothing runs on"
run instances --all -o csv --columns created,gone,price_per_hour,cost
want=$(awk -F, '
	function sec(t,   a) { split(t, a, /[-T:Z]/); return ((a[3] * 24 + a[4]) * 60 + a[5]) * 60 + a[6] + (a[2] == 12 ? 30 * 86400 : 0) }
	NR > 1 { s += (sec($2) - sec($1)) / 3600 * $3 } END { printf "%.4f", s }' "$out")
run report -o json
expect_exit 0
expect_is_json berth.report/1
expect_json_near '$.spent' "$want" 0.001
expect_json '$.jobs.done' 2
run report --html page.html
expect_exit 0
grep -q '</html>' page.html && ! grep -Eq '<script|https?://[^w]' page.html
ok $? "the page is whole, without scripts and outside resources"
run report --html /nowhere/page.html
expect_exit 1
expect_err_has '/nowhere/page.html'
run report --from 2026-12-02T00:00:00Z --to 2026-12-01T00:00:00Z
expect_exit 2

# What a person reads in a terminal of 80 columns.
run record csv "$BERTH_DATA/history/gpu-usage.csv"
COLUMNS=80
export COLUMNS
for words in doctor init series 'instances --all' 'jobs --all' 'prices list --gpu H100 --max-age 520w' 'prices history --gpu H100' events \
    report budget 'probe history' 'tick --dry-run' help 'help prices' 'help doctor'; do
	# shellcheck disable=SC2086
	run $words
	# a path alone on its line cannot be broken
	[ -s "$out" ] && [ "$(awk 'length > 80 && NF > 1 && !/^ok +cron:/' "$out" | wc -l)" -eq 0 ]
	ok $? "$words fits 80 columns"
done
run events -o wide
expect_out_has 'released after' "the wide form cuts nothing"
unset COLUMNS

# Two at once: the second says so and does no harm.
NOW=2026-12-01T00:01:00Z
run submit --count 5 "$BERTH_DATA/jobs/batch-inference-l4.yaml"
# (The first has the lock when its number stands there; it may end before the second begins: a few rounds until it does not.)
both=1
for round in 1 2 3 4 5; do
	: >.local/state/berth/berth.db.tick.lock
	"$BERTH" --now "$NOW" tick --until +5m --step 1s >/dev/null 2>&1 &
	first=$!
	until grep -qx $first .local/state/berth/berth.db.tick.lock || ! kill -0 $first 2>/dev/null; do sleep 0.02; done
	run tick
	second=$status
	wait $first && [ "$second" -eq 9 ] && both=0 && break
done
[ $both -eq 0 ]
ok $? "of two ticks at once the second ends with 9 and the first goes on"

# A config fault names its place; nothing is rented.
printf 'schema: berth.config/1\naccounts:\n  - {name: a, provider: replay, trace: nowhere.trace}\n' >bad.yaml
run --config bad.yaml tick
[ "$status" -ne 0 ]
ok $? "a trace that is not there"
expect_err_has 'nowhere.trace'
printf 'schema: berth.config/1\naccounts: []\nlimits:\n  - {limit: 4, unit: gpus}\n' >bad.yaml
run --config bad.yaml tick
expect_exit 1
expect_err_has 'bad.yaml:4:'
done_testing
