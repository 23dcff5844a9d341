# tests/cli/lib.sh - for tests of the command line; TAP in POSIX sh.
#
#	. "$TOP_SRCDIR/tests/cli/lib.sh"
#	run record csv usage.csv -o json
#	expect_exit 0
#	expect_json '$.rows_stored' 24
#	done_testing
#
# Each test has a fresh home ($HOME, also the working directory), a fixed clock ($NOW), no colours, no
# configuration of the caller, and the bundled data. It goes away at the end.

: "${BERTH:?set BERTH to the program under test}" "${TOP_SRCDIR:?}"

unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR
unset BERTH_CONFIG BERTH_STORE BERTH_DATA NO_COLOR COLUMNS TZ http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
LC_ALL=C TERM=dumb NOW=${NOW:-2026-11-30T12:00:00Z}
TEST_TMP=$(mktemp -d "${TMPDIR:-/tmp}/berth-test.XXXXXX") || exit 99
HOME=$TEST_TMP/home
BERTH_DATA=$TOP_SRCDIR/data
export LC_ALL TERM HOME BERTH_DATA
mkdir "$HOME" && cd "$HOME" || exit 99
trap 'rm -rf "$TEST_TMP"' EXIT
trap 'exit 99' HUP INT TERM

test_count=0
out=$TEST_TMP/out err=$TEST_TMP/err status=0 ran=

ok() {	# ok STATUS NAME: passed if STATUS is 0
	test_count=$((test_count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $test_count - $2"
		return 0
	fi
	echo "not ok $test_count - $2"
	echo "#   ran: $ran"
	echo "#   exit $status"
	sed 's/^/#   out: /; 12q' "$out" 2>/dev/null
	sed 's/^/#   err: /; 12q' "$err" 2>/dev/null
	return 0
}

skip() {	# skip NAME REASON
	test_count=$((test_count + 1))
	echo "ok $test_count - $1 # SKIP $2"
}

done_testing() {
	echo "1..$test_count"
}

# await FILE PID [WORD]: until the file has a line (with that word). A program that ended without it, or two minutes, end the test.
await() {
	await_tries=0
	until grep -q -e "${3:-.}" "$1" 2>/dev/null; do
		if [ $await_tries -ge 1200 ] || ! kill -0 "$2" 2>/dev/null; then
			grep -q -e "${3:-.}" "$1" 2>/dev/null && return 0
			echo "Bail out! no ${3:-line} in $1 after $await_tries tries"
			exit 99
		fi
		await_tries=$((await_tries + 1))
		sleep 0.1
	done
}

# pause N: between the tries of a loop; what is not there at once gets longer ones, so that a busy machine has its minute
pause() {
	if [ "$1" -le 10 ]; then sleep 0.1; else sleep 1; fi
}

# Runs berth with the fixed clock: $status, and $out and $err, which are files.
run() {
	ran="berth $*"
	"$BERTH" --now "$NOW" "$@" >"$out" 2>"$err" </dev/null && status=0 || status=$?
}

# The same with TEXT on standard input: run_in TEXT ARGUMENT...
run_in() {
	run_text=$1
	shift
	ran="berth $*"
	printf '%s' "$run_text" | "$BERTH" --now "$NOW" "$@" >"$out" 2>"$err" && status=0 || status=$?
}

expect_exit() {	# expect_exit STATUS [NAME]
	[ "$status" -eq "$1" ]
	ok $? "${2:-$ran} exits with $1"
}

expect_out() {	# a line of standard output is exactly TEXT
	grep -Fxq -e "$1" "$out"
	ok $? "${2:-$ran prints '$1'}"
}

expect_out_has() {	# a line of standard output matches the extended regular expression
	grep -Eq -e "$1" "$out"
	ok $? "${2:-$ran: output has /$1/}"
}

expect_err_has() {
	grep -Eq -e "$1" "$err"
	ok $? "${2:-$ran: messages have /$1/}"
}

expect_out_lacks() {
	! grep -Eq -e "$1" "$out"
	ok $? "${2:-$ran: output lacks /$1/}"
}

expect_no_out() {
	[ ! -s "$out" ]
	ok $? "${1:-$ran prints nothing}"
}

expect_no_err() {
	[ ! -s "$err" ]
	ok $? "${1:-$ran says nothing on stderr}"
}

expect_lines() {	# expect_lines N [NAME]: of standard output
	[ "$(wc -l <"$out")" -eq "$1" ]
	ok $? "${2:-$ran prints $1 lines}"
}

# Value at a path of the JSON that the last run printed: json '$.series[0].name'. Nothing if there is none.
json() {
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' -v path="$1" '$1 == path { print $2; exit }'
}

expect_is_json() {	# standard output is one JSON value, with this schema if given
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" >"$TEST_TMP/json" 2>&1 &&
	    { [ $# -eq 0 ] || grep -Fxq -e "\$.schema	$1" "$TEST_TMP/json"; }
	ok $? "$ran: JSON alone on stdout${1:+, schema $1}"
}

expect_json() {	# expect_json PATH VALUE
	got=$(json "$1")
	[ "$got" = "$2" ]
	ok $? "$ran: $1 is $2 (is $got)"
}

expect_json_near() {	# expect_json_near PATH NUMBER TOLERANCE
	got=$(json "$1")
	awk -v a="$got" -v b="$2" -v tol="$3" 'BEGIN { d = a - b; exit !(a != "" && a != "null" && d <= tol && -d <= tol) }'
	ok $? "$ran: $1 is $2 within $3 (is $got)"
}
