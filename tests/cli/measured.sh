#!/bin/sh
# What probes measured weighs in the next placement and the next plan: two equal prices, one machine 15 % slower.
NOW=2026-11-30T00:00:00Z
. "$TOP_SRCDIR/tests/cli/lib.sh"

mkdir -p "$HOME/.config/berth"
pool() {
	cat <<EOF
  - provider: $1
    region: r1
    zone: r1a
    instance_type: quad
    accelerator: H100-SXM5-80GB
    accelerator_count: 4
    accelerator_memory_gib: 80
    vcpus: 96
    memory_gib: 1024
    startup: [3m, 3m]
    slow: {share: $2, factor: 0.85}
    on_demand: {price: 8, capacity: [[0h, 8]]}
    reserved:
      - {term_months: 12, payment: none, price: 4}
EOF
}
{ printf 'schema: berth.replay/1\nstart: 2026-11-30T00:00:00Z\npools:\n'; pool alder 1; pool birch 0; } >two.trace
printf 'schema: berth.config/1\naccounts:\n  - {name: sky, provider: replay, trace: %s/two.trace}\n' "$PWD" \
	>"$HOME/.config/berth/berth.yaml"
run init
run prices refresh
expect_exit 0
awk 'BEGIN { print "timestamp,gpus,series,accelerator"; for (h = 0; h < 42 * 24; h++) print 1792368000 + 3600 * h ",12,flat,H100-SXM5-80GB" }' >use.csv
run record csv use.csv
expect_exit 0
run plan flat -o json
expect_json '$.series[0].buys[0].provider' alder "equal prices: the first by name"

job() { printf 'schema: berth.job/1\nname: %s\naccelerators: ["H100-SXM5-80GB:4"]\nwork: 1h\nproviders: [%s]\npurchase: [on_demand]\nrun: make\n' "$1" "$2" >"$1.yaml"; run submit "$1.yaml"; expect_exit 0; }
job one alder
job two birch
run tick --until +3h --step 2m
expect_exit 0
run prices list --gpu H100-SXM5-80GB -o csv --columns provider,purchase,measured
expect_out_has '^alder,on_demand,0.8' "the slow one is known"
NOW=2026-11-30T04:00:00Z
run prices refresh

job three 'alder, birch'
run place --explain -o json
expect_json '$.jobs[0].offer.provider' birch "the next job goes where it is faster"
run place --explain
expect_out_has 'measured' "and the explanation says why"
run plan flat -o json
expect_json '$.series[0].buys[0].provider' birch "the next plan reserves the faster one"
run plan flat
expect_out_has 'measured: alder' "and the plan says so"

# H200s can do the work of H100s: at one and a half times the price they pay where they are faster than that.
cat >also.csv <<CSV
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
cedar,r1,b200x8,B200,8,on_demand,,,,20,USD
CSV
run prices import also.csv
run plan flat --list-prices --no-spot --provider 'birch,cedar' -o json
expect_json '$.series[0].rest[0].offer' 'birch r1 quad on_demand' "an accelerator that nobody named is not taken"
run plan flat --list-prices --no-spot --provider 'birch,cedar' --also B200 -o json
expect_json_near '$.series[0].rest[0].price_per_gpu_hour' "$(awk 'BEGIN { printf "%.6f", 2.5 / (2250 / 989.5) }')" 0.02 "2.5 USD an hour at the ratio of the bf16 rates"
run plan flat --also B2000
expect_exit 2
expect_err_has 'did you mean'
run plan flat --also B200 --precision tiny
expect_exit 2
done_testing
