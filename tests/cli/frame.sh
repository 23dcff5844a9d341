#!/bin/sh
# What every verb has in common: suggestions, exit statuses, streams, config, clock.
. "$TOP_SRCDIR/tests/cli/lib.sh"

# What is meant
run forcast
expect_exit 2
expect_err_has "unknown verb 'forcast'"
expect_no_out
run doktor
expect_err_has "did you mean 'doctor'"
run
expect_exit 2 "no verb at all"
expect_err_has 'next: berth help'
run doctor --sotre x
expect_exit 2
expect_err_has "did you mean '--store'"
run version --output jsn
expect_err_has "did you mean 'json'"
run doctor extra
expect_exit 2 "a word too many"
run --now 2026-11-30T10:00:00 version
expect_exit 2 "a clock without zone"
expect_err_has 'zone'
run --log-format json doctr
expect_err_has '^\{"level":"error","verb":null,"code":"usage","exit":2,'
[ "$(wc -l <"$err")" -eq 1 ]
ok $? "one line of JSON for an error"

# Options before and after the verb
run -o json version
expect_is_json berth.version/1
run version -ojson
expect_is_json berth.version/1
run version --output=yaml
expect_out 'schema: berth.version/1'
run version -h
expect_exit 0
expect_out_has '^Usage: berth version'
run --help
expect_exit 0
expect_out_has '^Usage: berth '
expect_no_err
run --version
expect_out "$(sed -n 's/^PACKAGE_VERSION = /berth /p' "$TOP_BUILDDIR/Makefile")"

run version -o csv
expect_exit 2 "csv of what is no table"
expect_err_has '-o json'

# Streams
ran='berth help | head -1'
{ "$BERTH" help 2>"$err"; echo $? >"$TEST_TMP/status"; } | head -1 >"$out"
status=$(cat "$TEST_TMP/status")
expect_exit 0
expect_no_err
expect_lines 1
ran='berth completion bash, its reader gone before the first byte'
mkfifo nobody
exec 7<>nobody 8>nobody 7<&-	# a pipe that nobody reads any more
"$BERTH" completion bash 2>"$err" >&8 && status=0 || status=$?
exec 8>&-
expect_exit 0
expect_no_err
ran='berth help >&-'
"$BERTH" help 2>"$err" >&- && status=0 || status=$?
: >"$out"
expect_exit 1
[ "$(wc -l <"$err")" -eq 1 ]
ok $? "a closed standard output is one line"
if [ -w /dev/full ]; then
	for form in table wide json csv yaml; do
		ran="berth doctor -o $form >/dev/full"
		"$BERTH" doctor -o $form 2>"$err" >/dev/full && status=0 || status=$?
		expect_exit 1
		expect_err_has 'No space left on device'
	done
else
	skip "a full disk" "no /dev/full"
fi
ran='berth version with standard error closed'
"$BERTH" version >"$out" 2>&- && status=0 || status=$?
: >"$err"
expect_exit 0
expect_lines 1
"$BERTH" version <&- >"$out" 2>"$err" && status=0 || status=$?
expect_exit 0 "standard input closed"

# From cron: no home, no locale, hardly a PATH
cron() {
	ran="(cron) berth $*"
	(cd / && env -i SHELL=/bin/sh LOGNAME=svc PATH=/usr/bin:/bin BERTH_DATA="$BERTH_DATA" "$BERTH" "$@") \
	    >"$out" 2>"$err" </dev/null && status=0 || status=$?
}
cron doctor -o csv
expect_out_has '^fail,store,.*--store PATH' "without a home the refusal names the option"
cron version -q
expect_exit 0
[ ! -e "$HOME/~" ] && [ ! -e "/~" ]
ok $? "no file is called ~"
cron --store '~/x.db' doctor -o csv
expect_out_has "only a shell expands '~'"

