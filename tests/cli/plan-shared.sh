#!/bin/sh
# berth plan where several series can use what is owned, at one date and with --starts, in small random worlds, against programs that
# are made from the man pages and solved by GLPK. BERTH_FUZZ=N: N more worlds of each kind; BERTH_FUZZ_SEED: which.
. "$TOP_SRCDIR/tests/cli/lib.sh"

python=
for p in "${BERTH_PYTHON:-python3}" /usr/bin/python3; do
	"$p" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && python=$p && break
done
if [ -z "$python" ] || ! command -v glpsol >/dev/null 2>&1; then
	skip "what several series can use against GLPK" "no Python, or no glpsol"
	done_testing
	exit 0
fi
TMPDIR=$TEST_TMP
export TMPDIR
"$python" "$TOP_SRCDIR/tests/cli/plan_shared.py" "$BERTH" "$BERTH_DATA" "$NOW" "${BERTH_FUZZ:-0}" "${BERTH_FUZZ_SEED:-1}" >shared.out 2>&1
ran="plan_shared.py" status=$?
while read -r word rest; do
	case $word in
	ok) ok 0 "$rest" ;;
	not) echo "$rest" >"$out"; ok 1 "${rest#ok }" ;;
	esac
done <shared.out
[ "$status" -eq 0 ]
ok $? "all worlds were tried$(sed -n 's/^# /: /p' shared.out)"
awk '/^# / { for (i = 2; i < NF; i++) { sub(",", "", $(i + 1)); n[$(i + 1)] = $i } }
	END { exit !(n["plans"] >= 12 && n["solved"] >= n["plans"] / 2 && n["proven"] >= n["plans"] / 2 && n["over"] == 0) }' shared.out
ok $? "most were proven the best, and none costs more than the best"
done_testing
