#!/bin/sh
# A launch that the cloud made, and whose answer never came: found by its name at the next tick, used or ended, never doubled.
. "$TOP_SRCDIR/tests/cli/lib.sh"

if ! command -v python3 >/dev/null; then
	skip lost-launch "no python3"
	done_testing
	exit 0
fi
mkfifo hold
python3 "$TOP_SRCDIR/tests/cli/refresh_server.py" "$HOME/seen" <hold >ports 2>/dev/null &
server=$!
exec 9>hold
trap 'exec 9>&-; wait "$server"; rm -rf "$TEST_TMP"' EXIT
await ports "$server"
read -r port other <ports
export LAMBDA_KEY=key-SECRET-59
mkdir -p .config/berth
printf 'schema: berth.job/1\nname: j\naccelerators: "H100:1"\nwork: 1h\nrun: sleep 1\n' >job.yaml

fresh() {	# fresh NAME ACCOUNT...: a store of its own, with these clouds
	BERTH_STORE=$HOME/$1.db
	export BERTH_STORE
	shift
	echo accounts: >.config/berth/berth.yaml
	for acc in "$@"; do
		echo "  - {name: $acc, provider: lambda, api_key: 'env:LAMBDA_KEY', ssh_key: k, endpoint: 'http://127.0.0.1:$port/$acc'}" >>.config/berth/berth.yaml
	done
	run init --no-prices
	run prices refresh
	run submit job.yaml
}
up() {	# up HOW: how many machines the cloud has, by its own word
	cat "seen.up.$1" 2>/dev/null || echo 0
}
later() { NOW=$(date -u -d "$NOW + $1 seconds" +%Y-%m-%dT%H:%M:%SZ); }

for how in drop cut html empty odd 500; do
	fresh "$how" "lost-$how"
	run tick
	[ "$(up "lost-$how")" -eq 1 ]
	ok $? "$how: one machine is made: $(up "lost-$how")"
	run jobs -o csv --columns state
	expect_out_has '^queued' "$how: nobody knows yet"
	later 60
	run tick
	[ "$(up "lost-$how")" -eq 1 ]
	ok $? "$how: no second one: $(up "lost-$how")"
	run instances -o csv --columns ref,job
	[ "$(grep -c "^lost-$how-" "$out")" -eq 1 ]
	ok $? "$how: it is found by its name"
	run jobs -o csv --columns state
	expect_out_has '^placed' "$how: and used"
	later 60
	run tick
	[ "$(up "lost-$how")" -eq 1 ]
	ok $? "$how: still one"
done

# Nothing was made: after a while the job asks again.
fresh none lost-none
run tick
[ "$(up lost-none)" -eq 0 ]
ok $? "none: nothing was made"
later 60
run tick
[ "$(up lost-none)" -eq 0 ]
ok $? "none: within the grace nothing is asked again"
later 120
run tick
later 60
run tick
[ "$(up lost-none)" -eq 1 ]
ok $? "none: then it is: $(up lost-none)"

# Two ticks at once: one machine, and one of them says that the other works.
fresh two late
: >seen.late
"$BERTH" --now "$NOW" tick >tick1 2>&1 </dev/null &
first=$!
await seen.late $first launch
"$BERTH" --now "$NOW" tick >tick2 2>&1 </dev/null && two=0 || two=$?
: >seen.go
wait "$first" && one=0 || one=$?
[ "$(up late)" -eq 1 ]
ok $? "two ticks at once: one machine ($one, $two)"
[ "$one" -eq 0 ] && [ "$two" -eq 9 ]
ok $? "the second of them found the lock held"

# Killed while the cloud makes the machine: the next tick finds it.
for j in $("$BERTH" --now "$NOW" jobs -o csv --columns id | tail -n +2); do run -y job cancel "$j"; done
later 60
run tick
later 60
run tick
[ "$(up late)" -eq 0 ]
ok $? "a cancelled job's machine is ended"
run submit job.yaml
rm seen.go
: >seen.late
"$BERTH" --now "$NOW" tick >tick1 2>&1 </dev/null &
first=$!
await seen.late $first launch
kill -9 "$first"
wait "$first" 2>/dev/null
: >seen.go
n=0
until [ "$(up late)" -eq 1 ] || [ $n -ge 60 ]; do
	n=$((n + 1))
	pause $n
done
[ "$(up late)" -eq 1 ]
ok $? "a tick killed in mid-launch leaves a machine"
later 60
run tick
later 180
run tick
later 60
run tick
[ "$(up late)" -eq 1 ]
ok $? "which is found, and no second one is made: $(up late)"
run instances -o csv --columns ref
[ "$(grep -c '^late-' "$out")" -eq 1 ]
ok $? "it is ours"
done_testing
