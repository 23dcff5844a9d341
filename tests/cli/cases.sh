#!/bin/sh
# The collected cases of prices, the wire, keys and machines, through the program: each comes out as it is stated there.
# Those that no verb can reach (63, 65's signature, 67) are in tests/unit/sign.c, aws.c and bearer.c.
. "$TOP_SRCDIR/tests/cli/lib.sh"

cases=${BERTH_SHARED:-$TOP_SRCDIR/../shared}/cases/inputs
if [ ! -e "$cases/case-033-aws-offer.json" ] || ! command -v python3 >/dev/null; then
	skip "collected cases" "no shared data, or no python3"
	done_testing
	exit 0
fi
export AWS_EC2_METADATA_DISABLED=true K=key-SECRET-59 S=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY
mkdir seen
mkfifo hold
python3 "$TOP_SRCDIR/tests/cli/cases_server.py" "$cases" "$HOME/seen" meters pages pages-loop skus skus-Core skus-Ram skus-GPU case-055 odd \
	odd-none drip silent steal away pods ec2-041 ec2-097 ec2-087 ec2-089 ec2-091 ec2-093 ec2-095-A ec2-095-B ec2-095-C <hold >ports 2>server.err &
server=$!
exec 9>hold
trap 'exec 9>&-; wait "$server"; rm -rf "$TEST_TMP"' EXIT
await ports "$server" ready
port() { sed -n "s/^$1 //p" ports; }
url() { echo "http://127.0.0.1:$(port "$1")"; }

fresh() {	# fresh NAME: a store and a config of its own
	store=$HOME/$1.db
	BERTH_STORE=$store BERTH_CONFIG=$HOME/$1.yaml
	export BERTH_STORE BERTH_CONFIG
	printf 'schema: berth.config/1\n' >"$1.yaml"
}
account() {	# account NAME KEYS...: a line of accounts
	grep -q '^accounts:' "$BERTH_CONFIG" || echo 'accounts:' >>"$BERTH_CONFIG"
	name=$1
	shift
	echo "  - {name: $name, $(echo "$*")}" >>"$BERTH_CONFIG"
}
rows() { tail -n +2 "$out"; }
is_rows() {	# is_rows NAME ROW...: just these rows, in this order
	name=$1
	shift
	[ "$(rows)" = "$(printf '%s\n' "$@")" ]
	ok $? "$name"
}
is_machines() {	# is_machines NAME REF...: just these in the JSON of the last run
	name=$1
	shift
	[ "$(sed -n 's/^ *"ref": "\(.*\)",*$/\1/p' "$out")" = "$(printf '%s\n' "$@")" ]
	ok $? "$name"
}
seen() { grep -c "$2" "seen/$1"; }
in_order() {	# in_order FILE FORWARD|BACK: the price list of EC2 with its products and terms that way round
	python3 - "$1" "$2" <<'EOF'
import json, sys
def turn(v):
    if isinstance(v, dict):
        items = [(k, turn(x)) for k, x in v.items()]
        return dict(items[::-1] if sys.argv[2] == 'BACK' else items)
    return v
print(json.dumps(turn(json.load(open(sys.argv[1])))))
EOF
}

# 33: zeros and unused capacity are no offers, in any order of the rows.
for way in FORWARD BACK; do
	fresh "c033$way"
	in_order "$cases/case-033-aws-offer.json" $way >033.json
	run init --no-prices
	run prices import 033.json
	expect_exit 0 "33 ($way)"
	run prices list --kind plain,windows,licensed,dedicated,block -o csv --columns instance_type,price_per_hour,price_per_gpu_hour
	is_rows "33 ($way): one offer" p4d.24xlarge,32.772600,4.096575
done

