#!/bin/bash
# EC2 live: moto's server with signatures checked, and a fake of ours for what moto does not do.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
. "$TOP_SRCDIR/tests/live/lib.sh"
need 'machines of a live EC2' curl setsid
python=
for p in "${BERTH_PYTHON:-}" "$TOP_SRCDIR/build/venv/bin/python" "$(command -v python3)"; do
	if [ -n "$p" ] && "$p" -c 'import boto3, flask, flask_cors, moto' 2>/dev/null; then
		python=$p
		break
	fi
done
if [ -z "$python" ]; then
	echo 'ok 1 - machines of a live EC2 # SKIP no python with boto3, moto, flask (tests/live/requirements.txt)'
	echo '1..1'
	exit 0
fi
unset "${!AWS_@}"
export PYTHONDONTWRITEBYTECODE=1
trap 'stop moto; stop fake; stop late; rm -rf "$STATE"' EXIT
trap 'exit 99' HUP INT TERM

claim_ports 2
moto=http://127.0.0.1:$port fake=http://127.0.0.1:$((port + 1)) late=http://127.0.0.1:$((port + 2))
me=$(id -un)
start moto "$me" env INITIAL_NO_AUTH_ACTION_COUNT=3 MOTO_EC2_LOAD_DEFAULT_AMIS=true \
	"$python" -c 'import sys; from moto.server import main; main(sys.argv[1:])' -H 127.0.0.1 -p "$port"
echo AKIDFAKE fake-secret >"$STATE/secrets"
start fake "$me" "$python" "$TOP_SRCDIR/tests/live/aws_fake.py" $((port + 1)) "$STATE/secrets"
start late "$me" "$python" "$TOP_SRCDIR/tests/live/aws_fake.py" $((port + 2)) "$STATE/secrets" 1200
wait_for 180 moto curl -s -o /dev/null "$moto/moto-api/"
wait_for 180 fake curl -sf -o /dev/null "$fake/count"
wait_for 180 late curl -sf -o /dev/null "$late/count"
read -r id secret image template subnet_a subnet_b < <("$python" "$TOP_SRCDIR/tests/live/aws_moto.py" setup "$moto")
[ -n "$subnet_b" ] || { cat "$STATE/log/moto.log" >&2; bail 'moto is not ready'; }
echo "$id $secret" >>"$STATE/secrets"
hand() { "$python" "$TOP_SRCDIR/tests/live/aws_moto.py" count "$moto" "$id" "$secret"; }

mkdir -p "$STATE/home/.aws"
printf '[default]\r\naws_access_key_id = %s\r\naws_secret_access_key = %s \r\n\r\n[wrong]\naws_access_key_id = %s\naws_secret_access_key = wrong\n' \
	"$id" "$secret" "$id" >"$STATE/home/.aws/credentials"
printf '[fake]\naws_access_key_id = AKIDFAKE\naws_secret_access_key = fake-secret\n' >>"$STATE/home/.aws/credentials"
account() {	# account NAME PROFILE EC2-URL MORE...: lines of a section
	printf '  - {name: %s, provider: aws, profile: %s, regions: [us-east-1], image: %s, endpoint: "%s"' "$1" "$2" "$image" "$fake"
	printf ', endpoints: {ec2: "%s"}' "$3"
	shift 3
	printf ', %s' "$@"
	printf '}\n'
}
{
	echo accounts:
	account real default "$moto" 'commitments: offerings'
	account wrong wrong "$moto" 'spot: true'
	account fleet default "$moto" "launch_template: $template" "subnets: [$subnet_a, $subnet_b]" | sed "s/image: $image, //"
	account api fake "$fake" 'spot_advisor: true'
	account json fake "$fake" 'prices: json'
	account csv fake "$fake" 'prices: csv'
	account late fake "$late" 'spot: false' | sed "s|endpoint: \"$fake\"|endpoint: \"$late\"|"
} >"$STATE/home/berth.yaml"

