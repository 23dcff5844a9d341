#!/bin/bash
# Machines of a live Slurm, by slurmrestd and by its commands: list, create, find, destroy, quota, no room, preemption.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
. "$TOP_SRCDIR/tests/live/lib.sh"
. "$TOP_SRCDIR/tests/live/cluster.sh"
cluster_need 'machines of a live Slurm'
trap cluster_down EXIT
trap 'exit 99' HUP INT TERM
cluster_up

token=$(scontrol token username=$job_user lifespan=3600 | cut -d= -f2)
mkdir -p "$STATE/home/.config/berth"
cat >"$STATE/home/.config/berth/berth.yaml" <<EOF
accounts:
  - name: rest
    provider: slurm
    url: $rest_url
    user: $job_user
    account: broker
    spot_qos: spot
    queue_wait: 3s
    region: cellar
    prices:
      - {accelerator: h100, purchase: on_demand, price_per_gpu_hour: 1.5}
      - {accelerator: h100, purchase: spot, price_per_gpu_hour: 0.5}
  - name: cli
    provider: slurm
    account: broker
    spot_qos: spot
    queue_wait: 3s
    region: cellar
    prices:
      - {accelerator: h100, purchase: on_demand, price_per_gpu_hour: 1.5}
      - {accelerator: h100, purchase: spot, price_per_gpu_hour: 0.5}
EOF
chmod -R a+rX "$STATE/home"

# prov CALL...: as the user of the jobs; its output in $STATE/out
prov() {
	SLURM_JWT=$token setpriv --reuid=$job_user --regid="$(id -g $job_user)" --clear-groups -- \
		"$TOP_BUILDDIR/tests/live/prov" "$STATE/home/.config/berth/berth.yaml" "$@" >"$STATE/out" 2>"$STATE/err" </dev/null
	status=$?
}
state_of() {	# state_of ACCOUNT REF: "ready ok", "failed quota" ...
	prov "$1" status "$2"
	cut -d' ' -f3,4 "$STATE/out"
}
becomes() {	# becomes ACCOUNT REF STATE: within three minutes
	local end=$((SECONDS + 180))
	until [ "$(state_of "$1" "$2")" = "$3" ]; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.3
	done
}
cluster_free() { [ "$(sinfo -h -N -o '%T' | sort -u)" = idle ]; }
ref() { cut -d' ' -f1 "$STATE/out"; }

for a in rest cli; do
	wait_for 180 slurmctld cluster_free
	sacctmgr -i modify qos normal set MaxTRESPU=gres/gpu=5 >>"$STATE/log/sacctmgr.log" 2>&1
	prov $a offers
	grep -qx 'cellar gpu gpu:h100:4 H100 x4 on_demand 6.0000 yes 16 4' "$STATE/out" &&
		grep -qx 'cellar gpu gpu:h100:2 H100 x2 spot 1.0000 yes 8 2' "$STATE/out" &&
		grep -qx 'cellar gpu gpu:l4:1 L4 x1 on_demand - yes 4 1' "$STATE/out" && [ "$(wc -l <"$STATE/out")" = 10 ]
	ok $? "$a: what the cluster has, in its sizes"
	prov $a quota
	grep -qx 'cellar|qos normal MaxTRESPerUser gres/gpu|gpu|5|nan' "$STATE/out"
	ok $? "$a: the limit of the quality of service"

	prov $a create "$a-one" gpu gpu:h100:4 on_demand
	one=$(ref)
	becomes $a "$one" 'ready ok' && grep -q " n1 | RUNNING" "$STATE/out"
	ok $? "$a: a machine, ready at its node"
	prov $a list
	grep -q "^$one $a-one ready " "$STATE/out" && [ "$(grep -vc ' gone ' "$STATE/out")" = 1 ]
	ok $? "$a: found by its token"
	[ "$(scontrol show job "$one" | grep -o 'Requeue=.')" = Requeue=0 ]
	ok $? "$a: never queued again by itself"
	PROV_INSTALLATION=other prov $a list
	[ ! -s "$STATE/out" ]
	ok $? "$a: to another installation it is not there"
	prov $a offers
	grep -qx 'cellar gpu gpu:h100:1 H100 x1 on_demand 1.5000 no 4 1' "$STATE/out"
	ok $? "$a: its GPUs are not free any more"

	prov $a create "$a-full" gpu gpu:h100:1 on_demand
	full=$(ref)
	prov $a create "$a-over" gpu gpu:l4:2 on_demand
	over=$(ref)
	becomes $a "$full" 'failed no_capacity' && grep -q 'no node has that much free (Resources)' "$STATE/out"
	ok $? "$a: no room is told, with the scheduler's reason"
	becomes $a "$over" 'failed quota' && grep -q 'QOSMaxGRESPerUser' "$STATE/out"
	ok $? "$a: a limit is a quota, not a lack of room"
	for r in $full $over; do
		prov $a destroy "$r"
	done
	becomes $a "$full" 'gone ok' && becomes $a "$over" 'gone ok'
	ok $? "$a: both taken back"

	sacctmgr -i modify qos normal set MaxTRESPU=gres/gpu=-1 >>"$STATE/log/sacctmgr.log" 2>&1
	prov $a create "$a-spot" gpu gpu:l4:2 spot
	spot=$(ref)
	becomes $a "$spot" 'ready ok'
	prov $a create "$a-first" gpu gpu:l4:2 on_demand
	first=$(ref)
	becomes $a "$first" 'ready ok' && becomes $a "$spot" 'gone ok' && grep -q ' spot - preempted | preempted' "$STATE/out"
	ok $? "$a: a spot machine that had to go"

	for r in $one $first $spot; do
		prov $a destroy "$r"
	done
	becomes $a "$one" 'gone ok' && becomes $a "$first" 'gone ok' && [ -z "$(squeue -h --state=PENDING,RUNNING)" ]
	ok $? "$a: nothing is left"
	prov $a destroy 999999
	[ $status -eq 0 ] && grep -q ' gone ok ' "$STATE/out"
	ok $? "$a: what was never there is gone"
done

good=$token token=${token%??????}AAAAAA
prov rest list
token=$good
[ $status -eq 1 ] && grep -q '^error auth ' "$STATE/out"
ok $? 'a forged token is refused as such'
export SLURM_JWT=$token
run prices refresh -o json
[ $status -eq 0 ] && [ "$(json '$.providers[0].offers')" = 10 ] && [ "$(json '$.providers[1].offers')" = 10 ]
ok $? 'berth prices refresh'
run prices list --gpu H100:4 -o json
[ $status -eq 0 ] && [ "$(json '$.offers[0].price_per_hour' | cut -c1-4)" = 2.00 ] && [ "$(json '$.offers[0].purchase')" = spot ]
ok $? 'berth prices list, the cheapest first'
done_testing
