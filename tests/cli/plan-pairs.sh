#!/bin/sh
# berth plan: each feature of commitments beside each other one, in small random worlds, against programs that are made from the
# man pages and solved by GLPK. BERTH_FUZZ=N: N more worlds of each pair; BERTH_FUZZ_SEED: which.
. "$TOP_SRCDIR/tests/cli/lib.sh"

python=
for p in "${BERTH_PYTHON:-python3}" /usr/bin/python3; do
	"$p" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && python=$p && break
done
if [ -z "$python" ] || ! command -v glpsol >/dev/null 2>&1; then
	skip "pairs of features against GLPK" "no Python, or no glpsol"
	done_testing
	exit 0
fi
TMPDIR=$TEST_TMP
export TMPDIR
"$python" "$TOP_SRCDIR/tests/cli/plan_pairs.py" "$BERTH" "$BERTH_DATA" "$NOW" "${BERTH_FUZZ:-0}" "${BERTH_FUZZ_SEED:-1}" >pairs.out 2>&1
ran="plan_pairs.py" status=$?
while read -r word rest; do
	case $word in
	ok) ok 0 "$rest" ;;
	not) echo "$rest" >"$out"; ok 1 "${rest#ok }" ;;
	esac
done <pairs.out
[ "$status" -eq 0 ]
ok $? "all worlds were tried$(sed -n 's/^# /: /p' pairs.out)"
done_testing