# 35: yuan are no dollars; with a rate they compare; a price of 0 is none.
fresh c035
run init --no-prices
run prices import "$cases/case-035-aws-cn-offer.json"
expect_exit 0 35
run prices list
expect_err_has 'not in USD and not ranked' "35: a warning"
run prices list -o csv --columns region,price_per_hour,price_per_gpu_hour,currency
is_rows "35: in yuan, not ranked" cn-northwest-1,21.856800,,CNY
echo "prices: {rates: $cases/case-035-rates.csv}" >>c035.yaml
run prices import -f "$cases/case-035-aws-cn-offer.json"
run prices list -o csv --columns region,price_per_hour,price_per_gpu_hour,currency
is_rows "35: with the rate in dollars" cn-northwest-1,3.078423,3.078423,USD

# 37: one size, many meters.
fresh c037
account az "provider: azure, locations: eastus, prices_endpoint: '$(url meters)'"
run init --no-prices
for n in 1 2 3; do
	run prices refresh -f
	expect_exit 0 "37, order $n"
	run prices list --kind plain,windows,licensed,dedicated -s provider -o csv --columns purchase,kind,price_per_hour
	rows | sort >"037.$n"
	[ "$(cat 037.$n)" = "$(printf '%s\n' on_demand,plain,3.673000 on_demand,windows,4.777000 spot,plain,0.918000 spot,windows,1.194000)" ]
	ok $? "37, order $n: four offers, no low priority, test or cloud service"
done

# 39: an empty page is not the end, and a loop is no list.
fresh c039
account az "provider: azure, locations: eastus, prices_endpoint: '$(url pages)'"
run init --no-prices
run prices refresh -o json
expect_exit 0 39
expect_json '$.providers[0].offers' 5
[ "$(seen pages .)" -eq 3 ]
ok $? "39: three requests"
run prices list -s machine -o csv --columns instance_type,price_per_hour
[ "$(rows | head -n 1)" = Standard_NC24ads_A100_v4,3.673000 ]
ok $? "39: the cheapest"
expect_out Standard_NC40ads_H100_v5,6.980000 "39: the last page's offer"
cp "$out" before
sed -i "s#$(url pages)#$(url pages-loop)#" c039.yaml
run prices refresh
[ "$status" -ne 0 ] && [ "$(seen pages-loop .)" -le 4 ]
ok $? "39, bad chain: refused after $(seen pages-loop .) requests"
expect_err_has 'skip=3' "39, bad chain: the repeated link is named"
run prices list -s machine -o csv --columns instance_type,price_per_hour
cmp -s "$out" before
ok $? "39, bad chain: the old list stands"

# 43: three SKUs, three units, one price; without one of them none.
fresh c043
account g "provider: gcp, project: p, api_key: env:K, metadata_endpoint: '$(url skus)', endpoint: '$(url skus)', billing_endpoint: '$(url skus)'"
run init --no-prices
run prices refresh
expect_exit 0 43
run prices list -s machine -o csv --columns instance_type,price_per_hour,price_per_gpu_hour
is_rows "43: parts added" a2-highgpu-1g,3.673385,3.673385 a2-highgpu-8g,29.387080,3.673385
for part in Core Ram GPU; do
	sed "s#billing_endpoint: '[^']*'#billing_endpoint: '$(url skus-$part)'#" c043.yaml >part.yaml
	run --config part.yaml --store "$HOME/part.db" init --no-prices
	run --config part.yaml --store "$HOME/part.db" prices refresh
	run --config part.yaml --store "$HOME/part.db" prices list -o csv --columns instance_type
	is_rows "43: without $part no offer" ''
done

# 45: host and cards of one region alone; tests/unit/gcp.c composes them, here their sums are a list.
fresh c045
awk -F, 'BEGIN { print "provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour" }
	NR > 1 { printf "gcp,%s,a2-megagpu-16g,A100-SXM4-40GB,16,on_demand,%.2f\n", $1, $2 + $3 }' "$cases/case-045-parts.csv" >045.csv
run init --no-prices
run prices import 045.csv
run prices list -s machine -o csv --columns region,price_per_hour
is_rows "45: the cheapest region" europe-west4,35.500000 us-central1,35.900000 asia-southeast1,36.300000

