#!/bin/bash
# Machines of a live Kubernetes (etcd, API server, controllers, scheduler; hollow nodes with accelerators): list, create, find,
# destroy, quota, no room, images, preemption, lost nodes, rights. make check-kubernetes runs it; it builds the servers from
# Debian's source at the first start, which takes minutes, and installs what is missing as root.
#
# KUBERNETES_TESTBED names the folder of a testbed that is up already; else one is started and taken away again.
# KUBERNETES_TESTBED_BIN keeps the built programs.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
. "$TOP_SRCDIR/tests/live/lib.sh"
bed=${KUBERNETES_TESTBED:-}
mine=
down() {
	[ -z "$mine" ] || "$TOP_SRCDIR/tests/live/testbed/kubernetes-down" --wipe-all "$mine" >&2
	rm -rf "$STATE"
}
trap down EXIT
trap 'exit 99' HUP INT TERM
if [ -z "$bed" ]; then
	bed=$STATE/bed mine=$bed
	claim_ports 5
	export KUBERNETES_TESTBED_PORT="${KUBERNETES_TESTBED_PORT:-$port}"
	"$TOP_SRCDIR/tests/live/testbed/kubernetes-up" "$bed" >"$STATE/log/up.log" || bail "kubernetes-up, see $STATE/log/up.log"
fi
conf=$STATE/home/.config/berth/berth.yaml
mkdir -p "${conf%/*}"
account() {	# account NAME KUBECONFIG MORE
	cat >>"$conf" <<EOF
  - name: $1
    provider: kubernetes
    kubeconfig: $bed/$2
    image: images.invalid/team/train:1
    queue_wait: 4s
$3
EOF
}
echo 'accounts:' >"$conf"
account lab kubeconfig '    priority_class: broker-normal
    spot_priority_class: broker-spot
    prices:
      - {accelerator: A100*, purchase: on_demand, price_per_gpu_hour: 1.5}
      - {accelerator: A100*, purchase: spot, price_per_gpu_hour: 0.5}'
account cert kubeconfig-cert ''
account small kubeconfig '    context: broker-small'
account limited kubeconfig-limited ''
account said kubeconfig-limited '    shapes: [{count: 1, product: NVIDIA-L40S, vcpus: 4, memory_gib: 16}]'
cat >>"$conf" <<EOF
  - name: pod
    provider: kubernetes
    in_cluster: $bed/serviceaccount
    namespace: broker
EOF

prov() {	# prov CALL...: its output in $STATE/out
	"$TOP_BUILDDIR/tests/live/prov" "$conf" "$@" >"$STATE/out" 2>"$STATE/err" </dev/null
	status=$?
}
state_of() {
	prov "$1" status "$2"
	cut -d' ' -f3,4 "$STATE/out"
}
becomes() {	# becomes ACCOUNT REF STATE: within 40 s
	local end=$((SECONDS + 40))
	until [ "$(state_of "$1" "$2")" = "$3" ]; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}
gone() {	# gone ACCOUNT REF: within 60 s, its pod too
	local end=$((SECONDS + 60))
	until prov "$1" status "$2" && grep -q '^error not_found' "$STATE/out"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}
a100=nvidia.com/gpu:8@NVIDIA-A100-SXM4-80GB l40s=nvidia.com/gpu:4@NVIDIA-L40S

prov lab offers
grep -qx 'us-east-1 us-east-1a nvidia.com/gpu:8@NVIDIA-A100-SXM4-80GB A100-SXM4-80GB x8 on_demand 12.0000 yes 86.121 1033.85' "$STATE/out" &&
	grep -q 'us-east-1b nvidia.com/gpu:8@NVIDIA-A100-SXM4-80GB A100-SXM4-80GB x8 spot 4.0000 yes' "$STATE/out" &&
	! grep -q 'us-east-1b .* on_demand' "$STATE/out" && grep -q 'aws.amazon.com/neuron:16@trn1.32xlarge Trainium1 x16 ' "$STATE/out" &&
	grep -q 'google.com/tpu:4@tpu-v5-lite-podslice TPU v5e x4 spot ' "$STATE/out" && grep -q "$l40s L40S x4 on_demand - yes" "$STATE/out"