prov() {	# prov ACCOUNT CALL...: output in $STATE/out
	"$TOP_BUILDDIR/tests/live/prov" "$STATE/home/berth.yaml" "$@" >"$STATE/out" 2>"$STATE/err" </dev/null
	status=$?
}
has() { grep -qE -- "$1" "$STATE/out"; }
count() { curl -sf "$fake/count" | tr -d ' "{}'; }

# moto: signatures are checked, machines are kept
prov wrong list
has '^error auth .*(AuthFailure|SignatureDoesNotMatch)'
ok $? 'a wrong secret is refused, and that is said'
prov real offers
has '^us-east-1 us-east-1[a-f] g4dn.xlarge T4 x1 spot 0.0000' || has '^us-east-1 us-east-1[a-f] g4dn.xlarge T4 x1 spot'
ok $? "moto's spot prices"
has '^us-east-1 - p4d.24xlarge A100-SXM4-40GB x8 on_demand 21.9576 unknown 96 1152'
ok $? "moto's types with the fake's prices"
prov real launch tok-1 us-east-1 - g4dn.xlarge on_demand
one=$(cut -d' ' -f1 "$STATE/out")
has '^us-east-1/i-[0-9a-f]+ tok-1 (pending|ready) ok .* g4dn.xlarge on_demand'
ok $? 'a machine on demand'
prov real launch tok-2 us-east-1 us-east-1b p4d.24xlarge spot
two=$(cut -d' ' -f1 "$STATE/out")
has '^us-east-1/i-[0-9a-f]+ tok-2 (pending|ready) ok us-east-1b p4d.24xlarge spot'
ok $? 'a spot machine in a zone'
[ "$(hand)" = '2 inst/tok-1 inst/tok-2' ]
ok $? "boto3 sees both, tagged ($(hand))"
prov real list
[ "$(cut -d' ' -f2 "$STATE/out" | sort | tr '\n' ' ')" = 'tok-1 tok-2 ' ]
ok $? 'both are listed as ours'
PROV_INSTALLATION=somebody prov real list
[ ! -s "$STATE/out" ]
ok $? 'and as nobody else'"'"'s'
prov real status "$two"
has '^us-east-1/i-[0-9a-f]+ tok-2 ready ok us-east-1b p4d.24xlarge spot [0-9.]+'
ok $? 'state of one'
prov real destroy "$one"
has ' (ending|gone) ok '
ok $? 'destroyed'
prov real destroy "$two"
[ "$(hand)" = '0 ' ]
ok $? 'none is left up'
prov real status us-east-1/i-00000000000000000
has '^error not_found '
ok $? 'one that never was'
prov real notices
[ "$status" -eq 0 ]
ok $? "interruption notices: moto's spot requests"
prov fleet launch tok-3 us-east-1 - g4dn.xlarge on_demand
has '^us-east-1/i-[0-9a-f]+ tok-3 pending ok .* g4dn.xlarge on_demand' && [ "$(hand)" = '1 inst/tok-3' ]
ok $? 'a fleet over two subnets'
prov fleet destroy "$(cut -d' ' -f1 "$STATE/out")"
prov wrong quota
has '^error auth '
ok $? 'quotas with a wrong secret'

# the fake: what moto does not do
prov api offers
cp "$STATE/out" "$STATE/api"
has '^us-east-1 us-east-1a g6.xlarge L4 x1 spot 0.3000' && ! has 'us-east-1a g6.xlarge L4 x1 spot 0.2900' && has 'us-east-1b g6.xlarge L4 x1 spot 0.3500'
ok $? 'the spot price in force, by zone'
[ "$(grep -c on_demand "$STATE/out")" = 6 ] && has '^us-east-1 - g4dn.xlarge T4 x1 on_demand 0.5260' && ! has '0\.5580|1\.1900|3\.1000'
ok $? 'six on-demand prices: no dedicated, Windows, licensed or waiting row'
has '^us-east-1 - g4dn.metal T4 x8 on_demand 7.8240'
ok $? 'bare metal, whose rows are dedicated ones by another family'
has '^us-east-1 - g6.xlarge L4 x1 reserved 0.0000'
ok $? 'a savings plan paid upfront'
PROV_JSON=1 prov api offers
grep -q '"zone":"us-east-1a".*"interruption_rate":0.0001067' "$STATE/out"
ok $? '7.5 % a month is 0.0001067 an hour'
grep '"instance_type":"g5.xlarge"' "$STATE/out" | grep '"purchase":"spot"' | grep -q '"interruption_rate":null'
ok $? 'over 20 % a month is open above: unknown, not a low rate'
for f in json csv; do
	prov $f offers
	[ "$(grep 'on_demand.*[0-9]$' "$STATE/out" | sort)" = "$(grep on_demand "$STATE/api" | sort)" ] && has on_demand
	ok $? "the same prices out of the bulk list, $f"
	has 'g4dn.xlarge T4 x1 on_demand 0.5580 .* dedicated$' && has 'g5.xlarge .* 1.1900 .* windows$' && has 'g6.xlarge .* 3.1000 .* licensed$'
	ok $? "what is no plain machine stands under its kind, $f"
