#!/bin/bash
# berth doctor against accounts of which each has one thing wrong: rights, keys, clock, certificate, address; moto's EC2
# checks the signatures and the policies of its users.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
. "$TOP_SRCDIR/tests/live/lib.sh"
need 'doctor of a live EC2' curl setsid openssl python3
python=
for p in "${BERTH_PYTHON:-}" "$TOP_SRCDIR/build/venv/bin/python" "$(command -v python3)"; do
	if [ -n "$p" ] && "$p" -c 'import boto3, flask, flask_cors, moto' 2>/dev/null; then
		python=$p
		break
	fi
done
if [ -z "$python" ]; then
	echo 'ok 1 - doctor of a live EC2 # SKIP no python with boto3, moto, flask (tests/live/requirements.txt)'
	echo '1..1'
	exit 0
fi
unset "${!AWS_@}"
export PYTHONDONTWRITEBYTECODE=1
trap 'stop moto; stop fake; stop late; stop tls; rm -rf "$STATE"' EXIT
trap 'exit 99' HUP INT TERM

claim_ports 3
me=$(id -un)
moto=http://127.0.0.1:$port fake=http://127.0.0.1:$((port + 1)) late=http://127.0.0.1:$((port + 2)) tls=https://127.0.0.1:$((port + 3))
start moto "$me" env INITIAL_NO_AUTH_ACTION_COUNT=6 MOTO_EC2_LOAD_DEFAULT_AMIS=true \
	"$python" -c 'import sys; from moto.server import main; main(sys.argv[1:])' -H 127.0.0.1 -p "$port"
echo AKIDFAKE fake-secret >"$STATE/secrets"
start fake "$me" "$python" "$TOP_SRCDIR/tests/live/aws_fake.py" $((port + 1)) "$STATE/secrets"
start late "$me" "$python" "$TOP_SRCDIR/tests/live/aws_fake.py" $((port + 2)) "$STATE/secrets" 1200
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other.example -keyout "$STATE/key.pem" -out "$STATE/cert.pem" 2>/dev/null
cat >"$STATE/tls.py" <<'EOF'
import http.server, ssl, sys
server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
EOF
start tls root python3 "$STATE/tls.py" $((port + 3)) "$STATE/cert.pem" "$STATE/key.pem"
wait_for 180 moto curl -s -o /dev/null "$moto/moto-api/"
wait_for 180 fake curl -sf -o /dev/null "$fake/count"
wait_for 180 late curl -sf -o /dev/null "$late/count"
wait_for 180 tls curl -sk -o /dev/null "$tls/"

# a user who may do all, and one who may only look; the first six calls need no signature
"$python" - "$moto" >"$STATE/users" <<'EOF'
import json, sys, boto3
def client(service, key='free', secret='free'):
    return boto3.client(service, endpoint_url=sys.argv[1], region_name='us-east-1', aws_access_key_id=key, aws_secret_access_key=secret)
iam, keys = client('iam'), {}
for name, actions in (('full', ['*']), ('reader', ['ec2:DescribeInstances', 'ec2:DescribeInstanceTypes'])):
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName='p', PolicyDocument=json.dumps({'Version': '2012-10-17', 'Statement': [
        {'Effect': 'Allow', 'Action': actions, 'Resource': '*'}]}))
    keys[name] = iam.create_access_key(UserName=name)['AccessKey']
    print(name, keys[name]['AccessKeyId'], keys[name]['SecretAccessKey'])
ec2 = client('ec2', keys['full']['AccessKeyId'], keys['full']['SecretAccessKey'])
print('image', ec2.describe_images(Owners=['amazon'])['Images'][0]['ImageId'], '-')
EOF
user() { awk -v name="$1" -v field="$2" '$1 == name { print $field }' "$STATE/users"; }
export FULL_ID FULL_KEY READER_ID READER_KEY FAKE_ID=AKIDFAKE FAKE_KEY=fake-secret WRONG_KEY=wrong-SECRET
FULL_ID=$(user full 2) FULL_KEY=$(user full 3) READER_ID=$(user reader 2) READER_KEY=$(user reader 3) image=$(user image 2)
[ -n "$image" ] || { cat "$STATE/log/moto.log" >&2; bail 'moto is not ready'; }
printf '%s %s\n%s %s\n' "$FULL_ID" "$FULL_KEY" "$READER_ID" "$READER_KEY" >>"$STATE/secrets"

