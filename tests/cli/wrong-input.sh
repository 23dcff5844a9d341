#!/bin/sh
# Wrong input to every verb: a clear message, the documented exit status, nothing lost, nothing on standard output.
. "$TOP_SRCDIR/tests/cli/lib.sh"

run init
expect_exit 0

# Rows of a CSV: the bad ones are refused by line, the good ones stay.
long=$(printf '%600s' '' | tr ' ' x)
esc=$(printf '\033')
run_in "timestamp,gpus,series
2026-11-01T00:00:00Z,3,good
2026-11-01T00:00:00Z,4,$long
2026-11-01T00:00:00Z,5,a${esc}[31mb
2026-11-01T00:00:00Z,6,$(printf 'Z\374rich')
2026-11-01T00:00:00Z,7,
2026-11-01T01:00:00Z,8,good
" record csv -o json
expect_exit 8 "bad names of series"
expect_json '$.rows_read' 6
expect_json '$.rows_refused' 4
expect_json '$.rows_stored' 2
expect_err_has ':3: refused: the name of the series has 600 bytes: at most 512 fit'
expect_err_has ':4: refused: the name of the series has a control character, byte 2'
expect_err_has ":5: refused: column 'series' is no UTF-8"
expect_err_has ':6: refused: the name of the series is empty'
run_in "timestamp,gpus,team
2026-11-01T00:00:00Z,3,$(printf 'Z\374rich')
2026-11-01T00:00:00Z,4,Bern
" record csv -o json
expect_exit 8 "a label that is no UTF-8"
expect_json '$.rows_refused' 1
expect_err_has ":2: refused: column 'team' is no UTF-8"

# A forecast long after the last sample has nothing to stand on: it is left out, or refused, and never a crash.
awk 'BEGIN { print "timestamp,gpus,series"; for (d = 1; d <= 28; d++) for (h = 0; h < 24; h++)
	printf "2026-10-%02dT%02d:00:00Z,%d,day\n", d, h, h }' >day.csv
run record csv day.csv
expect_exit 0
for at in 2027-12-01T00:00:00Z 2040-01-01T00:00:00Z 2199-01-01T00:00:00Z; do
	run forecast day --at $at --horizon 1d -o json
	expect_exit 1 "a forecast as of $at"
	expect_no_out
	expect_err_has 'series day has no samples within a year before --at'
done
run forecast day --history 1h --at 2026-10-31T00:00:00Z --horizon 1d -o json
expect_exit 1 "a history of an hour that ended two days ago"
expect_err_has 'series day has no samples within --history before --at'
run forecast day --at 2026-11-05T00:00:00Z --horizon 1d -o json
expect_exit 0 "a week after the last sample"
expect_is_json berth.forecast/1

# Where the store is
for name in :memory: file:x.db mysql://u:sekret@h/db; do
	run --store $name jobs -o json
	expect_exit 2 "--store $name"
	expect_no_out
	expect_err_has 'give --store'
	! grep -q sekret "$err"
	ok $? "no password in the message about $name"
done
run --store postgresql://u:sekret@h/db doctor
expect_exit 1
expect_out_has 'u:\*+@h/db'
expect_out_lacks sekret
run --store '' jobs
expect_exit 2 "an empty name of the store"
expect_err_has 'the name of the store is empty'
mkdir dir.db
echo hello >text.db
head -c 5000 "$HOME/.local/state/berth/berth.db" >half.db
for name in dir.db text.db half.db; do
	cksum $name >before 2>/dev/null
	for verb in jobs 'record csv day.csv' tick 'store check' init forecast; do
		run --store $name $verb -o json
		expect_exit 1 "$verb with the store $name"
		expect_no_out
		expect_err_has 'next: --store PATH names another store'
	done
	cksum $name 2>/dev/null | cmp -s - before
	ok $? "$name is left as it was"
done

# No backup of a store that is damaged inside
cp "$HOME/.local/state/berth/berth.db" torn.db
pages=$(($(wc -c <torn.db) / 4096))
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "x" }' | dd of=torn.db bs=4096 seek=$((pages / 2)) conv=notrunc 2>"$err"
run --store torn.db store backup kept.db -o json
expect_exit 1 "a backup of a damaged store"
expect_no_out
expect_err_has 'torn.db: the file is damaged'
[ ! -e kept.db ] && [ ! -e kept.db.part ]
ok $? "nothing is left of that backup"