# 47: what is paid upfront is in the price of an hour.
fresh c047
run init --no-prices
run prices import "$cases/case-047-aws-reserved.json"
expect_exit 0 47
run prices list -p reserved -s machine -o json
i=0
for want in 11.263318 11.788021 14.08; do
	expect_json_near "\$.offers[$i].price_per_gpu_hour" "$(echo $want | awk '{ printf "%.9f", $1 / 8 }')" 1e-6
	i=$((i + 1))
done

# 49: every spelling of a place, and one that nobody knows.
fresh c049
python3 - "$cases/case-049-locations.csv" >049.json <<'EOF'
import csv, json, sys
products, terms = {}, {}
for i, r in enumerate(csv.DictReader(open(sys.argv[1], encoding='utf-8'))):
    kind = 'g5.%dxlarge' % (i + 2)
    products[kind] = {'productFamily': 'Compute Instance', 'attributes': {
        'instanceType': kind, 'location': r['location'], 'tenancy': 'Shared', 'operatingSystem': 'Linux', 'preInstalledSw': 'NA',
        'capacitystatus': 'Used', 'gpu': '1', 'vcpu': '8', 'memory': '32 GiB'}}
    terms[kind] = {kind + '.T': {'priceDimensions': {'d': {'unit': 'Hrs', 'beginRange': '0', 'pricePerUnit': {'USD': r['price']}}}}}
print(json.dumps({'offerCode': 'AmazonEC2', 'products': products, 'terms': {'OnDemand': terms}}))
EOF
run init --no-prices
run prices import 049.json
expect_err_has 'South Pole' "49: a warning names the unknown place"
run prices list -s machine -o csv --columns region
[ "$(rows | sort | tr '\n' ' ')" = 'South Pole (Base) eu-west-1 eu-west-1 eu-west-1 eu-west-2 eu-west-2 us-east-1 ' ]
ok $? "49: seven rows, none lost"
run prices list -r 'us-*,eu-*' -s machine -o csv --columns region,price_per_hour
[ "$(rows | head -n 1)" = us-east-1,1.900000 ]
ok $? "49: of the regions that were asked for, not the unknown one"