ok $? 'accelerators of three vendors, spot by the labels of nodes'
prov cert offers
[ "$(grep -c on_demand "$STATE/out")" = 12 ]
ok $? 'the same by a client certificate'
url=$(sed -n 's,.*server: https://,,p' "$bed/kubeconfig" | tr -d '"')
KUBERNETES_SERVICE_HOST=${url%:*} KUBERNETES_SERVICE_PORT=${url#*:} prov pod offers
[ "$(grep -c on_demand "$STATE/out")" = 12 ]
ok $? 'and as a pod does'
prov limited offers
[ $status -eq 1 ] && grep -q "^error auth .*nodes may not be listed: name what there is by 'shapes'" "$STATE/out"
ok $? 'an account that may not list nodes is told what to do'
prov said offers
grep -qx 'own - nvidia.com/gpu:1@NVIDIA-L40S L40S x1 on_demand - unknown 4 16' "$STATE/out"
ok $? 'and offers what it says'
prov small quota
grep -qx 'own|gpus requests.nvidia.com/gpu|gpu|8|0' "$STATE/out" && grep -qx 'own|gpus count/jobs.batch|machine|4|0' "$STATE/out"
ok $? 'quotas of the namespace'

prov lab check
grep -qx 'create jobs.batch|ok|' "$STATE/out" && [ "$(grep -c '|ok|$' "$STATE/out")" = 7 ]
ok $? 'the rights that it needs'
prov limited check
grep -q '^list nodes of the cluster|auth|not allowed' "$STATE/out" && grep -qx 'create jobs.batch|ok|' "$STATE/out"
ok $? 'and those that another account lacks'

prov lab create one us-east-1a $a100 on_demand
becomes lab berth-one 'ready ok' && grep -qE ' 10\.[0-9.]+ \| Running' "$STATE/out"
ok $? 'a machine, ready at its address'
prov lab create one us-east-1a $a100 on_demand
[ $status -eq 0 ] && grep -q '^berth-one ' "$STATE/out" && prov lab list && [ "$(wc -l <"$STATE/out")" = 1 ] &&
	grep -q '^berth-one one ready ok us-east-1a ' "$STATE/out"
ok $? 'the same token is the same machine; found by it'
PROV_INSTALLATION=other prov lab list
[ $status -eq 0 ] && [ ! -s "$STATE/out" ]
ok $? 'to another installation it is not there'
prov lab offers
grep -q 'us-east-1a nvidia.com/gpu:1@NVIDIA-A100-SXM4-80GB A100-SXM4-80GB x1 on_demand 1.5000 no ' "$STATE/out"
ok $? 'its GPUs are not free any more'

prov lab create two us-east-1a $a100 on_demand
becomes lab berth-two 'failed no_capacity' && grep -q 'no node has that much free: 0/5 nodes' "$STATE/out"
ok $? "no room is told, with the scheduler's words"
prov said create three - nvidia.com/gpu:1@NVIDIA-L40S on_demand
becomes said berth-three 'ready ok'
ok $? 'an account of one namespace makes machines'
PROV_IMAGE=images.invalid/missing:1 prov lab create four us-east-1a nvidia.com/gpu:1@NVIDIA-L40S on_demand
becomes lab berth-four 'failed permanent' && grep -qE 'ImagePullBackOff|ErrImagePull' "$STATE/out"
ok $? 'an image that cannot be pulled'
prov small create q1 us-east-1b $a100 spot
prov small create q2 us-east-1a nvidia.com/gpu:1@NVIDIA-L40S on_demand
becomes small berth-q2 'failed quota' && grep -q 'exceeded quota: gpus' "$STATE/out"
ok $? 'a quota that lets the Job be made and refuses its pod'
prov small list
grep -q '^berth-q2 q2 failed quota ' "$STATE/out"
ok $? 'and the list tells it too'
for i in 3 4; do
	prov small create q$i us-east-1a nvidia.com/gpu:1@NVIDIA-L40S on_demand
	[ $status -eq 0 ] || echo "# q$i: $(cat "$STATE/out")"
done
end=$((SECONDS + 40))		# the cluster counts a little behind what it was asked for
until prov small quota && grep -qx 'own|gpus count/jobs.batch|machine|4|4' "$STATE/out"; do
	[ $SECONDS -lt $end ] || { sed 's/^/# /' "$STATE/out"; break; }
	sleep 0.5
done
prov small create q5 us-east-1a nvidia.com/gpu:1@NVIDIA-L40S on_demand
[ $status -eq 5 ] && grep -q '^error quota .*count/jobs.batch' "$STATE/out"
ok $? 'a quota on Jobs is refused at once, and is no missing right'
for i in 1 2 3 4 5; do prov small destroy berth-q$i; done
gone small berth-q1 && gone small berth-q2
ok $? 'gone, pods too'

# berth-one holds zone a; a spot machine in zone b gives way to one of more priority
prov lab create low us-east-1b $a100 spot
becomes lab berth-low 'ready ok'
# fill zone b by a pod of higher priority through the same account's class
sed -e 's/priority_class: broker-normal/priority_class: broker-normal/' -e 's/spot_priority_class: broker-spot/spot_priority_class: broker-normal/' \
	"$conf" >"$STATE/high.yaml"
"$TOP_BUILDDIR/tests/live/prov" "$STATE/high.yaml" lab create high us-east-1b $a100 spot >"$STATE/out"
seen=
for i in $(seq 60); do
	prov lab status berth-low
	seen="$seen $(cut -d' ' -f3 "$STATE/out")"
	grep -q 'preempted \(ends \)\?|' "$STATE/out" && break
	sleep 0.5
done
grep -q 'preempted' "$STATE/out"
ok $? "a machine that gives way is told as preempted:$(echo "$seen" | tr ' ' '\n' | uniq | tr '\n' ' ')"
becomes lab berth-high 'ready ok'
ok $? 'and the other one runs'
prov lab destroy berth-low
prov lab destroy berth-high
gone lab berth-high

touch "$bed/down-a100-1"
lost=1
for i in $(seq 80); do
	prov lab status berth-one
	grep -qE '^berth-one one failed failed .*(does not answer|its node is lost|preempted)' "$STATE/out" && { lost=0; break; }
	sleep 0.5
done
ok $lost "a lost node: $(sed 's/.*| //' "$STATE/out")"
prov lab notices
grep -q '^berth-one ' "$STATE/out"
ok $? 'is among the notices'
rm -f "$bed/down-a100-1"

for m in one two four; do prov lab destroy berth-$m; done
prov said destroy berth-three
end=$((SECONDS + 60))
until prov lab list && [ ! -s "$STATE/out" ]; do [ $SECONDS -lt $end ] || break; sleep 0.5; done
[ $status -eq 0 ] && [ ! -s "$STATE/out" ]
ok $? 'nothing is left'
sed 's/token: .*/token: forged/' "$bed/kubeconfig" >"$STATE/forged"
sed "s,$bed/kubeconfig\$,$STATE/forged," "$conf" >"$STATE/forged.yaml"
"$TOP_BUILDDIR/tests/live/prov" "$STATE/forged.yaml" lab list >"$STATE/out"
grep -q '^error auth .*HTTP 401' "$STATE/out"
ok $? 'a forged token'
cp "$conf" "$STATE/all.yaml"
sed -n '1,/^  - name: cert/p' "$STATE/all.yaml" | sed '$d' >"$conf"
run prices refresh -o json
[ $status -eq 0 ] && [ "$(json '$.providers[0].offers')" -gt 20 ]
ok $? 'berth prices refresh'
run prices list --gpu A100:8 -o json
[ "$(json '$.offers[0].price_per_hour' | cut -c1-4)" = 4.00 ]
ok $? 'berth prices list'
done_testing