# YAML of another schema is told as such, not by its other keys
printf 'schema: berth.job/2\nname: x\ntask: y\n' >job2.yaml
run submit job2.yaml -o json
expect_exit 1
expect_no_out
expect_err_has "key 'schema': this berth reads berth.job/1, not 'berth.job/2'"
expect_err_has 'at: job2.yaml:1:9'
printf 'schema: berth.config/9\nclouds: []\n' >conf9.yaml
run --config conf9.yaml jobs
expect_exit 1
expect_err_has "'berth.config/9' is not what this berth reads"
printf 'schema: berth.config/1\naccounts:\n  - name: a\n    provider: reply\n' >conf.yaml
run --config conf.yaml tick -o json
expect_exit 1
expect_no_out
expect_err_has "no provider 'reply', did you mean 'replay'"
expect_err_has 'at: conf.yaml:4:15'

# The replayed cloud's own file is named where it cannot be read
printf 'schema: berth.config/1\naccounts:\n  - {name: sim, provider: replay, trace: replay/example.trace}\n' >sim.yaml
printf '{' >"$HOME/.local/state/berth/replay-sim.json"
run --config sim.yaml tick
expect_exit 8
expect_err_has 'replay-sim\.json, where the replayed cloud keeps its machines'
rm "$HOME/.local/state/berth/replay-sim.json"

# A password in a URL is not kept with the run
run submit "$BERTH_DATA/jobs/train-in-eu.yaml" https://u:sekret@h/job.yaml
run store export run
expect_out_lacks sekret

# Names that would drive the terminal
printf 'schema: berth.job/1\nname: "a\\e[31mb"\naccelerators: "H100:1"\nwork: 1h\nrun: "true"\n' >esc.yaml
run submit esc.yaml
expect_exit 1
expect_err_has "key 'name': a control character, byte 2"
head -1 "$BERTH_DATA/offers.csv" >offers.csv
printf 'x,eu%s[31m,,t,H100-80GB,1,80,,,spot,,,,2,USD,,2026-11-01,s\n' "$esc" >>offers.csv
printf 'x,eu,,t,H100-80GB,1,80,,,spot,,,,2,XYZ,,2026-11-01,s\n' >>offers.csv
run prices import offers.csv -o json
expect_exit 8 "an offer with a control character"
expect_err_has "offers.csv:2: refused: region 'eu.*': a control character"
expect_json '$.providers[0].offers' 1
run prices list --provider x --columns provider,price_per_hour --no-headers
expect_out_has '^x +-$'
run prices list --provider x -o json
expect_json '$.offers[0].currency' XYZ

run explain plan:x
expect_exit 2 "a plan that is no number"

# What is no table, and what is no data, is refused before anything is done
for words in 'help' 'completion bash'; do
	for format in json yaml csv; do
		run $words -o $format
		expect_exit 2
		expect_no_out
	done
done
for words in 'tick' 'store check' 'store migrate' 'store rebuild' 'store backup x.db' 'job x' 'job cancel x' 'job retry x'; do
	run $words -o csv
	expect_exit 2
	expect_no_out
	expect_err_has 'use -o json or yaml instead of csv'
done
[ ! -e x.db ]
ok $? "no backup was made by a refused command"

NOW=2199-12-31T23:59:59Z
run tick -o json
expect_exit 2 "a clock at the end of time"
expect_no_out
expect_err_has '\-\-now must lie before 2190'
NOW=2026-11-30T12:00:00Z

# Demand that nobody has
run_in "timestamp,gpus,series,accelerator
$(awk 'BEGIN { for (h = 0; h < 48; h++) printf "2026-11-%02dT%02d:00:00Z,1e9,absurd,H100\n", 1 + int(h / 24), h % 24 }')
" record csv
run plan absurd -o json
expect_exit 1 "a plan for a thousand million GPUs"
expect_no_out
expect_err_has 'series absurd: a peak of [0-9]+ GPUs is more than the 1048576 that a plan can hold'

# No verb leaves half JSON on its error path
while read -r words; do
	run $words -o json
	[ "$status" -gt 0 ] && [ "$status" -le 9 ] && [ ! -s "$out" ] && [ -s "$err" ]
	ok $? "$words: exit 1 to 9, a message, nothing on standard output"
done <<X
record csv nosuch.csv
record sacct nosuch.txt
record nosuch x
series nosuch
series delete nosuch -y
forecast nosuch
forecast --horizon 0s
plan nosuch
plan --service-level 2
prices import nosuch.csv
prices import text.db
prices list --gpu A100-8
prices list --purchase spt
submit nosuch.yaml
submit text.db
job nosuch
job cancel nosuch
explain nosuch
explain plan:x
instances release 99
budget set nowhere --cap 1
budget set all --cap nan
budget delete nosuch
report --html nosuch/x.html
events --since yesterday
advise --params 8X
tick --until 2020-01-01T00:00:00Z
store export nosuch
store backup nosuch/x.db
jobs --bogus
X

done_testing