account() {	# account NAME USER KEYS...: a line of accounts
	printf '  - {name: %s, provider: aws, regions: [us-east-1], image: %s, access_key_id: "env:%s", secret_access_key: "env:%s", %s}\n' \
		"$1" "$image" "$2_ID" "$3_KEY" "$4"
}
mkdir -p "$HOME/.config/berth"
{
	echo accounts:
	account full FULL FULL "endpoint: '$fake', endpoints: {ec2: '$moto'}"
	account reader READER READER "endpoint: '$fake', endpoints: {ec2: '$moto'}"
	account no-quota READER READER "endpoint: '$fake', endpoints: {ec2: '$moto', servicequotas: '$moto'}"
	account wrong FULL WRONG "endpoint: '$moto'"
	account unset NONE NONE "endpoint: '$fake'"
	account nobody FAKE FAKE "endpoint: 'http://127.0.0.1:1'"
	account self-signed FAKE FAKE "endpoint: '$tls'"
	account other-name FAKE FAKE "endpoint: '$tls', ca_file: '$STATE/cert.pem'"
	account late FAKE FAKE "endpoint: '$late'"
} >"$HOME/.config/berth/berth.yaml"

run init --no-prices
made=$(curl -sf "$fake/count")
run doctor
[ "$status" -eq 1 ]
ok $? 'what fails is told by the status'
says() {	# says STATE ACCOUNT WORDS NEXT: a line of the account, and the next step under it
	grep -E -A1 "^$1 +account $2: .*$3" "$STATE/out" | grep -qE "next: .*$4"
	ok $? "$2: $1, $3; next: $4"
}
lacks() {
	! grep -qE "account $1: .*$2" "$STATE/out"
	ok $? "$1: nothing of $2"
}
grep -qE '^ok +account full: aws: answers in [0-9]+ ms, 8 permissions; 2 quotas, none of them used up$' "$STATE/out"
ok $? 'full: all is well'
says warn reader 'may not: ec2:RunInstances: .*not authorized' 'give the account this permission'
says warn reader 'may not: ec2:DescribeSpotPriceHistory: ' 'give the account this permission'
lacks reader 'may not: ec2:DescribeInstances'
grep -qE '^ok +account reader: aws: answers in [0-9]+ ms, 4 permissions' "$STATE/out"
ok $? 'reader: counts what it may'
says warn no-quota 'its quotas may not be read: .*servicequotas:ListServiceQuotas' 'give the account this permission'
says warn no-quota 'may not: ec2:RunInstances: ' 'give the account this permission'
says fail wrong 'its credentials are refused: .*SignatureDoesNotMatch' 'renew them'
says fail unset 'the environment has no NONE_ID' 'put the credentials'
says fail nobody "it cannot be reached: .*\\(http://127.0.0.1:1/\\)" 'check endpoint, proxy and the network'
says fail self-signed "certificate is not trusted: .*self-signed" 'set ca_file'
says fail other-name "certificate is not trusted: .*other.example" 'set ca_file'
says fail late 'its clock is (119|120)[0-9] s ahead of' 'set this machine'"'"'s clock'
says warn full 'no prices of it yet' 'berth prices refresh --account full'
for a in wrong nobody self-signed; do
	lacks $a 'no prices of it yet'
done
! grep -qE 'SECRET|fake-secret' "$STATE/out" "$STATE/err" && ! grep -qF -e "$FULL_KEY" "$STATE/out" "$STATE/err"
ok $? 'no key is printed'
[ "$(curl -sf "$fake/count")" = "$made" ]
ok $? 'nothing was made or asked to be made'
run prices refresh --account full
run --now "$(date -u -d '+3 days' +%Y-%m-%dT%H:%M:%SZ)" --offline doctor
says warn full 'its prices are 7[12] hours old' 'berth prices refresh --account full'
done_testing
