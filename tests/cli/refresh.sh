#!/bin/sh
# berth prices refresh over the wire: what is no price list changes nothing, keys stay home, time limits, recordings.
. "$TOP_SRCDIR/tests/cli/lib.sh"

if ! command -v python3 >/dev/null; then
	skip refresh "no python3"
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

cloud() {	# cloud HOW [KEYS]: berth.yaml with one cloud that behaves so
	mkdir -p .config/berth
	cat >.config/berth/berth.yaml <<-YAML
	accounts:
	  - {name: cloud, provider: lambda, api_key: 'env:LAMBDA_KEY', endpoint: 'http://127.0.0.1:$port/$1'${2:+, $2}}
	${3:-}
	YAML
}

run init
cloud good
run prices refresh -o json
expect_exit 0
expect_json '$.providers[0].offers' 1
run prices list --provider lambda -o csv --columns price_per_hour,as_of
cp "$out" before

# A sign-in page or an error with status 200 is no price list: the old one stands, with its time, marked stale.
for how in html error down odd; do
	cloud $how
	run prices refresh -o json
	[ "$status" -eq $([ $how = odd ] && echo 1 || echo 5) ]
	ok $? "$how: the refresh fails, for now or for what it says ($status)"
	expect_json '$.providers[0].stale' true
	run prices list --provider lambda -o csv --columns price_per_hour,as_of
	cmp -s "$out" before
	ok $? "$how: the old prices and their time stand"
	run prices list --provider lambda
	expect_err_has 'stale: lambda'
done
cloud error
run prices refresh -o json
expect_exit 5
expect_err_has 'later'

# A list that repeats itself has each offer once.
cloud twice
run prices refresh -o json
expect_exit 0
expect_json '$.providers[0].offers' 1
run prices list --provider lambda -o csv --columns instance_type,region
[ "$(grep -c '^gpu_1x,us-1' "$out")" -eq 1 ]
ok $? "500 rows that are one offer"

# Names and words of a cloud bring no control character to a terminal or a log, and no key.
tame() {	# tame NAME: neither stream of the last run holds any
	! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "$out" "$err" && ! LC_ALL=C grep -q "$(printf '\302\233\|\342\200\256')" "$out" "$err" &&
	    ! grep -q SECRET "$out" "$err"
	ok $? "$1: neither control characters nor a key are shown"
}
cloud escape
for args in 'prices refresh -f' 'prices list' 'prices list -o csv' 'prices list -o json' 'prices diff' 'prices history --provider lambda' \
    'events' 'events -o json' '--debug prices refresh' 'doctor'; do
	run $args
	tame "$args"
done
cloud refuse
for args in 'prices refresh' 'prices refresh -o json' '--debug prices refresh' 'doctor' 'doctor -o json' 'prices list' 'events'; do
	run $args
	tame "refused: $args"
done

# The key goes to the cloud alone, whoever it sends us to.
cloud away
run prices refresh
! grep -q SECRET seen
ok $? "the other host saw no key: $(grep -c . seen) lines"
grep -q 'GET\|/seen' seen || [ "$status" -ne 0 ]
ok $? "followed without it, or refused"

