#!/bin/sh
# No file includes a floor above its own: one test a floor. The linker says the same of calls (Makefile.am).
set -u
LC_ALL=C
export LC_ALL
cd "$TOP_SRCDIR" || exit 1
n=0

# sources DIR...: its C and CUDA files. A floor without files yet has nothing to break.
sources() {
	find "$@" -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \) 2>/dev/null
}

report() {
	n=$((n + 1))
	if [ -n "$2" ]; then
		echo "not ok $n - $1"
		echo "$2" | sed 's/^/# /'
	else
		echo "ok $n - $1"
	fi
}

# floor DIR ALLOWED...: quoted includes of DIR begin with one of the allowed floors ("config.h" stands alone,
# and device code names its neighbours).
floors=
floor() {
	dir=$1
	floors="$floors $dir"
	shift
	bad=$(sources "$dir" | xargs -r awk -v allowed="$*" '
		BEGIN { split(allowed, list, " "); for (i in list) ok[list[i]] = 1 }
		/^[ \t]*#[ \t]*include[ \t]*"/ {
			split($0, part, "\"")
			name = part[2]
			if (name == "config.h" || (FILENAME ~ /\.cu$/ && index(name, "/") == 0))
				next
			first = name
			sub(/\/.*/, "", first)
			if (index(name, "/") == 0)
				print FILENAME ":" FNR ": \"" name "\" needs its folder in front"
			else if (!(first in ok))
				print FILENAME ":" FNR ": \"" name "\" is not on this floor nor under it"
		}')
	report "$dir includes only: $*" "$bad"
}

floor src/util util
floor src/model model util
floor src/net net model util
floor src/store store model util
floor src/ingest ingest model util
floor forecast forecast model util
floor src/plan plan forecast model util
floor providers providers net model util
floor src/broker broker providers plan forecast ingest store net model util
floor src/cmd cmd broker providers plan forecast ingest store net model util
floor kernels kernels plan model util

bad=$(for dir in src/*/ forecast/ providers/ kernels/; do
	case " $floors " in
	*" ${dir%/} "*) ;;
	*) echo "${dir%/}: say above what it may include" ;;
	esac
done)
report "each folder has its floor" "$bad"

# Domain code is pure: what it needs of the world is handed in.
bad=$(sources forecast src/plan | xargs -r grep -nE \
	'(^|[^_A-Za-z0-9])(fopen|open|popen|printf|puts|getenv|time_clock_s|time_mono_ms|time|clock|clock_gettime|gettimeofday|rand|random|srand|exit|abort) ?\(' |
	grep -vE '^[^:]*:[0-9]*:[[:space:]]*(/?\*|//)')
report "forecast and src/plan ask neither files, clock, environment nor chance" "$bad"

# SQL stands in src/store alone.
bad=$(sources src/util src/model src/net src/ingest forecast src/plan providers src/broker src/cmd kernels |
	xargs -r grep -nE 'sqlite3_[a-z]+ ?\(|libpq-fe\.h|PQexec')
report "only src/store talks to a database" "$bad"

# Sockets belong to src/net; berth-probe is a program of its own and links none of it: its peer test has its own.
bad=$(sources src/util src/model src/store src/ingest forecast src/plan providers src/broker src/cmd kernels |
	grep -v '^kernels/peer\.c$' | xargs -r grep -nE 'curl_(easy|multi)_[a-z]+ ?\(|[^_a-z]socket ?\(')
report "only src/net opens connections" "$bad"

# berth itself never links CUDA.
bad=$(sources src forecast providers | xargs -r grep -nE '#[ \t]*include[ \t]*[<"](cuda|nvml)')
report "only kernels includes CUDA" "$bad"

echo "1..$n"
