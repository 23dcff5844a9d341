# What tests of the queue share; sourced behind lib.sh, with NOW set.

state() { "$BERTH" --now "$NOW" jobs --all -o csv --columns name,state | sed -n "s/^$1,//p"; }
is() {	# is NAME STATE [TEXT]
	[ "$(state "$1")" = "$2" ]
	ok $? "$1 is $2${3:+: $3} (is $(state "$1"))"
}
home() {	# home TEXT: a fresh home, TEXT below the schema of its berth.yaml
	rm -rf "$HOME/.config" "$HOME/.local"
	mkdir -p "$HOME/.config/berth"
	berth_yaml "$1"
}
berth_yaml() {	# berth_yaml TEXT: another one
	printf 'schema: berth.config/1\n%s\n' "$1" >"$HOME/.config/berth/berth.yaml"
}
begin() {	# a store with the prices of the accounts
	run init --no-prices
	run prices refresh
}
submitted() {	# submitted NAME: job.yaml into the queue; its id in the file of that name
	"$BERTH" --now "$NOW" submit job.yaml | cut -d' ' -f1 >"$1"
}
replays() {	# every placement so far comes out the same from the store, byte for byte
	n=0 same=0
	for i in $("$BERTH" --now "$NOW" store export decision | sed -n 's/.*"id":\([0-9]*\),.*"kind":"placement".*/\1/p'); do
		n=$((n + 1))
		run place --replay "$i"
		grep -q "Placement $i comes out the same, byte for byte" "$out" && same=$((same + 1)) || sed 's/^/# /' "$err"
	done
	[ "$n" -ge 1 ] && [ "$same" -eq "$n" ]
	ok $? "$same of $n placements come out the same"
}
hall() {	# hall FILE [LIMIT [PRICE]]: a trace of machines with one, four and eight GPUs, of which its provider lets LIMIT run; each
	# GPU costs 1 USD an hour, the digits PRICE in front
	printf 'schema: berth.replay/1\nstart: %s\n' 2026-11-30T00:00:00Z >"$1"
	[ -z "${2-}" ] || printf 'quotas:\n  - {accelerator: L4, purchase: on_demand, limit: %s}\n' "$2" >>"$1"
	echo pools: >>"$1"
	for n in 1 4 8; do
		echo "  - {provider: own, region: hall, zone: a, instance_type: x$n, accelerator: L4, accelerator_count: $n, startup: 1m, on_demand: {price: ${3-}$n, capacity: 99}}" >>"$1"
	done
}
job() {	# job NAME GPUS WORK [LINE...]: its id in the file of that name
	printf 'schema: berth.job/1\nname: %s\naccelerators: "L4:%s"\nwork: %s\npurchase: [on_demand]\nrun: x\n' "$1" "$2" "$3" >job.yaml
	name=$1
	shift 3
	for line; do echo "$line" >>job.yaml; done
	submitted "$name"
}