done
prov api quota
[ "$(cat "$STATE/out")" = 'us-east-1|L-417A185B Running On-Demand P instances|vcpu|192|nan
us-east-1|L-3819A6DF All G and VT Spot Instance Requests|vcpu|64|nan' ]
ok $? 'quotas, over three pages'
prov api notices
has '^us-east-1/i-5 t5 noticed .* spot .*ends' && [ "$(wc -l <"$STATE/out")" = 1 ]
ok $? 'a notice'
prov api check
has '^ec2:RunInstances\|ok\|$' && has '^ec2:RunInstances \(spot\)\|ok\|$'
ok $? 'may launch, asked by DryRun'
prov api launch a-1 us-east-1 - p4d.24xlarge on_demand
has '^error no_capacity .*InsufficientInstanceCapacity'
ok $? 'no capacity, though it comes as a 500'
prov api launch a-2 us-east-1 - p5.48xlarge on_demand
has '^error quota .*VcpuLimitExceeded'
ok $? 'over the quota'
prov api launch a-3 us-east-1 - g4dn.xlarge on_demand
has '^us-east-1/i-[0-9a-f]+ a-3 ' && [[ $(count) == up:1,made:1,* ]]
ok $? "an answer lost: asked again with the same token, one machine ($(count))"
ref=$(cut -d' ' -f1 "$STATE/out")
prov api launch a-3 us-east-1 - g5.xlarge on_demand
has '^error permanent .*IdempotentParameterMismatch'
ok $? 'the same token for something else'
prov api status "$ref"
has '^error not_found .*InvalidInstanceID.NotFound'
ok $? 'not found just after a create'
prov api status "$ref"
prov api status "$ref"
has ' ready ok '
ok $? 'and found then'
prov api launch a-4 us-east-1 - g5.xlarge on_demand
prov api launch a-5 us-east-1 - g5.xlarge on_demand
has '^error no_capacity '
ok $? 'room for one'
prov api list
[ "$(cut -d' ' -f2 "$STATE/out" | sort | tr '\n' ' ')" = 'a-3 a-4 ' ]
ok $? 'listed, one a page'
sed 's/^\([^ ]*\) a-4 ready /\1 a-4 noticed /' "$STATE/out" | cut -d' ' -f1-4 >"$STATE/want"
prov api watch
cut -d' ' -f1-4 "$STATE/out" | cmp -s - "$STATE/want" && has ' a-4 noticed ok ' && has ' a-3 ready ok '
ok $? 'a notice, put onto its machine'
for r in $(cut -d' ' -f1 "$STATE/out"); do
	prov api destroy "$r"
done
[[ $(count) == up:0,* ]]
ok $? "none left ($(count))"
prov api launch a-6 us-east-1 us-east-1a g6.xlarge spot
has '^error no_capacity .*came on demand and was ended' && [[ $(count) == up:0,made:3,* ]]
ok $? "spot asked, on demand given: ended at once ($(count))"
prov api destroy us-east-1/i-1
has ' gone ok '
ok $? 'destroying one that is not there'
prov late list
[ "$status" -eq 0 ] && [ ! -s "$STATE/out" ]
ok $? 'a clock 20 minutes off is corrected by the Date of the refusal'
done_testing