# What a cloud repeats of a request, and what curl says of a proxy, is told without the key and the password.
silent() {	# silent NAME: neither output, messages nor the store hold a secret
	! grep -aq SECRET "$out" "$err" .local/state/berth/*
	ok $? "$1: no secret is told or kept"
}
cloud echo
run prices refresh
expect_exit 1
expect_out_has 'removed'
silent "an answer that repeats the key"
run -v -v doctor
silent "doctor of that"
esc=$(printf '\033\\|\302\233\\|\342\200\256\\|^ok    account b')
cloud ugly
run prices refresh
! grep -q "$esc" "$out" "$err"
ok $? "words of a cloud drive no terminal"
run doctor
! grep -q "$esc" "$out" "$err"
ok $? "nor do they make a line of doctor's"
for proxy in 'foo://me:pw-SECRET@127.0.0.1:9' 'http://me:pw-SECRET@127.0.0.1:99999' 'http://me:pw-SECRET@127.0.0.1:9'; do
	cloud good "proxy: '$proxy'"
	run prices refresh
	[ "$status" -ne 0 ]
	ok $? "no way through $proxy"
	silent "a proxy that cannot be used"
done
sed "s#http://127#http://me:pw-SECRET@127#" .config/berth/berth.yaml >bad.yaml
run --config bad.yaml prices refresh
expect_exit 1
silent "an endpoint with a password"

# A byte a second is no answer.
cloud drip 'timeout: 2s'
: >seen.drip
began=$(date +%s)
run prices refresh -o json
took=$(($(date +%s) - began))
expect_exit 5
[ "$(wc -l <seen.drip)" -le 3 ] && [ "$took" -le 40 ]
ok $? "a dripping answer ends after $took s, $(wc -l <seen.drip) tries of 2 s and all"
expect_out_has 'within 2 s'
cloud drip '' 'network: {prices_within: 1s}'
run prices refresh -o json
expect_exit 5
expect_out_has 'the pass had to end|left in this pass'
cloud good
run prices refresh
expect_exit 0 "and the lock is free again"

# A cloud that answers a byte a second holds up neither the tick nor the other account.
cat >.config/berth/berth.yaml <<YAML
accounts:
  - {name: slow, provider: lambda, api_key: 'env:LAMBDA_KEY', endpoint: 'http://127.0.0.1:$port/drip'}
  - {name: cloud, provider: lambda, api_key: 'env:LAMBDA_KEY', endpoint: 'http://127.0.0.1:$port/good'}
network: {sync_within: 2s, prices_within: 2s}
YAML
began=$(date +%s)
run tick
took=$(($(date +%s) - began))
[ "$took" -le 40 ]	# the answers would take a minute each
ok $? "a tick with a dripping cloud takes $took s"
run events --type account.unreachable -o json
expect_out_has '"subject": "account:slow"'
expect_out_lacks 'account:cloud' "the other one was heard"

# A cloud that takes three seconds for each launch and each end gets its share of a pass, and no other waits for it.
within() {	# within DUR: what an account gets
	cat >.config/berth/berth.yaml <<-YAML
	accounts:
	  - {name: slow, provider: lambda, api_key: 'env:LAMBDA_KEY', ssh_key: k, endpoint: 'http://127.0.0.1:$port/slow'}
	  - {name: fast, provider: lambda, api_key: 'env:LAMBDA_KEY', ssh_key: k, endpoint: 'http://127.0.0.1:$port/fast'}
	network: {lease_within: $1}
	YAML
}
machines() {	# machines ACCOUNT: how many stand in the store
	"$BERTH" --now "$NOW" instances --account "$1" -o csv --columns ref | grep -c "$1"
}
within 5s
run prices refresh
expect_exit 0 "both answer"
printf 'schema: berth.job/1\nname: j\naccelerators: "H100:1"\nwork: 1h\nrun: sleep 1\n' >job.yaml
for i in 1 2 3; do run submit job.yaml; done
run tick
[ "$(machines slow)" -eq 2 ] && [ "$(machines fast)" -eq 1 ]
ok $? "of three launches two are made by the cheaper, slow cloud: $(machines slow) and $(machines fast)"
within 2s
for j in $("$BERTH" --now "$NOW" jobs -o csv --columns id | tail -n +2); do run -y job cancel "$j"; done
run tick
[ "$(machines slow)" -eq 1 ] && [ "$(machines fast)" -eq 0 ]
ok $? "one of the two slow ones is ended in this tick, and the fast one: $(machines slow) and $(machines fast)"
run tick
[ "$(machines slow)" -eq 0 ]
ok $? "the other one in the next"
sed -i '/name: fast/d' .config/berth/berth.yaml
for i in 1 2; do run submit job.yaml; done
run tick
run jobs -o csv --columns state,reason
expect_out_has "^queued,.*account slow has had its time in this pass; the next tick tries it" "a job that came too late in a pass says so"
late=$("$BERTH" --now "$NOW" jobs -o csv --columns id,reason | sed -n 's/,.*account slow has had its time in this pass.*//p')
run explain "$late" -o json
expect_json '$.decisions[0].decision.rule' account_busy
run place --replay "$late"
expect_out_has 'comes out the same, byte for byte \(2 jobs, 1 of them waits, [0-9]+ bytes\)' "and its record is made again"

# What doctor says of each, without a machine more or less.
clock=$(date -u +%Y-%m-%dT%H:%M:%SZ)
look() {	# look HOW STATE WORDS
	cloud "$1"
	ran="berth doctor ($1)"
	"$BERTH" --now "$clock" doctor -o csv >"$out" 2>"$err" </dev/null && status=0 || status=$?
	expect_out_has "^$2,account cloud,.*$3"
}
look good ok 'answers in [0-9]+ ms; 0 machines of ours'
look key fail 'credentials are refused.*renew'
look right fail 'may not do this.*permissions'
look html fail 'does not speak as this cloud.*endpoint'
look skew fail 'clock is [0-9]+ s ahead.*NTP'
expect_exit 1 "what fails is told by the status"
sed "s/:$port/:1/" .config/berth/berth.yaml >down.yaml
ran="berth doctor (nobody there)"
"$BERTH" --now "$clock" --config down.yaml doctor -o csv >"$out" 2>"$err" </dev/null && status=0 || status=$?
expect_out_has '^fail,account cloud,.*cannot be reached.*network'
"$BERTH" --now "$clock" --store none.db --config down.yaml doctor -o csv >"$out" 2>"$err" </dev/null && status=0 || status=$?
expect_out_has '^fail,account cloud,.*cannot be reached.*network' "before berth init too"
"$BERTH" --now "$clock" --offline --config down.yaml doctor -o csv >"$out" 2>"$err" </dev/null && status=0 || status=$?
expect_out_has '^ok,account cloud,.*its keys are right'
! grep -q SECRET "$out"
ok $? "no key is printed"
cloud good

# Recorded, without secrets; played without a cloud.
BERTH_RECORD=$HOME/tape.jsonl
export BERTH_RECORD
run prices refresh
expect_exit 0
unset BERTH_RECORD
grep -q berth.exchange/1 tape.jsonl
ok $? "the exchange is written down"
! grep -q SECRET tape.jsonl
ok $? "without its key"
rm -f "$HOME"/.local/state/berth/*
exec 9>&-
wait "$server"
run init
BERTH_REPLAY=$HOME/tape.jsonl
export BERTH_REPLAY
run prices refresh -o json
expect_exit 0 "played with no cloud there"
expect_json '$.providers[0].offers' 1
run prices list --provider lambda -o csv --columns price_per_hour
expect_out 2.490000
unset BERTH_REPLAY
cloud good '' 'network: {prxoy: x}'
run prices refresh
expect_exit 1
expect_err_has "did you mean 'proxy'"
cloud good 'rate: 0'
run prices refresh
expect_exit 1
trap 'rm -rf "$TEST_TMP"' EXIT
done_testing
