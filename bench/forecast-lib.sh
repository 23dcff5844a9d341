# bench/forecast-lib.sh - what the forecast benchmarks share; POSIX sh.
# BERTH: the program (build/berth); BERTH_SHARED: folder with data/ and prototypes/ (../shared beside the sources).

top=$(cd "$(dirname "$0")/.." && pwd)
shared=${BERTH_SHARED:-$top/../shared}
BERTH=${BERTH:-$top/build/berth}
BERTH_DATA=${BERTH_DATA:-$top/data}
LC_ALL=C
export BERTH_DATA LC_ALL
unset BERTH_STORE BERTH_CONFIG

need() {	# need FILE...: ends with a SKIP line when one is missing
	for f in "$@"; do
		if [ ! -e "$f" ]; then
			echo "SKIP $(basename "$0"): $f is not there (set BERTH_SHARED)"
			exit 0
		fi
	done
}
if [ ! -x "$BERTH" ]; then
	echo "$(basename "$0"): no program at $BERTH: build it, or set BERTH" >&2
	exit 1
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/berth-bench.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
HOME=$tmp
export HOME

# cpu COMMAND...: runs it and leaves its CPU seconds in $cpu_s
cpu() {
	sh -c '"$@" || exit; times' cpu "$@" >"$tmp/times.out" || return
	cpu_s=$(tail -1 "$tmp/times.out" | awk '{ split($1, u, /[ms]/); split($2, s, /[ms]/); print u[1] * 60 + u[2] + s[1] * 60 + s[2] }')
}