# 51: a large list in little memory; bench/aws-prices does 300 MiB over the wire.
fresh c051
python3 "$cases/case-051-gen.py" 40 >051.json
run init --no-prices
python3 - "$BERTH" --now "$NOW" prices import 051.json >rss 2>"$err" <<'EOF'
import os, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, u = os.wait4(p.pid, 0)
print(u.ru_maxrss // 1024)
sys.exit(1 if status else 0)
EOF
status=$?
expect_exit 0 51
[ "$(cat rss)" -le 64 ]
ok $? "51: $(cat rss) MiB for 40 MiB"
run prices list -o csv --columns instance_type,price_per_hour
expect_out_has ',32\.772600$' "51: the price at the end"

# 53: an integer of 65 bits does no harm; a NUL in a name or a price that is no number spoils no other list.
fresh c053
account odd "provider: lambda, api_key: env:K, endpoint: '$(url odd-none)'"
run init --no-prices
run prices refresh
expect_exit 0 "53: integers over 64 bits in fields that nobody needs"
run prices list -o csv --columns accelerator,price_per_hour
[ "$(rows | cut -d, -f2 | sort | tr '\n' ' ')" = '2.480000 2.990000 ' ]
ok $? "53: the good offers"
cp "$out" before
sed -i "s#$(url odd-none)#$(url odd)#" c053.yaml
run prices refresh
[ "$status" -ne 0 ] && [ "$status" -lt 128 ]
ok $? "53: a NUL in a name and 1e400 are refused ($status)"
expect_err_has 'answer:1:[0-9]+' "53: with its place"
run prices list -o csv --columns accelerator,price_per_hour
cmp -s "$out" before
ok $? "53: never at 0.01, never inf: the old list stands"

# 55: a sign-in page and an error within a 200 are no list, and worth another try.
fresh c055
account cloud "provider: lambda, api_key: env:K, endpoint: '$(url odd-none)'"
run init --no-prices
run prices refresh
run prices list -o csv --columns price_per_hour,as_of
cp "$out" before
sed -i "s#$(url odd-none)#$(url case-055)#" c055.yaml
for what in 'not JSON \(text/html' 'internal: try later'; do
	run prices refresh
	: >seen/second
	expect_exit 5 "55: retry later"
	expect_err_has "HTTP 200.*$what.*http://127.0.0.1:" "55: host, status and /$what/"
	run prices list -o csv --columns price_per_hour,as_of
	cmp -s "$out" before
	ok $? "55: offers and their time are unchanged"
done

# 59: no key goes to another host.
fresh c059
account cloud "provider: lambda, api_key: env:K, endpoint: '$(url away)'"
run init --no-prices
run prices refresh
[ "$status" -ne 0 ]
ok $? "59: what the other host says is no list ($status)"
grep -q key-SECRET-59 seen/away
ok $? "59: the cloud itself was shown the key"
[ ! -e seen/steal ] || ! grep -q SECRET seen/steal
ok $? "59: the other host was not"

# 61: a byte a second, or nothing: each call ends, and says by which limit.
for how in drip silent; do
	fresh "c061$how"
	account cloud "provider: lambda, api_key: env:K, timeout: 2s, endpoint: '$(url odd-none)'"
	run init --no-prices
	run prices refresh
	run prices list -o csv --columns price_per_hour,as_of
	cp "$out" before
	sed -i "s#$(url odd-none)#$(url $how)#" "c061$how.yaml"
	began=$(date +%s)
	run prices refresh
	took=$(($(date +%s) - began))
	[ "$status" -eq 5 ] && [ "$took" -le 10 ]
	ok $? "61 ($how): retry later ($status) after $took s"
	expect_err_has 'within 2 s' "61 ($how): the limit is named"
	run prices list -o csv --columns price_per_hour,as_of
	cmp -s "$out" before
	ok $? "61 ($how): the old prices stand"
	sed -i "s#$(url $how)#$(url odd-none)#" "c061$how.yaml"
	run prices refresh
	expect_exit 0 "61 ($how): the lock is free"
done

# 65: keys as files spell them; a control character is refused before any call.
fresh c065
mkdir -p .aws
cp "$cases/case-065-credentials.ini" .aws/credentials
account ini "provider: aws, regions: us-east-1, prices: json, spot: false, commitments: none, profile: default, endpoint: '$(url ec2-091)'"
account file "provider: aws, regions: us-east-1, prices: json, spot: false, commitments: none, access_key_id: env:ID, secret_access_key: 'file:$cases/case-065-secret.txt', endpoint: '$(url ec2-091)'"
export ID=AKIDEXAMPLE
run init --no-prices
run prices refresh --account ini,file
expect_exit 0 "65: both sources are read, and both are asked with"
[ "$(seen ec2-091 signed)" -eq 2 ] && [ "$(sort -u seen/ec2-091 | wc -l)" -eq 1 ]
ok $? "65: both with the same signature"
printf 'wJalr\001XUtn\n' >bad-secret
sed "s#$cases/case-065-secret.txt#bad-secret#" c065.yaml >bad.yaml
rm -f seen/ec2-091
run --config bad.yaml prices refresh --account file
expect_exit 1 "65: a control character in a key"
expect_err_has 'control character'
[ ! -e seen/ec2-091 ]
ok $? "65: and no call was made"

# Machines: jobs that are placed on clouds which misbehave.
job() {	# job ACCELERATORS
	cat >job.yaml <<Y
schema: berth.job/1
name: case
accelerators: "$1"
work: 1h
max_price: 50
purchase: [on_demand, spot]
run: ./x
Y
	run submit job.yaml
	id=$(cut -d' ' -f1 "$out")
}
ec2() {	# ec2 NAME PLAY: an account
	account "$1" "provider: aws, regions: us-east-1, prices: json, commitments: none, image: ami-1, access_key_id: env:ID, secret_access_key: env:S, endpoint: '$(url "$2")'${3:+, $3}"
}
at() {	# at TIME VERB...
	NOW=2026-11-30T$1Z
	shift
	run "$@"
}

# 57: no pod and an error within a 200, then a pod: one machine.
fresh c057
account pods "provider: runpod, api_key: env:K, image: img, endpoint: '$(url pods)'"
at 12:00:00 init --no-prices
run prices refresh
expect_exit 0 57
job A100:80GB:1
at 12:00:10 tick
run instances -o json
expect_json '$.instances[0].ref' pod-2b
expect_json_near '$.instances[0].price_per_hour' 1.29 1e-9
[ "$(seen pods POST)" -eq 2 ] && [ "$(json '$.instances[1].ref')" = '' ]
ok $? "57: two requests, one machine"

# 41: the price in force is the last change of the zone, of Linux, however long ago that was.
fresh c041
ec2 e ec2-041
at 12:00:00 init --no-prices
run prices refresh
expect_exit 0 41
run prices list -p spot -s machine -o csv --columns zone,price_per_hour
is_rows "41: a price for each zone, the cheapest first" us-east-1c,12.600000 us-east-1b,12.800000 us-east-1a,13.500000
run prices list -p spot --max-age 1d -s machine -o csv --columns zone,price_per_hour
is_rows "41: unchanged for 20 days is not stale" us-east-1c,12.600000 us-east-1b,12.800000 us-east-1a,13.500000
printf 'schema: berth.job/1\nname: case\nrun: make\nwork: 1h\naccelerators: "A100:8"\ncheckpoint: {size: 1GB}\n' >job.yaml
run submit job.yaml
run place --price-age 1d -o json
expect_json '$.jobs[0].offer.zone' us-east-1c "41: and a job goes there"
expect_json '$.jobs[0].offer.price_per_hour' 12.600000

# 97: asked for spot, sold on demand: ended at once, never at the price of spot.
fresh c097
ec2 e ec2-097
at 12:00:00 init --no-prices
run prices refresh
expect_exit 0 97
printf 'schema: berth.job/1\nname: case\nrun: ./x\nwork: 1h\naccelerators: "A100:8"\npurchase: [spot]\nmax_price: 7.67\ncheckpoint: {size: 1GB}\n' >job.yaml
run submit job.yaml
id=$(cut -d' ' -f1 "$out")
at 12:00:10 tick
expect_exit 5 "97: no spot machine now, try later"
expect_err_has 'i-0a97 was asked for as spot and sold on demand: ended'
[ "$(seen ec2-097 RunInstances)" -eq 1 ] && [ "$(seen ec2-097 'TerminateInstances i-0a97')" -eq 1 ]
ok $? "97: one create, one terminate"
run job "$id" -o json
expect_json '$.state' queued
run instances -o json
is_machines "97: no machine is left"
run instances --all -o json
is_machines "97: the one that there was is told" us-east-1/i-0a97
expect_json '$.instances[0].end_reason' not_spot
expect_out_lacks '7\.67' "97: the price of spot is not booked"
expect_json_near '$.instances[0].cost' 0.4 1e-6 "97: the shortest time that is billed, at the price on demand"
run job "$id" -o json
expect_json_near '$.cost' 0.4 1e-6 "97: the job has paid for it"

# 87: obeyed, but the answer was lost: one machine, one token.
fresh c087
ec2 e ec2-087 'spot: false'
at 12:00:00 init --no-prices
run prices refresh
expect_exit 0 87
job A100:8
at 12:00:10 tick
at 12:01:10 tick
at 12:02:10 tick
run instances -o json
is_machines "87: one machine in the store" us-east-1/i-0aa1
[ "$(seen ec2-087 made)" -eq 1 ] && [ "$(sed -n 's/^RunInstances [^ ]* //p' seen/ec2-087 | sort -u | wc -l)" -eq 1 ]
ok $? "87: one machine at the cloud, one token in $(seen ec2-087 RunInstances) requests"

# 89: the next type gets a token of its own.
fresh c089
ec2 e ec2-089 'spot: false'
at 12:00:00 init --no-prices
run prices refresh
expect_exit 0 89
job A100:8
at 12:00:10 tick
at 12:01:10 tick
run instances -o json
is_machines "89: one machine" us-east-1/i-0bb1
[ "$(seen ec2-089 mismatch)" -eq 0 ] && [ "$(sed -n 's/^RunInstances //p' seen/ec2-089 | sort -u | wc -l)" -eq 2 ]
ok $? "89: two offers, two tokens, no mismatch"

# 91: not found just after a create is not gone.
fresh c091
rm -f seen/ec2-091
ec2 e ec2-091 'spot: false'
at 12:00:00 init --no-prices
run prices refresh
expect_exit 0 91
job A100:8
for t in 12:00:10 12:00:20 12:00:40 12:01:10 12:02:10 12:03:10; do
	at $t tick
done
run instances -o json
is_machines "91: it is kept" us-east-1/i-0dd1
expect_out_lacks '"starting"' "91: and came up"
[ "$(seen ec2-091 RunInstances)" -eq 1 ] && [ "$(seen ec2-091 made)" -eq 1 ] && [ "$(seen ec2-091 Terminate)" -eq 0 ] && [ "$(seen ec2-091 Describe)" -le 20 ]
ok $? "91: one request, one machine, $(seen ec2-091 Describe) polls in three minutes"

# 93: killed between the call and the commit: what is ours is taken over or told of, what is not is not touched.
fresh c093
ec2 e ec2-093 'spot: false'
at 04:55:00 init --no-prices
run prices refresh
expect_exit 0 93
job A100:8
at 04:58:00 tick
run instances -o json
is_machines "93: nothing is known yet"
at 05:00:00 tick
run instances -o json
is_machines "93: i-1 is taken over" us-east-1/i-1
expect_json_near '$.instances[0].price_per_hour' 12.8 1e-9
expect_json_near '$.instances[0].cost' 38.40 1e-6
run events --type machine.orphan -o json
expect_out_has 'i-5' "93: i-5 is told of"
for m in i-2 i-3 i-4; do expect_out_lacks "$m" "93: $m is not ours, or over"; done
! grep -E 'Terminate.*i-(2|3|4|5)' seen/ec2-093
ok $? "93: none of the others is touched"

# 95: out of stock is asked once, and rests; all out is said with its reasons.
fresh c095
for a in A B C; do ec2 "$(echo $a | tr ABC abc)" ec2-095-$a; done
at 12:00:00 init --no-prices
run prices refresh
expect_exit 0 95
job A100:8
at 12:00:10 tick
expect_exit 0 "95: one was had"
run instances -o csv --columns ref
expect_out us-east-1/i-0ff1 "95: the csv says which machine"
run instances -o json
is_machines "95: the second offer" us-east-1/i-0ff1
expect_json_near '$.instances[0].price_per_hour' 13.2 1e-9
[ "$(seen ec2-095-A Run)" -eq 1 ] && [ "$(seen ec2-095-B Run)" -eq 1 ] && [ ! -e seen/ec2-095-C ] || ! grep -q Run seen/ec2-095-C
ok $? "95: A once, B once, C never"
job A100:8
at 12:01:10 tick
[ "$(seen ec2-095-A Run)" -eq 1 ]
ok $? "95: within the hold a second job begins with B"
fresh c095out
: >seen/all-out
rm -f seen/ec2-095-*
for a in A B C; do ec2 "$(echo $a | tr ABC abc)" ec2-095-$a; done
at 13:00:00 init --no-prices
run prices refresh
job A100:8
at 13:00:10 tick
expect_exit 5 "95, all out: the status says to try later"
expect_err_has '1 job.* found no machine now'
for a in A B C; do
	[ "$(seen ec2-095-$a Run)" -eq 1 ]
	ok $? "95, all out: $a once"
done
run job "$id" -o json
expect_json '$.state' queued
run events --type launch.refused -o csv --columns message
[ "$(rows | grep -c 'no_capacity')" -eq 3 ]
ok $? "95, all out: three reasons"
run job "$id"
expect_out_has 'none of 3 offers could be had now' "95, all out: the job says so and waits"
done_testing
