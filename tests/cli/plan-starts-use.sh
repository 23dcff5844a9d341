#!/bin/sh
# berth plan --starts with prices of use, in small random worlds, against programs that are made from the man pages and solved by
# GLPK. BERTH_FUZZ=N: N more worlds of each kind; BERTH_FUZZ_SEED: which.
. "$TOP_SRCDIR/tests/cli/lib.sh"

python=
for p in "${BERTH_PYTHON:-python3}" /usr/bin/python3; do
	"$p" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && python=$p && break
done
if [ -z "$python" ] || ! command -v glpsol >/dev/null 2>&1; then
	skip "start dates and prices of use against GLPK" "no Python, or no glpsol"
	done_testing
	exit 0
fi
TMPDIR=$TEST_TMP
export TMPDIR
"$python" "$TOP_SRCDIR/tests/cli/plan_starts.py" "$BERTH" "$BERTH_DATA" "$NOW" "${BERTH_FUZZ:-0}" "${BERTH_FUZZ_SEED:-1}" >starts.out 2>&1
ran="plan_starts.py" status=$?
while read -r word rest; do
	case $word in
	ok) ok 0 "$rest" ;;
	not) echo "$rest" >"$out"; ok 1 "${rest#ok }" ;;
	esac
done <starts.out
[ "$status" -eq 0 ]
ok $? "all worlds were tried$(sed -n 's/^# /: /p' starts.out)"
awk '/^# / { for (i = 2; i < NF; i++) { sub(",", "", $(i + 1)); n[$(i + 1)] = $i } }
	END { exit !(n["plans"] >= 8 && n["solved"] >= n["plans"] / 2 && n["used"] > 20) }' starts.out
ok $? "most had a schedule that GLPK could be asked for, and purchases that ask for their use"
done_testing
