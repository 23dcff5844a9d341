#!/bin/sh
# The odd cases of placement and of autoscaling, on the inputs of the shared folder.
. "$TOP_SRCDIR/tests/cli/lib.sh"

in=${BERTH_SHARED:-/nonexistent}/cases/inputs
if [ ! -f "$in/case-081-nodes.csv" ]; then
	skip "the shared cases of placement" "no BERTH_SHARED"
	done_testing
	exit 0
fi
head='provider,region,instance_type,accelerator,accelerator_count,vcpus,purchase,price_per_hour,currency'
od='purchase: [on_demand]'

# submit STORE NAME ACCELERATORS [LINE...]
submit() {
	store=$1
	printf 'schema: berth.job/1\nname: %s\nrun: make\nwork: 1h\naccelerators: "%s"\n' "$2" "$3" >job.yaml
	shift 3
	for line; do printf '%s\n' "$line"; done >>job.yaml
	run --config berth.yaml --store "$store" submit job.yaml
}
offer_of() {	# the instance type where NAME went, "" if nowhere
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | awk -F '\t' -v name="$1" '
		$1 ~ /\.name$/ && $2 == name { sub(/\.name$/, "", $1); p = $1 }
		{ v[$1] = $2 } END { print v[p "." "offer.instance_type"] }'
}

# 81: free GPUs of nodes are offers of that many; one machine each. Whole nodes at one price: nothing but the fit decides.
nodes() {	# nodes FILE JOB...
	{ echo "$head"; awk -F, 'NR > 1 { print "own," $1 "," $1 "," $2 "," $4 ",16,on_demand,1,USD" }' "$in/$1"; } >offers.csv
	{
		printf 'schema: berth.config/1\nlimits:\n'
		awk -F, 'NR > 1 { print "  - {name: " $1 ", region: " $1 ", limit: 1, unit: machine}" }' "$in/$1"
	} >berth.yaml
	rm -f nodes.db*
	run --config berth.yaml --store nodes.db prices import offers.csv
	shift
	for j; do submit nodes.db "$j" "$(awk -F, -v j="$j" '$1 == j { print $2 ":" $3 }' "$in/case-081-jobs.csv")" "$od"; done
	run --config berth.yaml --store nodes.db place -o json
}
nodes case-081-nodes.csv j1 j2
expect_exit 3 "81: four nodes of 2 free GPUs, a gang of 8"
[ -z "$(offer_of j1)" ] && [ -n "$(offer_of j2)" ]
ok $? "81: j1 is not placed, j2 is (on $(offer_of j2))"
expect_err_has 'needs 8 on one machine, the most on one is 2'
for order in "j1 j2" "j2 j1"; do
	# shellcheck disable=SC2086
	nodes case-081-nodes-b.csv $order
	expect_exit 0 "81: 8 and 2 free GPUs, jobs in the order $order"
	[ "$(offer_of j1) $(offer_of j2)" = "n1 n2" ]
	ok $? "81: j1 on n1, j2 on n2 (is $(offer_of j1) $(offer_of j2))"
done

