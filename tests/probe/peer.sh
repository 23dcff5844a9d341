#!/bin/sh
# berth-probe between two machines, here two programs on the loopback
n=0 failed=0
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=$((failed + 1)); fi
}
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT
unset BERTH_PROBE_TOKEN
echo "a-token-of-two-dozen-bytes" >"$dir/token"
echo "another-token-of-24-bytes." >"$dir/other"
echo "short" >"$dir/short"

# a port that is free now; the number of this process chooses where to begin
port=$((20000 + $$ % 20000))
serve() {	# SECONDS
	tries=0
	while [ $tries -lt 20 ]; do
		port=$((port + 7))
		"$BERTH_PROBE" --serve "127.0.0.1:$port" --token-file "$dir/token" --cap "$1" 2>"$dir/serr" &
		server=$!
		sleep 0.3
		kill -0 "$server" 2>/dev/null && return 0
		tries=$((tries + 1))
	done
	return 1
}
value() { sed -n "s/.*\"name\":\"$1\",\"gpu\":null,\"peer\":null,\"value\":\([0-9.e+-]*\),.*/\1/p" "$dir/out"; }

serve 50; ok $? "one side serves"
"$BERTH_PROBE" --peer "127.0.0.1:$port" --token-file "$dir/token" --streams 2 --json >"$dir/out" 2>"$dir/err"
ok $? "the other measures"
grep -q '"mode":"network"' "$dir/out"; ok $? "the mode is that of the network"
for t in tcp_send tcp_recv; do
	awk -v v="$(value $t)" 'BEGIN { exit !(v > 0.02 && v < 500) }'; ok $? "$t is a rate that a loopback can have ($(value $t) GB/s)"
done
awk -v v="$(value tcp_latency)" 'BEGIN { exit !(v > 1 && v < 5000) }'; ok $? "tcp_latency is one that a loopback can have ($(value tcp_latency) us)"
grep -q 'every byte of 2 streams compared' "$dir/out"; ok $? "every byte was compared"
wait "$server"; ok $? "the server ends with its peer"
server=

if [ -n "${BERTH-}" ]; then
	HOME=$dir XDG_CONFIG_HOME=$dir XDG_STATE_HOME=$dir BERTH_DATA=${BERTH_DATA-$TOP_SRCDIR/data} "$BERTH" init >/dev/null 2>&1
	judge() { HOME=$dir XDG_CONFIG_HOME=$dir XDG_STATE_HOME=$dir BERTH_DATA=${BERTH_DATA-$TOP_SRCDIR/data} "$BERTH" probe --file "$dir/out" "$@" >"$dir/verdict" 2>&1; }
	gbps=$(awk -v a="$(value tcp_send)" -v b="$(value tcp_recv)" 'BEGIN { print (a < b ? a : b) * 8 }')
	judge --network-gbps "$(awk -v g="$gbps" 'BEGIN { print g * 5 }')"
	rc=$?
	[ $rc = 7 ] && grep -q 'over a network of' "$dir/verdict"; ok $? "a fifth of what was sold is rejected"
	sed 's/\("name":"tcp_recv","gpu":null,"peer":null,"value":\)[0-9.e+-]*/\10.01/' "$dir/out" >"$dir/lame" && mv "$dir/lame" "$dir/out"
	judge; rc=$?
	[ $rc = 0 ] && grep -q 'from it' "$dir/verdict"; ok $? "one lame direction is a discount"
fi

serve 50; ok $? "another server"
"$BERTH_PROBE" --peer "127.0.0.1:$port" --token-file "$dir/other" --json >"$dir/out" 2>"$dir/err"
[ $? = 4 ] && grep -q 'does not know the token' "$dir/out"; ok $? "a peer with another token is not let in"
kill -0 "$server" 2>/dev/null; ok $? "and does not end the server"
BERTH_PROBE_TOKEN=$(cat "$dir/token") "$BERTH_PROBE" --peer "127.0.0.1:$port" --streams 1 >"$dir/out" 2>"$dir/err"
ok $? "the token of the environment does"
wait "$server"
server=
"$BERTH_PROBE" --peer "127.0.0.1:$port" --token-file "$dir/token" --json >"$dir/out" 2>"$dir/err"
[ $? = 4 ] && grep -q '"name":"tcp_send".*"value":null.*"status":"failed"' "$dir/out"; ok $? "nobody serves: failed, never a rate"
"$BERTH_PROBE" --peer "127.0.0.1:$port" --token-file "$dir/short" >/dev/null 2>"$dir/err"
[ $? = 2 ] && grep -q '16 characters' "$dir/err"; ok $? "a short token is refused"
"$BERTH_PROBE" --serve "127.0.0.1:$port" >/dev/null 2>"$dir/err"
[ $? = 2 ]; ok $? "and so is none"
"$BERTH_PROBE" --serve "127.0.0.1:$port" --token-file "$dir/token" --cap 1 2>"$dir/err"
[ $? = 5 ] && grep -q 'no peer was served' "$dir/err"; ok $? "a server that nobody asks ends"

# RDMA ports as the kernel shows them
for p in "mlx5_0 1 4:_ACTIVE 400_Gb/sec_(4X_NDR)" "mlx5_1 1 1:_DOWN 10_Gb/sec_(1X_QDR)"; do
	set -- $p
	d=$dir/root/sys/class/infiniband/$1/ports/$2
	mkdir -p "$d"
	echo "$3" | tr _ ' ' >"$d/state"; echo "$4" | tr _ ' ' >"$d/rate"; echo InfiniBand >"$d/link_layer"
done
"$BERTH_PROBE" --peer "127.0.0.1:$port" --token-file "$dir/token" --json --sysroot "$dir/root" >"$dir/out" 2>/dev/null
grep -q '"name":"rdma_port","gpu":null,"status":"ok","value":400,"detail":"mlx5_0 port 1: 4: ACTIVE, 400 Gb/sec (4X NDR), InfiniBand"' "$dir/out"
ok $? "an RDMA port with state and rate"
grep -q '"name":"rdma","gpu":null,"status":"ok","value":1,"detail":"1 of 2 ports of 2 devices are up"' "$dir/out"; ok $? "how many are up"
echo "1: DOWN" >"$dir/root/sys/class/infiniband/mlx5_0/ports/1/state"
"$BERTH_PROBE" --peer "127.0.0.1:$port" --token-file "$dir/token" --json --sysroot "$dir/root" >"$dir/out" 2>/dev/null
grep -q '"name":"rdma","gpu":null,"status":"failed"' "$dir/out"; ok $? "none being up is a fault"
echo "1..$n"
[ $failed = 0 ]
