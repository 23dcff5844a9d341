# Two kinds of machine on a replayed cloud, 5 min of start-up each, for chains of jobs; sourced behind lib.sh, with NOW set.
chain_pool() { echo "  - {provider: aurora, region: r, zone: a, instance_type: $1, accelerator: $2, accelerator_count: 8, vcpus: 8, startup: [5m, 5m], on_demand: {price: $3, capacity: 9}}" >>one.trace; }
chain_cloud() {	# chain_cloud [LINE OF berth.yaml]
	rm -rf "$HOME/.config" "$HOME/.local"
	mkdir -p "$HOME/.config/berth"
	printf 'schema: berth.replay/1\nstart: %s\npools:\n' "$NOW" >one.trace
	chain_pool slow A100-SXM4-80GB 10
	chain_pool fast H100-SXM5-80GB 60
	printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/one.trace}\n%s\n' "$PWD" "$1" >"$HOME/.config/berth/berth.yaml"
	run init --no-prices
	run prices refresh
}
chain_job() {	# chain_job NAME SLOW FAST [LINE...]
	{
		printf 'schema: berth.job/1\nname: %s\npurchase: [on_demand]\nrun: x\nvariants:\n  - {name: a, accelerator: "A100-SXM4-80GB:8", work: %s}\n' "$1" "$2"
		[ "$3" = - ] || printf '  - {name: h, accelerator: "H100-SXM5-80GB:8", work: %s}\n' "$3"
		shift 3
		for line; do echo "$line"; done
	} >"$1.yaml"
}