# The config
mkdir -p "$HOME/.config/berth"
config=$HOME/.config/berth/berth.yaml
try_config() {	# try_config TEXT PATTERN NAME
	printf '%b' "$1" >"$config"
	run doctor -o csv
	expect_out_has "$2" "$3"
}
try_config 'schema: berth.config/1\naccounts: []\n' '^ok,config,' "an empty config"
try_config 'acounts: []\n' "fail,config,.*berth.yaml:1:1: .*did you mean 'accounts'" "a misspelt key, its place and what was meant"
try_config 'schema: berth.config/1\ndefaults:\n  service_level: 1.5\n' 'berth.yaml:3:18' "a value out of range"
try_config 'defaults: {service_level: 1}\n' 'between 0 and 1' "a service level of 1 is none"
try_config 'schema: berth.config/9\n' 'berth.config/1' "a config of another kind"
try_config 'accounts:\n  - {name: a, provider: static}\n  - {name: a, provider: static}\n' "berth.yaml:3:.*second account" "an account twice"
try_config 'accounts:\n  - {name: "A b", provider: static}\n' 'berth.yaml:2:.*account name' "a bad account name"
try_config 'accounts:\n  - {name: a}\n' "berth.yaml:2.*provider" "an account without provider"
try_config 'accounts:\n  - {name: a, provider: nosuch}\n' "^fail,config,.*berth.yaml:2:25: no provider 'nosuch'" "an unknown provider"
try_config 'a: [\n' 'berth.yaml:' "no YAML at all"
try_config 'defaults: {purchase: [spot, weekly]}\n' "weekly" "an unknown purchase"
try_config 'store: data/b.db\n' "no store at $HOME/.config/berth/data/b.db" "a relative store starts at the config"
BERTH_STORE=$HOME/env.db
export BERTH_STORE
run doctor -o csv
expect_out_has "no store at $HOME/env.db" "BERTH_STORE goes before the config"
run --store "$HOME/opt.db" doctor -o csv
expect_out_has "no store at $HOME/opt.db" "--store goes before BERTH_STORE"
unset BERTH_STORE
run --config "$HOME/none.yaml" doctor -o csv
expect_exit 1
expect_out_has '^fail,config,.*none.yaml' "a config that was named has to be there"

run -q --config "$HOME/new/berth.yaml" --store "$HOME/new.db" init --replay --no-prices
expect_exit 0 "init makes the config that is named"
cron -q --config "$HOME/new/berth.yaml" --store "$HOME/new.db" tick
expect_exit 0
expect_no_out
expect_no_err
cron -q --config "$HOME/new/berth.yaml" tick
expect_exit 2
[ "$(grep -c '^berth ' "$err")" -eq 1 ] && grep -q -e '--store PATH' "$err"
ok $? "no home and no store: one line that names the option"

# The line for cron
run --store "$HOME/50% off's.db" doctor -o csv
expect_out_has '50..%' "a % in the cron line is escaped"
line=$(sed -n 's/^ok,cron,"*\* \* \* \* \* //p' "$out" | sed 's/\\%/%/g; s/"*,$//; s/ tick$/ version/')
ran=$line
sh -c "$line" >"$out" 2>"$err" && status=0 || status=$?
expect_exit 0 "the cron line runs in sh, after cron took the backslashes"

# A dry run leaves no trace, with a store and without
rm -f "$config"
printf 'timestamp,gpus\n2026-11-01T00:00:00Z,4\n2026-11-01T01:00:00Z,6\n' >usage.csv
run --dry-run --store dry.db record csv usage.csv -o json
expect_exit 0
expect_json '$.rows_stored' 2
[ ! -e dry.db ] && [ ! -e :memory: ]
ok $? "no store was made"
run --dryrun --store dry.db submit "$BERTH_DATA/jobs/train-in-eu.yaml"
expect_exit 0
[ ! -e dry.db ]
ok $? "nor by another verb"
run --store dry.db submit "$BERTH_DATA/jobs/train-in-eu.yaml"
expect_exit 0
run --store dry.db --dry-run record csv usage.csv
run --store dry.db completion --names SERIES
expect_no_out "a dry run stores no series"
run --store dry.db --dry-run submit "$BERTH_DATA/jobs/train-in-eu.yaml"
run --store dry.db jobs -o csv --no-headers
expect_lines 1 "nor a job"
run --store dry.db jobs --columns sate
expect_exit 2
expect_err_has "did you mean 'state'"
run --store dry.db jobs --columns state,id --no-headers -o csv
expect_out_has '^queued,j-[0-9a-z]{10}$'
ran='jobs in 40 columns'
COLUMNS=40 "$BERTH" --store dry.db jobs >"$out" 2>"$err"
[ "$(awk 'length > m { m = length } END { print m }' "$out")" -le 80 ]
ok $? "a narrow terminal cuts what may be cut"
run --store /proc/none/x.db submit "$BERTH_DATA/jobs/train-in-eu.yaml"
expect_exit 1 "a store that cannot be made"

