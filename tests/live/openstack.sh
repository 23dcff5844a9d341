#!/bin/bash
# Machines of a live OpenStack (keystone, nova, placement, glance): list, create, find, destroy, quota, no room, tokens.
# make check-openstack runs it; it installs what is missing as root, and takes two minutes at the first start.
#
# OPENSTACK_TESTBED names the folder of a testbed that is up already; else one is started and taken away again.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
. "$TOP_SRCDIR/tests/live/lib.sh"
bed=${OPENSTACK_TESTBED:-}
mine=
down() {
	[ -z "$mine" ] || "$TOP_SRCDIR/tests/live/testbed/openstack-down" --wipe "$mine" >&2
	rm -rf "$STATE"
}
trap down EXIT
trap 'exit 99' HUP INT TERM
if [ -z "$bed" ]; then
	bed=$STATE/bed mine=$bed
	claim_ports 8
	export OS_TESTBED_PORT="${OS_TESTBED_PORT:-$port}"
	"$TOP_SRCDIR/tests/live/testbed/openstack-up" "$bed" >"$STATE/log/up.log" || bail "openstack-up, see $STATE/log/up.log"
fi
tokens_live() {	# tokens_live SECONDS: keystone reads it when it starts; nova's own calls need tokens that last
	local pid
	read -r pid _ <"$bed/pids/keystone"
	kill "$pid"
	while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
	OS_TESTBED_TOKEN_SECONDS=$1 "$TOP_SRCDIR/tests/live/testbed/openstack-up" "$bed" >"$STATE/log/up.log" ||
		bail "openstack-up, see $STATE/log/up.log"
}
. "$bed/openrc"
url=$OS_AUTH_URL project=$OS_PROJECT_NAME user=$OS_USERNAME
export OS_LAB_PASSWORD=$OS_PASSWORD
unset OS_AUTH_URL OS_USERNAME OS_PASSWORD OS_PROJECT_NAME OS_USER_DOMAIN_NAME OS_PROJECT_DOMAIN_NAME OS_REGION_NAME
conf=$STATE/home/.config/berth/berth.yaml
mkdir -p "${conf%/*}"
cat >"$conf" <<EOF
accounts:
  - name: lab
    provider: openstack
    auth_url: $url
    username: $user
    password: env:OS_LAB_PASSWORD
    project_name: $project
    image: tiny
    network: none
    accelerators: {a100: A100-SXM4-80GB, VGPU: A100-SXM4-80GB}
    prices:
      - {instance_type: 'gpu.a100.*', price_per_gpu_hour: 1.25}
      - {accelerator: l40s, cost: {capital: 73000, life_months: 50, utilisation: 0.5}, accelerator_count: 4}
  - name: small
    provider: openstack
    auth_url: $url
    username: $user
    password: env:OS_LAB_PASSWORD
    project_name: broker-small
    image: tiny
    network: none
    prices:
      - {price_per_gpu_hour: 9}
EOF
cat >"$STATE/env.yaml" <<'EOF'
accounts:
  - {name: env, provider: openstack, image: tiny, network: none}
EOF

file=$conf
prov() {	# prov CALL...: its output in $STATE/out
	"$TOP_BUILDDIR/tests/live/prov" "$file" "$@" >"$STATE/out" 2>"$STATE/err" </dev/null
	status=$?
}
state_of() {
	prov "$1" status "$2"
	cut -d' ' -f3,4 "$STATE/out"
}
becomes() {	# becomes ACCOUNT REF STATE: within three minutes, on a machine that has other work
	local end=$((SECONDS + 180))
	until [ "$(state_of "$1" "$2")" = "$3" ]; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}
gone() {	# gone ACCOUNT REF: within three minutes
	local end=$((SECONDS + 180))
	until prov "$1" status "$2" && { [ $status -ne 0 ] || grep -q ' gone ' "$STATE/out"; }; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
	grep -qE 'not_found| gone ' "$STATE/out"
}
ref() { cut -d' ' -f1 "$STATE/out"; }

prov lab offers
grep -qx 'RegionOne - gpu.a100.8 A100-SXM4-80GB x8 on_demand 10.0000 unknown 96 960' "$STATE/out" &&
	grep -qx 'RegionOne - gpu.l40s.1 L40S x1 on_demand 1.0000 unknown 16 128' "$STATE/out" &&
	grep -qx 'RegionOne - vgpu.a100.1 A100-SXM4-80GB x1 on_demand - unknown 4 32' "$STATE/out" && ! grep -q cpu.small "$STATE/out"
