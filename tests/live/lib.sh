# shellcheck shell=bash
# tests/live/lib.sh - for tests against real servers, which this project did not write, on 127.0.0.1. TAP; bash.
#
# A test has one folder ($STATE): configuration, data, log/NAME.log, and pids/NAME with the id and the kernel's start time of
# each process that was started, so that a reused id is never signalled. All of it goes away at the end.

set -u
umask 022
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY
export no_proxy=127.0.0.1,localhost PATH=$PATH:/usr/sbin:/sbin LC_ALL=C.UTF-8
: "${BERTH:?set BERTH to the program under test}" "${TOP_SRCDIR:?}"
export BERTH_DATA=$TOP_SRCDIR/data

# need NAME PROGRAM...: the whole test is skipped by name where a program is missing
need() {
	local name=$1 p
	shift
	for p in "$@"; do
		command -v "$p" >/dev/null 2>&1 && continue
		echo "ok 1 - $name # SKIP $p is not installed"
		echo '1..1'
		exit 0
	done
}

# the name of a socket has at most 107 bytes, those of the servers here up to 40 behind the folder's
base=${TMPDIR:-/tmp}
[ ${#base} -le 50 ] || export base=/tmp TMPDIR=/tmp
STATE=$(mktemp -d "$base/berth-live.XXXXXX") || exit 99
chmod 755 "$STATE"
mkdir -p "$STATE/pids" "$STATE/log" "$STATE/etc" "$STATE/home"
export HOME=$STATE/home
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR BERTH_CONFIG BERTH_STORE
count=0 failed=0

ok() {	# ok STATUS NAME
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		echo "not ok $count - $2"
		sed 's/^/#   out: /; 40q' "$STATE/out" 2>/dev/null
		sed 's/^/#   err: /; 20q' "$STATE/err" 2>/dev/null
	fi
}

bail() {
	echo "Bail out! $*"
	exit 1
}

# berth with its output in $STATE/out and $STATE/err; $status
run() {
	"$BERTH" --store "$STATE/berth.db" "$@" >"$STATE/out" 2>"$STATE/err" </dev/null
	status=$?
}

json() {	# value at a path of the last output
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$STATE/out" | awk -F '\t' -v path="$1" '$1 == path { print $2; exit }'
}

starttime() {	# the kernel's start time of a process, or nothing (a zombie has ended)
	[ -r "/proc/$1/stat" ] || return 1
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 !~ /[ZX]/ { print $20 }'
}

alive() {	# alive NAME
	local pid t
	[ -f "$STATE/pids/$1" ] || return 1
	read -r pid t <"$STATE/pids/$1"
	[ -n "$t" ] && [ "$(starttime "$pid")" = "$t" ]
}

# start NAME USER COMMAND...: in the background, in a process group of its own
start() {
	local name=$1 user=$2 pid
	shift 2
	if [ "$(id -u)" = 0 ] && [ "$user" != root ]; then
		set -- setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups -- "$@"
	fi
	( cd "$STATE" && exec setsid "$@" ) </dev/null >>"$STATE/log/$name.log" 2>&1 &
	pid=$!
	echo "$pid $(starttime $pid)" >"$STATE/pids/$name"
	disown $pid 2>/dev/null || :
}

# stop NAME: ends that process, then what is left of its group
stop() {
	local name=$1 pid t i
	[ -f "$STATE/pids/$name" ] || return 0
	if alive "$name"; then
		read -r pid t <"$STATE/pids/$name"
		kill -TERM "$pid" 2>/dev/null
		for ((i = 0; i < 100; i++)); do
			alive "$name" || break
			sleep 0.1
		done
		kill -KILL -- "-$pid" 2>/dev/null
	fi
	rm -f "$STATE/pids/$name"
}

# wait_for SECONDS NAME COMMAND...: until the command succeeds
wait_for() {
	local secs=$1 what=$2 end
	shift 2
	end=$((SECONDS + secs))
	until "$@" >/dev/null 2>&1; do
		[ ! -f "$STATE/pids/$what" ] || alive "$what" || { tail -n 5 "$STATE/log/$what.log" >&2; bail "$what ended while starting"; }
		[ $SECONDS -lt $end ] || bail "$what is not ready after ${secs}s"
		sleep 0.2
	done
}

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# claim_ports N: $port, and the next N of it (8 at most), which no other test gets until this one has ended: the port before
# them is bound by a process that goes with this shell. Below the range from which the kernel gives ports to those who ask for any.
claim_ports() {
	start ports "$(id -un)" perl -MSocket -e '
		my ($more, $shell) = @ARGV;
		TRY: for (1 .. 1000) {
			my ($first, @held) = (20000 + 10 * int rand 1000);
			for my $i (0 .. $more + 1) {
				socket($held[$i], PF_INET, SOCK_STREAM, 0) or die "socket: $!\n";
				bind($held[$i], pack_sockaddr_in($first + $i, INADDR_LOOPBACK)) or next TRY;
			}
			close $held[$_] for 1 .. $more + 1;
			$| = 1;
			print $first + 1, "\n";
			sleep 1 while kill 0, $shell;
			exit;
		}
		die "no free ports\n"' "${1:-0}" $$
	until port=$(grep '^[0-9][0-9]*$' "$STATE/log/ports.log" 2>/dev/null); do
		alive ports || bail "no free ports: $(cat "$STATE/log/ports.log")"
		sleep 0.1
	done
}

done_testing() {	# make check-openstack and check-kubernetes read the status, the suite reads the lines
	echo "1..$count"
	[ "$failed" -eq 0 ]
}