# Numbers do not follow the locale
de=$(locale -a 2>/dev/null | grep -i -m 1 '^de_DE.*utf')
if [ -z "$de" ] && localedef -i de_DE -f UTF-8 "$TEST_TMP/de_DE.UTF-8" >/dev/null 2>&1; then
	LOCPATH=$TEST_TMP de=de_DE.UTF-8
	export LOCPATH
fi
if [ -n "$de" ] && [ "$(LC_ALL=$de locale decimal_point 2>/dev/null)" = , ]; then
	printf 'defaults: {service_level: 0.975, max_price: 2.48}\n' >"$config"
	mkdir -p "$HOME/.local/state/berth"
	for form in json csv; do
		LC_ALL=C "$BERTH" --now "$NOW" doctor -o $form | grep -v 'GiB free' >"$TEST_TMP/c"
		ran="LC_ALL=$de berth doctor -o $form"
		LC_ALL=$de "$BERTH" --now "$NOW" doctor -o $form >"$out" 2>"$err" && status=0 || status=$?
		grep -v 'GiB free' "$out" | cmp -s - "$TEST_TMP/c"
		ok $? "the same $form in $de"
		expect_out_has '[0-9]\.[0-9] GiB free' "a decimal point in $de"
	done
else
	skip "the same JSON in a locale with decimal commas" "no de_DE locale"
fi
# Credentials that are not there are not called refused, and an account is named once.
printf 'accounts:\n  - {name: lam, provider: lambda, api_key: "env:NOT_SET"}\n  - {name: k, provider: kubernetes, kubeconfig: /nowhere}\n' >"$HOME/keys.yaml"
run --config "$HOME/keys.yaml" doctor
grep -A1 '^fail  account lam: lambda: its credentials cannot be had: .*no NOT_SET' "$out" | grep -q 'next: put the credentials'
ok $? 'credentials that cannot be had'
grep -q '^fail  account k: kubernetes: /nowhere: ' "$out"
ok $? 'an account that does not open'

# libcurl and all that comes with it is loaded by what asks somebody only; one that cannot be loaded is told.
curl=$(sed -n 's/^#define LIBCURL_SONAME "\(.*\)"$/\1/p' "$TOP_BUILDDIR/config.h")
if [ -n "$curl" ]; then
	mkdir "$HOME/lib"
	: >"$HOME/lib/$curl"
	printf 'accounts:\n  - {name: lam, provider: lambda, api_key: "env:KEY", endpoint: "http://127.0.0.1:9"}\n' >"$HOME/keys.yaml"
	export KEY=k
	run --config "$HOME/keys.yaml" init --no-prices
	LD_LIBRARY_PATH=$HOME/lib
	export LD_LIBRARY_PATH
	run --config "$HOME/keys.yaml" jobs
	expect_exit 0 'a verb that asks nobody'
	run --config "$HOME/keys.yaml" prices refresh
	[ "$status" -ne 0 ]
	ok $? 'a libcurl that is broken'
	expect_err_has 'libcurl cannot be loaded .*: install it'
	unset LD_LIBRARY_PATH
else
	skip 'libcurl is loaded late' 'it is linked'
fi

# On a terminal the error too stands within its width.
if command -v script >/dev/null 2>&1; then
	COLUMNS=60 script -qec "'$BERTH' plan --share aws=0.7.. --share gcp=0.8.." /dev/null </dev/null | tr -d '\r' >"$out"
	awk 'length > 60 { long = 1 } /^berth plan: / { n = 1 } /^    [^ ]/ && n { n = 2 } END { exit long || n != 2 }' "$out"
	ok $? "an error is broken at the width of the terminal"
else
	skip "an error on a terminal" "no script(1)"
fi

done_testing