ok $? 'flavours with accelerators'
(. "$bed/openrc-admin" && file=$STATE/env.yaml && prov env offers)
grep -q 'vgpu.a100.1 VGPU x1 on_demand - yes 4 32' "$STATE/out" && grep -q 'gpu.a100.8 A100 x8 on_demand - unknown 96 960' "$STATE/out"
ok $? 'placement, where it may be asked, tells what fits; of PCI devices it knows nothing'
(. "$bed/openrc-app" && file=$STATE/env.yaml && prov env quota)
grep -qx 'RegionOne|maxTotalInstances|machine|20|0' "$STATE/out" && grep -q 'RegionOne|maxTotalCores|vcpu|1024|0' "$STATE/out"
ok $? 'quotas, by an application credential of the environment'

prov lab create one - gpu.a100.8 on_demand
one=$(ref)
becomes lab "$one" 'ready ok'
ok $? 'a machine, ready'
prov lab list
grep -q "^$one one ready ok nova gpu.a100.8 " "$STATE/out" && [ "$(wc -l <"$STATE/out")" = 1 ]
ok $? 'found by its token'
PROV_INSTALLATION=other prov lab list
[ $status -eq 0 ] && [ ! -s "$STATE/out" ]
ok $? 'to another installation it is not there'

prov lab create two - gpu.a100.1 on_demand
two=$(ref)
becomes lab "$two" 'failed no_capacity' && grep -q 'No valid host was found' "$STATE/out"
ok $? 'no room is told by the state of what was promised'
prov lab list
grep -q "^$two two failed no_capacity " "$STATE/out"
ok $? 'and by the list, which asks for the fault of each'

touch "$bed/fail-node2"
prov lab create three - gpu.l40s.1 on_demand
three=$(ref)
becomes lab "$three" 'failed no_capacity' && grep -qE 'Exceeded maximum number of retries|No valid host' "$STATE/out"
ok $? 'a node on which every start fails'
rm -f "$bed/fail-node2"

prov small create q1 - gpu.l40s.1 on_demand
q1=$(ref)
prov small create q2 - gpu.l40s.1 on_demand
q2=$(ref)
prov small create q3 - gpu.l40s.1 on_demand
[ $status -eq 5 ] && grep -q '^error quota .*Quota exceeded' "$STATE/out"
ok $? 'a quota, refused at once'
prov small quota
grep -qx 'RegionOne|maxTotalInstances|machine|2|2' "$STATE/out"
ok $? 'a quota in use'

prov lab create bad - gpu.a100.9 on_demand
[ $status -eq 2 ]
ok $? 'a flavour that is not there is no offer'
sed 's/image: tiny/image: nope/' "$conf" >"$STATE/other.yaml"
file=$STATE/other.yaml
prov lab create bad - gpu.l40s.1 on_demand
grep -q "^error permanent .*image 'nope'" "$STATE/out"
ok $? 'an image that is not there'
file=$conf
OS_LAB_PASSWORD=wrong prov lab list
[ $status -eq 1 ] && grep -q '^error auth ' "$STATE/out"
ok $? 'a wrong password'

if [ -n "$mine" ]; then
	tokens_live 20
	prov lab twice 22
	[ $status -eq 0 ] && [ "$(grep -c "^$one one ready" "$STATE/out")" = 2 ]
	ok $? 'a token that ended is made anew'
	tokens_live 3600
fi

for r in $one $two $three; do
	prov lab destroy "$r"
	[ $status -eq 0 ] || break
done
ok $status 'destroyed'
prov lab destroy "$one"
ok $status 'again: no harm'
gone lab "$one" && gone lab "$two" && gone lab "$three"
ok $? 'gone'
prov small destroy "$q1"
prov small destroy "$q2"
gone small "$q1" && gone small "$q2"
prov lab list
[ ! -s "$STATE/out" ]
ok $? 'nothing is left'
run prices refresh -o json
[ $status -eq 0 ] && [ "$(json '$.providers[0].offers')" = 5 ] && [ "$(json '$.providers[1].offers')" = 5 ]
ok $? 'berth prices refresh'
run prices list --gpu A100:8 -o json
[ "$(json '$.offers[0].price_per_hour' | cut -c1-5)" = 10.00 ]
ok $? 'berth prices list'
done_testing