# 83: quotas count vCPUs, spot has its own; what is in use is off them.
{
	echo "$head"
	awk -F, 'NR > 1 { sub(/on-demand/, "on_demand", $8); sub(/-24GB/, "", $4)
		print $1 "," $2 "," $3 "," $4 "," $5 "," $6 "," $8 "," $9 ",USD" }' "$in/case-083-offers.csv"
} >offers.csv
{
	printf 'schema: berth.config/1\nlimits:\n'
	awk -F, 'NR > 1 { left = $5 - $6
		if ($3 == "P") print "  - {name: P, purchase: on_demand, accelerator: \"[AV]100*\", limit: " left ", unit: vcpu}"
		if ($3 == "P-spot") print "  - {name: P-spot, purchase: spot, limit: " left ", unit: vcpu}"
		if ($3 == "G") print "  - {name: G, accelerator: A10G, limit: " left ", unit: vcpu}" }' "$in/case-083-quota.csv"
} >berth.yaml
count() {	# count ACCELERATORS PURCHASE: how many of four such jobs are placed
	rm -f count.db*
	run --config berth.yaml --store count.db prices import offers.csv
	for k in 1 2 3 4; do submit count.db "j$k" "$1" "purchase: [$2]" 'checkpoint: {size: 1GB}'; done
	run --config berth.yaml --store count.db place -o json
	awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$out" | grep -c 'offer.instance_type	.'
}
n="$(count A100:8 on_demand) $(count A100:8 spot) $(count V100:4 on_demand) $(count A10G:1 on_demand)"
[ "$n" = "0 1 2 2" ]
ok $? "83: p4d on demand, on spot, p3, g5: 0 1 2 2 may run (is $n)"
rm -f ask.db*
run --config berth.yaml --store ask.db prices import offers.csv
submit ask.db a100 A100:8 'checkpoint: {size: 1GB}'
run --config berth.yaml --store ask.db place -o json
expect_json '$.jobs[0].offer.purchase' spot "83: 8 A100 go on spot"
expect_json '$.jobs[0].offer.price_per_hour' 12.800000
run --config berth.yaml --store ask.db job cancel "$(json '$.jobs[0].id')"
submit ask.db v100 V100:4 "$od" 'nodes: 2'
run --config berth.yaml --store ask.db place -o json
expect_json '$.jobs[0].offer.machines' 2 "83: 8 V100 are two p3.8xlarge"
expect_json '$.jobs[0].offer.price_per_hour' 12.240000

# 85: names are never met by their beginnings.
{
	echo "$head"
	awk -F, 'NR > 1 { sub(/on-demand/, "on_demand", $6); sub(/-24GB/, "", $4); print $1 "," $2 "," $3 "," $4 "," $5 ",8," $6 "," $7 ",USD" }' \
	    "$in/case-085-offers.csv"
} >offers.csv
printf 'schema: berth.config/1\n' >berth.yaml
ask() {	# ask ACCELERATORS PROVIDER PRICE
	rm -f ask.db*
	run --config berth.yaml --store ask.db prices import offers.csv
	submit ask.db j "$1" "$od"
	run --config berth.yaml --store ask.db place -o json
	[ "$(json '$.jobs[0].offer.provider') $(json '$.jobs[0].offer.price_per_hour')" = "$2 $3" ]
	ok $? "85: $1 is $2 at $3"
}
ask A100-80GB:1 runpod 1.790000
ask A100:1 lambda 1.100000
ask A100:48GB+:1 runpod 1.790000
submit ask.db typo A100-8:8
expect_exit 1 "85: A100-8 is nothing"
expect_err_has 'A100-80GB'
expect_err_has 'A100-40GB'
rm -f ask.db*
run --config berth.yaml --store ask.db prices import offers.csv
submit ask.db ten A10:1 "$od"
run --config berth.yaml --store ask.db place -o json
expect_exit 3 "85: an A10 is known, and nobody offers one"
expect_json '$.jobs[0].offer' null

# 99: 16 or 17 GPUs on machines of 8. The first sample starts two; 17 is met at once, and nothing comes and goes after it.
mkdir -p scale
printf 'schema: berth.job/1\nname: replica\nrun: make\nwork: 100h\naccelerators: "H100:8"\n' >scale/replica.yaml
cat >scale/berth.yaml <<'Y'
schema: berth.config/1
fleets:
  - {name: f, job: replica.yaml, max: 100, unit: 8, down_window: 30m, metric: {series: demand}}
Y
awk -F, 'NR == 1 { print $0 ",series" } NR > 1 { print $0 ",demand" }' "$in/case-099-demand.csv" >scale/demand.csv
run --config scale/berth.yaml --store scale.db record csv scale/demand.csv --step 5m
targets= changes=0 before=2
for t in $(awk -F, 'NR > 1 { print $1 }' "$in/case-099-demand.csv"); do
	NOW=$t run --config scale/berth.yaml --store scale.db scale -o json
	n=$(json '$.fleets[0].target')
	targets="$targets$n "
	[ "$n" = "$before" ] || changes=$((changes + 1))
	before=$n
done
[ "$targets/$changes" = "2 2 3 3 3 3 3 3 3 3 3 3 /1" ]
ok $? "99: two machines, then three, and one change (is $targets/$changes)"
done_testing
