# Replayed clouds of H100 machines for tests of ticks; sourced behind lib.sh, with NOW set to their start.
. "$TOP_SRCDIR/tests/cli/queue.sh"

# A fresh home with one account over these pools, each a line of YAML behind "pools:": cloud_of LINE...
cloud_of() {
	home "accounts:
  - {name: sky, provider: replay, trace: $PWD/one.trace}"
	{
		printf 'schema: berth.replay/1\nstart: %s\npools:\n' "$NOW"
		for line; do echo "  $line"; done
	} >one.trace
	begin
}

# Each of these pools sells one H100 a machine, up in three minutes: cloud "zone: a, on_demand: {price: 4, capacity: 1}"...
cloud() {
	for pool; do
		shift
		set -- "$@" "- {provider: aurora, region: r, instance_type: h100, accelerator: H100-SXM5-80GB, accelerator_count: 1, startup: [3m, 3m], $pool}"
	done
	cloud_of "$@"
}

# One pool in us-east-1a with these lines: zone_cloud 'on_demand: {price: 4, capacity: 1}' 'spot: {...}'
zone_cloud() {
	for line; do
		shift
		set -- "$@" "  $line"
	done
	cloud_of '- provider: aurora' '  region: us-east-1' '  zone: us-east-1a' '  instance_type: a1.h100' \
		'  accelerator: H100-SXM5-80GB' '  accelerator_count: 1' '  accelerator_memory_gib: 80' '  vcpus: 24' '  memory_gib: 256' \
		'  startup: [3m, 3m]' "$@"
}

job() {	# job NAME WORK [LINE...]
	printf 'schema: berth.job/1\nname: %s\naccelerators: "H100-SXM5-80GB:1"\nwork: %s\nrun: x\n' "$1" "$2" >job.yaml
	shift 2
	for line; do echo "$line" >>job.yaml; done
	run submit job.yaml
}

zone_job() {	# zone_job DEADLINE: six hours of work that spot may be asked for
	printf 'schema: berth.job/1\nname: figures\naccelerators: ["H100-SXM5-80GB:1"]\nwork: 6h\ndeadline: %s\ncheckpoint: {size: 8GB, write: 10s, interval: 10m}\nrestart: 3m\npurchase: [spot, on_demand]\nrun: make figures\n' \
		"$1" >job.yaml
	run submit job.yaml -o json
	expect_exit 0
}

# Ids of the decisions of one kind, oldest first: decided wait
decided() { "$BERTH" --now "$NOW" store export decision | sed -n "s/.*\"id\":\\([0-9]*\\),.*\"kind\":\"$1\".*/\\1/p"; }

# Each decision to wait comes out the same, byte for byte: waits_replay WHEN LEAST
waits_replay() {
	n=0 same=0
	for i in $(decided wait); do
		n=$((n + 1))
		run place --replay "$i"
		grep -q 'comes out the same, byte for byte' "$out" && same=$((same + 1)) || sed 's/^/# /' "$err"
	done
	[ "$n" -ge "$2" ] && [ "$same" -eq "$n" ]
	ok $? "$1: $same of $n decisions to wait come out the same"
}
