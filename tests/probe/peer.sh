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
listens() {	# by what the kernel says: a connection would be a peer
	[ -r /proc/net/tcp ] || { sleep 2; [ -n "$server" ]; return; }
	grep -qi ": 0100007F:$(printf %04X "$port") 00000000:0000 0A" /proc/net/tcp
}
serve() {	# SECONDS [COMMAND...]: in $server, at $port, from the moment at which it listens
	cap=$1
	shift
	tries=0
	while [ $tries -lt 20 ]; do
		port=$((port + 7)) tries=$((tries + 1))
		listens && continue
		"$@" "$BERTH_PROBE" --serve "127.0.0.1:$port" --token-file "$dir/token" --cap "$cap" 2>"$dir/serr" &
		server=$!
		until listens || ! kill -0 "$server" 2>/dev/null; do sleep 0.05; done
		kill -0 "$server" 2>/dev/null && return 0
	done
	return 1
}
value() { sed -n "s/.*\"name\":\"$1\",\"gpu\":null,\"peer\":null,\"value\":\([0-9.e+-]*\),.*/\1/p" "$dir/out"; }

serve 300; ok $? "one side serves"
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
	serve 300
	"$BERTH_PROBE" --peer "127.0.0.1:$port" --token-file "$dir/token" --quick --only tcp_send --json >"$dir/out" 2>"$dir/err"
	judge; rc=$?
	[ $rc = 0 ] && grep -q 'only tcp_send was measured' "$dir/verdict"; ok $? "a part is judged on what was asked for, and said to be one"
	wait "$server"
	server=
fi

serve 300; ok $? "another server"
"$BERTH_PROBE" --peer "127.0.0.1:$port" --token-file "$dir/other" --json >"$dir/out" 2>"$dir/err"
[ $? = 4 ] && grep -q 'does not know the token' "$dir/out"; ok $? "a peer with another token is not let in"
kill -0 "$server" 2>/dev/null; ok $? "and does not end the server"
BERTH_PROBE_TOKEN=$(cat "$dir/token") "$BERTH_PROBE" --peer "127.0.0.1:$port" --streams 1 --quick >"$dir/out" 2>"$dir/err"
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

# transfers by RDMA, over a library that is made up: its wire is a socket between the two programs
fakes=$TOP_BUILDDIR/tests/probe/fake
cc=$(sed -n 's/^CC = //p' "$TOP_BUILDDIR/Makefile")
if echo '#include <infiniband/verbs.h>' | $cc -fsyntax-only -x c - 2>/dev/null; then
	$cc -fsyntax-only -Wno-enum-compare -I"$TOP_SRCDIR" "$TOP_SRCDIR/tests/probe/verbs_abi.c" 2>"$dir/abi"
	ok $? "the layouts are those of the header that is installed here ($(head -n 1 "$dir/abi"))"
else
	ok 0 "the layouts against the header of libibverbs # SKIP it is not installed"
fi
export ASAN_OPTIONS=detect_leaks=0
rdma() {	# NAME, STATUS, FAKE of the server, FAKE of the client, PATTERN
	name=$1 want=$2 pattern=$5
	serve 300 env LD_LIBRARY_PATH="$fakes" BERTH_FAKE="$3"
	LD_LIBRARY_PATH=$fakes BERTH_FAKE=$4 "$BERTH_PROBE" --peer "127.0.0.1:$port" --token-file "$dir/token" --json --only rdma \
	    --streams 1 $quick >"$dir/out" 2>"$dir/err"
	rc=$?
	wait "$server"
	served=$?
	server=
	grep -Eq "$pattern" "$dir/out" && [ $rc = "$want" ] && [ $served = 0 ]
	ok $? "$name"
	[ $rc = "$want" ] && [ $served = 0 ] || echo "# exit $rc, of the server $served"
}
quick=	# whole runs for the rates, short ones for what goes wrong
rdma "RDMA: both ways and latency" 0 "" "" '"name":"rdma_path","gpu":null,"status":"ok","value":null,"detail":"fake_0 port 1 to fake_0 port 1 at the peer, MTU 4096, InfiniBand"'
for t in rdma_send rdma_recv; do
	awk -v v="$(value $t)" 'BEGIN { exit !(v > 0.02 && v < 500) }'; ok $? "$t is a rate that a socket can have ($(value $t) GB/s)"
done
awk -v v="$(value rdma_latency)" 'BEGIN { exit !(v > 1 && v < 50000) }'; ok $? "rdma_latency is one ($(value rdma_latency) us)"
quick=--quick
none='"name":"rdma_send","gpu":null,"peer":null,"value":null.*"status":"'
rdma "the smaller MTU counts" 0 "ib_mtu=3" "" 'MTU 1024'
rdma "RoCE needs the address of the port" 0 "ib_layer=2" "ib_layer=2" 'MTU 4096, RoCE'
rdma "no device here" 0 "" "ib=0" "${none}skipped\",\"error\":\"there is no RDMA device"
rdma "none at the peer" 0 "ib=0" "" "${none}skipped\",\"error\":\"the peer: there is no RDMA device"
rdma "a device without reliable connections" 0 "" "ib_rc=95" "${none}skipped\",\"error\":\"fake_0 port 1 has no reliable connections"
rdma "a port that is down" 4 "" "ib_port=1" "${none}failed\",\"error\":\"fake_0: no port is up"
rdma "a port of the peer that is down" 4 "ib_port=1" "" "${none}failed\",\"error\":\"the peer: fake_0: no port is up"
rdma "an MTU that is none" 4 "" "ib_mtu=9" "${none}failed.*have no MTU in common"
rdma "networks of two kinds" 4 "ib_layer=2" "" "${none}failed.*networks of two kinds"
rdma "memory that cannot be registered" 4 "" "ib_reg=12" "${none}failed.*cannot be registered .ulimit -l"
rdma "the peer cannot connect" 4 "ib_rtr=22" "" "${none}failed.*the peer: fake_0 port 1: not ready to receive"
rdma "a transfer that ends with an error" 4 "" "ib_fail=12" "${none}failed.*ended with status 12: transport retry counter exceeded"
rdma "one that ends so at the peer" 4 "ib_fail=12" "" "${none}failed.*the peer: fake_0 port 1: .*status 12"
rdma "a transfer that never ends" 4 "" "ib_hang=1" "${none}failed.*no transfer was completed within 3 s"
rdma "bytes that arrive wrong at the peer" 4 "ib_flip=1" "" "${none}failed\",\"error\":\"the peer: what arrived is wrong"
rdma "bytes that arrive wrong here" 4 "" "ib_flip=1" '"name":"rdma_recv","gpu":null,"peer":null,"value":null.*"status":"failed","error":"what arrived is wrong"'
echo "1..$n"
[ $failed = 0 ]
