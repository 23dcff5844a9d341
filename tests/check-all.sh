#!/bin/sh
# All tests: the ordinary build with gcc, the same under ASan and UBSan, and distcheck, whose build is clang's. What need not be
# alone is done beside the suites, in the time in which their tests wait.
# The last line is "N passed, N failed, N skipped"; each failure and each skip is named above it.
set -u
cd "$(dirname "$0")/.." || exit 1
top=$(pwd)
work=$top/build/check
mkdir -p "$work"
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null) || cores=2
[ "$cores" -le 8 ] || cores=8
passed=0 failed=0 skipped=0
say() { printf '%s\n' "$*"; }

begin() {	# begin NAME COMMAND...: a step that is a test by itself, while others run: it takes what time they leave
	name=$1
	shift
	(
		start=$(date +%s)
		renice -n 19 -p "$(exec sh -c 'echo $PPID')" >/dev/null 2>&1
		"$@" >"$work/$name.out" 2>&1
		echo "$? $(($(date +%s) - start))" >"$work/$name.end"
	) &
	echo $! >"$work/$name.pid"
	begun="$begun $!"
}

end() {	# end NAME: of a step that was begun
	name=$1
	[ ! -f "$work/$name.pid" ] || wait "$(cat "$work/$name.pid")"
	read -r rc seconds <"$work/$name.end" || rc=1 seconds='?'
	if [ "$rc" = 0 ]; then
		passed=$((passed + 1))
		say "ok    $name ($seconds s)"
		return 0
	fi
	failed=$((failed + 1))
	say "FAIL  $name; the end of its output:"
	tail -40 "$work/$name.out"
	return 1
}

one() {	# one NAME COMMAND...: a step with nothing beside it
	start=$(date +%s) name=$1
	shift
	"$@" >"$work/$name.out" 2>&1
	echo "$? $(($(date +%s) - start))" >"$work/$name.end"
	end "$name"
}

suite() {	# suite NAME DIR: run make check there (more at once than there are cores: many wait) and count each TAP line
	name=$1 dir=$2
	start=$(date +%s)
	make -C "$dir" -k -j$((2 * cores)) check >"$work/$name.out" 2>&1
	rc=$?
	logs=$(find "$dir/tests" -name '*.log' ! -name test-suite.log | sort)
	[ -n "$logs" ] || { failed=$((failed + 1)); say "FAIL  $name: no test ran"; tail -40 "$work/$name.out"; return; }
	# shellcheck disable=SC2086
	counts=$(awk -v suite="$name" -v out="$work/$name.named" '
		/^ok [0-9]+.*# *[Ss][Kk][Ii][Pp]/ || /^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ { s++; print "skip  " suite " " FILENAME ": " $0 > out; next }
		/^ok / { p++ }
		/^not ok .*# *TODO/ { s++; next }
		/^not ok / { f++; bad[FILENAME] = 1; print "FAIL  " suite " " FILENAME ": " $0 > out }
		# one that died before its end, whatever had failed till then, or that ended badly with nothing said
		/^ERROR: .*(missing test plan|too few tests|too many tests|Bail out)/ { f++; bad[FILENAME] = 1; print "FAIL  " suite " " FILENAME ": " $0 > out; next }
		/^ERROR: / { error[FILENAME] = $0 }
		END {
			for (file in error)
				if (!(file in bad)) { f++; print "FAIL  " suite " " file ": " error[file] > out }
			printf "%d %d %d", p, f, s
		}' $logs)
	# shellcheck disable=SC2086
	set -- $counts
	bad=$2
	if [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
		say "FAIL  $name: make check ended with $rc"
		grep -hE '^(ERROR|FAIL|XPASS)|error:|\*\*\*' "$work/$name.out" | head -40
	fi
	[ -f "$work/$name.named" ] && sed "s|$top/||" "$work/$name.named"
	passed=$((passed + $1)) failed=$((failed + bad)) skipped=$((skipped + $3))
	say "suite $name: $1 passed, $bad failed, $3 skipped ($(($(date +%s) - start)) s)"
}

build() {	# build DIR OPTION...: configure once and make what the tests need
	dir=$1
	shift
	mkdir -p "$dir"
	# a config.h newer than its stamp: else make looks at it again before each program, and tests that are programs begin last
	(cd "$dir" && { [ -f Makefile ] || { "$top/configure" --quiet "$@" && touch config.h; }; }) && make -C "$dir" -k -s -j$cores all
}

build_tests() {	# the same with the programs of the tests
	build "$@" && make -C "$1" -k -s -j$cores check TESTS=
}

distcheck() {	# the suite runs twice beside it; here the tarball must be whole, build, install and uninstall, and clang warn of nothing
	some='tests/cli/tick.sh tests/cli/record.sh tests/cli/prices.sh tests/unit/accel.t tests/lint/man.sh tests/lint/man-examples.sh'
	make -C "$work/gcc" -s -j$cores distcheck DISTCHECK_CONFIGURE_FLAGS="--enable-werror --without-cuda --disable-late-libcurl \
		CC=clang CFLAGS=-O0" TESTS="$some" check_PROGRAMS=tests/unit/accel.t check_DATA= || return 1
	# of the tests few were built there: but their sources are all in it
	[ -e .git ] || return 0
	tar -tf "$work"/gcc/berth-*.tar.xz | sed 's,^[^/]*/,,' | LC_ALL=C sort >"$work/dist.list"
	git ls-files | grep -vE '^(\.ci/|\.gitignore$)' | LC_ALL=C sort | LC_ALL=C comm -23 - "$work/dist.list" >"$work/dist.lacks"
	sed 's/^/not in the tarball: /' "$work/dist.lacks"
	[ ! -s "$work/dist.lacks" ]
}

begun=
trap 'kill $begun 2>/dev/null; exit 130' INT TERM
rm -f "$work"/*.named "$work"/*.end "$work"/*.pid
# what only the tests need is fetched while the compilers run
prepared=
if [ -n "${BERTH_PREPARE-}" ]; then
	$BERTH_PREPARE >"$work/prepare.out" 2>&1 &
	prepared=$! begun=$!
fi
one autoreconf autoreconf -fi || { say "0 passed, 1 failed, 0 skipped"; exit 1; }
# What UBSan sees is an illegal instruction, which ASan tells with its line: half of the code and of the time to start. What was
# freed is kept from reuse for the next 16 MiB, not for 256: that many fresh pages cost a tick a quarter of its time.
export ASAN_OPTIONS=handle_sigill=1:quarantine_size_mb=16
begin sanitizer-build build_tests "$work/san" --enable-werror --enable-sanitizers --without-cuda \
	CFLAGS='-g1 -O1 -fsanitize-undefined-trap-on-error'
# no -g: nothing here is debugged, and what is not written is not linked
one gcc-build build "$work/gcc" --enable-werror CFLAGS=-O2
gcc=$?
[ -z "$prepared" ] || { wait "$prepared"; cat "$work/prepare.out"; }
[ "$gcc" -ne 0 ] || { suite gcc "$work/gcc"; begin distcheck distcheck; }
end sanitizer-build
san=$?
[ "$san" -ne 0 ] || suite sanitizers "$work/san"
[ "$gcc" -ne 0 ] || end distcheck
say "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
