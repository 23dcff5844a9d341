#!/bin/sh
# berth doctor of an account of every adapter: without credentials, with nobody at the address, with credentials that are
# refused, and what is answered on this machine: files, commands, ssh.
. "$TOP_SRCDIR/tests/cli/lib.sh"

unset SSH_AUTH_SOCK KUBECONFIG SLURM_JWT NONE_K
export K=key-SECRET-71
mkdir -p .config/berth
accounts() {	# accounts ENDPOINT KEY: one of each that is asked over the wire
	cat >.config/berth/berth.yaml <<-YAML
	accounts:
	  - {name: lambda, provider: lambda, api_key: 'env:$2', endpoint: '$1'}
	  - {name: aws, provider: aws, regions: [us-east-1], access_key_id: 'env:$2', secret_access_key: 'env:$2', endpoint: '$1'}
	  - {name: gcp, provider: gcp, project: p, credentials: 'file:adc.json', endpoint: '$1', quotas_endpoint: '$1', resources_endpoint: '$1'}
	  - {name: azure, provider: azure, locations: [eastus], subscription: 11111111-1111-1111-1111-111111111111, resource_group: r, tenant: t,
	     client_id: c, client_secret: 'env:$2', endpoint: '$1', login_endpoint: '$1'}
	  - {name: oci, provider: oci, tenancy: ocid1.tenancy.oc1..a, user: ocid1.user.oc1..a, fingerprint: 'aa:bb', key: 'file:$2.pem',
	     regions: [eu-frankfurt-1], endpoint: '$1', limits_endpoint: '$1'}
	  - {name: alibaba, provider: alibaba, access_key_id: 'env:$2', access_key_secret: 'env:$2', regions: [eu-central-1], endpoint: '$1'}
	  - {name: tencent, provider: tencent, currency: USD, secret_id: 'env:$2', secret_key: 'env:$2', regions: [eu-frankfurt], endpoint: '$1'}
	  - {name: huawei, provider: huawei, site: international, access_key: 'env:$2', secret_key: 'env:$2', regions: [eu-west-101], endpoint: '$1',
	     iam_endpoint: '$1'}
	  - {name: runpod, provider: runpod, api_key: 'env:$2', endpoint: '$1'}
	  - {name: vast, provider: vast, api_key: 'env:$2', endpoint: '$1'}
	  - {name: digitalocean, provider: digitalocean, api_key: 'env:$2', endpoint: '$1'}
	  - {name: crusoe, provider: crusoe, project: p, access_key: 'env:$2', secret_key: 'env:$2', endpoint: '$1'}
	  - {name: openstack, provider: openstack, cloud: c, clouds_file: clouds-$2.yaml}
	  - {name: slurm, provider: slurm, url: '$1', user: me, token: 'env:$2'}
	  - {name: kubernetes, provider: kubernetes, kubeconfig: kube-$2}
	YAML
	cat >.config/berth/adc.json <<-JSON
	{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "key-SECRET-71", "token_uri": "$1/token"}
	JSON
	echo "clouds: {c: {auth: {auth_url: '$1/v3', username: u, password: key-SECRET-71, project_name: p, user_domain_name: d, project_domain_name: d}}}" \
		>.config/berth/clouds-K.yaml
	echo "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], clusters: [{name: c,
	  cluster: {server: '$1'}}], users: [{name: u, user: {token: key-SECRET-71}}]}" >.config/berth/kube-K
	chmod 600 .config/berth/*
	[ "$2" = K ] || rm .config/berth/adc.json
}
wire='lambda aws gcp azure oci alibaba tencent huawei runpod vast digitalocean crusoe openstack slurm kubernetes'
each() {	# each NAME STATE WORDS NEXT: one line about the account, and the next step under it
	[ "$(grep -c "^[a-z]* *account $1: " "$out")" = 1 ] && grep -E -A1 "^$2 +account $1: $1: .*$3" "$out" | grep -qE "^      next: .*$4"
	ok $? "$1: $2, $3; next: $4"
}

run init --no-prices
accounts http://127.0.0.1:1 NONE_K
run doctor
expect_exit 1
for p in lambda aws azure alibaba tencent huawei runpod vast digitalocean crusoe; do
	each $p fail 'its credentials cannot be had: .*no NONE_K' 'put the credentials'
done
each gcp fail 'its credentials cannot be had: .*adc.json' 'put the credentials'
each oci fail 'its credentials cannot be had: .*NONE_K.pem' 'put the credentials'
each slurm fail 'its credentials cannot be had: .*no NONE_K' 'put the credentials'
each openstack fail 'clouds-NONE_K.yaml: No such file' 'correct the account'
each kubernetes fail 'kube-NONE_K: No such file' 'correct the account'

# the machine's own, where none are set: that is no refusal, and is told once
cat >.config/berth/berth.yaml <<-'YAML'
accounts:
  - {name: gcp, provider: gcp, project: p, metadata_endpoint: 'http://127.0.0.1:1', quotas_endpoint: 'http://127.0.0.1:1'}
  - {name: azure, provider: azure, locations: [eastus], subscription: 11111111-1111-1111-1111-111111111111, resource_group: r,
     imds_endpoint: 'http://127.0.0.1:1', endpoint: 'http://127.0.0.1:1'}
YAML
run doctor
for p in gcp azure; do
	each $p fail 'no credentials are set, and this machine has none of its own' 'put the credentials'
done

command -v openssl >/dev/null && openssl genrsa -out .config/berth/K.pem 2048 2>/dev/null
accounts http://127.0.0.1:1 K
run doctor
for p in $wire; do
	[ "$p" = oci ] && [ ! -s .config/berth/K.pem ] && continue
	each "$p" fail 'it cannot be reached: .*127.0.0.1:1/' 'check endpoint, proxy and the network'
done
! grep -q SECRET "$out" "$err"
ok $? "no key is printed"

if command -v python3 >/dev/null; then
	mkfifo hold
	python3 -c '
import http.server, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b"{\"error\": {\"code\": \"Unauthorized\", \"message\": \"bad key\"}, \"message\": \"bad key\"}"
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = do_PUT = answer
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
' <hold >port 2>/dev/null &
	server=$!
	exec 9>hold
	trap 'exec 9>&-; wait "$server"; rm -rf "$TEST_TMP"' EXIT
	await port "$server"
	accounts "http://127.0.0.1:$(cat port)" K
	fixed=$NOW NOW=$(date -u +%Y-%m-%dT%H:%M:%SZ)	# the server's
	run doctor
	NOW=$fixed
	for p in $wire; do
		[ "$p" = oci ] && [ ! -s .config/berth/K.pem ] && continue
		each "$p" fail 'its credentials are refused: HTTP 401' 'renew them'
	done
	! grep -q SECRET "$out" "$err"
	ok $? "no key is printed of those either"
else
	skip "credentials that are refused" "no python3"
fi

# What answers here. A command's words are told as they are, without a status that nobody sent.
mkdir bin
printf '#!/bin/sh\necho "sacctmgr: error: Could not establish a configuration source" >&2\nexit 1\n' >bin/sacctmgr
chmod +x bin/sacctmgr
echo 'provider,instance_type,accelerator,accelerator_count,purchase,price_per_hour' >.config/berth/empty.csv
cp .config/berth/empty.csv .config/berth/one.csv
echo 'nebula,n1,H100-SXM5-80GB,8,on_demand,20' >>.config/berth/one.csv
cat >.config/berth/berth.yaml <<YAML
accounts:
  - {name: gone, provider: import, files: gone.csv}
  - {name: one, provider: import, files: one.csv}
  - {name: none, provider: import, files: empty.csv}
  - {name: hpc, provider: slurm, bin: '$HOME/bin'}
  - {name: bare, provider: slurm, bin: '$HOME/nowhere'}
  - {name: trace, provider: replay, trace: gone.csv}
  - {name: lab, provider: static, machines: [{name: g1, address: 'nobody@127.0.0.1', accelerator: L40S, price_per_hour: 1},
     {name: g2, address: localhost, accelerator: L40S, price_per_hour: 1}]}
YAML
printf '#!/bin/sh\necho "ssh: connect to host 127.0.0.1 port 22: Connection refused" >&2\nexit 255\n' >bin/ssh
chmod +x bin/ssh
PATH=$HOME/bin:$PATH
run doctor
says() {	# says STATE ACCOUNT WORDS [NEXT]
	grep -E -A1 "^$1 +account $2: $3" "$out" | grep -qE "${4:-.}"
	ok $? "$2: $1, $3"
}
says fail gone 'import: .*gone.csv: No such file' 'next: correct that file'
says ok one 'import: its files can be read; 1 offer$'
says warn none 'import: its files can be read, but hold no offer$' 'next: correct the files'
says fail hpc 'slurm: its commands fail: sacctmgr: error: Could not establish a configuration source$' 'next: run that command by hand'
says fail bare 'slurm: a program that it needs cannot be run: .*nowhere/sacctmgr' 'next: install it, or correct the account'
says fail trace 'replay: .*gone.csv' 'next: correct the account'
says fail lab 'static: machine g1 is not reached by ssh: .*Connection refused$' 'next: .*ssh -o BatchMode=yes nobody@127.0.0.1 true'
says ok lab 'static: 1 of 2 machines reached$'
run --offline doctor
expect_out_lacks 'g1'
done_testing
