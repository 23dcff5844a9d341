#!/bin/sh
# What history ran on decides what a plan counts in: PCIe alone, SXM alone, both, told in any order and by any source.
# Rates of the vendor's sheets, dense BF16: H100 SXM5 989 TFLOPS, PCIe 756. Work is summed hour by hour here, by awk.
. "$TOP_SRCDIR/tests/cli/lib.sh"

offers() {
	cat >offers.csv <<'CSV'
provider,region,instance_type,accelerator,accelerator_count,purchase,term_months,payment,upfront,price_per_hour,currency
acme,r1,slow,H100-PCIE-80GB,1,on_demand,,,,1.9,USD
acme,r1,slow,H100-PCIE-80GB,1,reserved,12,none,0,0.9,USD
bold,r1,fast,H100-SXM5-80GB,1,on_demand,,,,2.7,USD
bold,r1,fast,H100-SXM5-80GB,1,reserved,12,none,0,1.3,USD
CSV
	run "$@" prices import offers.csv
	expect_exit 0
}
rate() { awk "BEGIN { printf \"%.6f\", $1 }"; }
opt='--horizon 4w --paths 40 --no-spot --list-prices --max-term 12 --provider acme,bold'
hours() {	# hours PROGRAM: rows of eight weeks; PROGRAM prints those of hour h at t, with d GPUs in use
	echo timestamp,gpus,team,accelerator
	awk 'BEGIN { for (h = 0; h < 56 * 24; h++) {
		t = 1791201600 + 3600 * h; d = 12 + (h % 24 < 10 ? 6 : 0) + h * 7919 % 101 / 50; '"$1"' } }'
}
plan() {	# plan STORE SERIES OPTION...
	db=$1; what=$2; shift 2
	run --store "$db" plan "$what" $opt "$@" -o json
	expect_exit 0
}
form() { json "\$.series[0].forms[$1].$2"; }

# PCIe alone: what is said by hand with --gpu comes by itself.
hours 'print t "," d ",a,NVIDIA H100 PCIe"' >pcie.csv
run --store pcie.db record csv pcie.csv
expect_exit 0
offers --store pcie.db
plan pcie.db accelerator=H100-80GB,team=a --gpu H100-PCIE-80GB
by_hand=$(json '$.totals.expected_cost')
n=$(json '$.series[0].buys[0].count')
plan pcie.db accelerator=H100-80GB,team=a
expect_json '$.series[0].accelerator' H100-80GB
expect_json '$.series[0].unit' H100-PCIE-80GB
expect_json '$.series[0].reference' H100-PCIE-80GB
expect_json '$.series[0].forms[0].accelerator' H100-PCIE-80GB
expect_json_near '$.series[0].forms[0].share' 1 0
expect_json_near '$.series[0].forms[0].rate' 1 0
expect_json_near '$.series[0].forms_unknown' 0 0
expect_json '$.series[0].buys[0].instance_type' slow
expect_json '$.series[0].buys[0].count' "$n"
expect_json_near '$.series[0].buys[0].speed' 1 0
expect_out_has 'GPUs are counted in H100-PCIE-80GB: history ran on no other'
id=$(json '$.id')
# By hand the faster cards are left out; here they cost too much.
expect_json_near '$.totals.expected_cost' "$by_hand" 1e-6
run --store pcie.db plan --replay "$id"
expect_exit 0
run --store pcie.db plan accelerator=H100-80GB,team=a --horizon 4w --paths 40 --no-spot --list-prices --max-term 12 --provider bold -o json
expect_json_near '$.series[0].buys[0].speed' "$(rate '989 / 756')" 2e-6 'the faster card stands for more than one'

# SXM alone: in SXM cards, where a PCIe one is a part.
hours 'print t "," d ",a,H100 SXM5"' >sxm.csv
run --store sxm.db record csv sxm.csv
offers --store sxm.db
plan sxm.db accelerator=H100-80GB,team=a
expect_json '$.series[0].unit' H100-SXM5-80GB
sxm=$(json '$.totals.expected_cost')
peak=$(json '$.series[0].peak')
# ... as with --gpu, whatever kept it.
plan sxm.db accelerator=H100-80GB,team=a --gpu H100-SXM5-80GB --also H100-PCIE-80GB
expect_json_near '$.totals.expected_cost' "$sxm" 1e-6
expect_json_near '$.series[0].peak' "$peak" 0
# No source says which: as the fastest, and the plan says so.
hours 'print t "," d ",a,H100-80GB"' >plain.csv
run --store plain.db record csv plain.csv
offers --store plain.db
plan plain.db accelerator=H100-80GB,team=a
expect_json '$.series[0].unit' H100-SXM5-80GB
expect_json '$.series[0].forms[0].accelerator' H100-80GB
expect_json_near '$.totals.expected_cost' "$sxm" 1e-6
expect_out_has 'no record says which H100-80GB it was; --gpu says it, and so does a `berth record`'

# Both in every hour, in shares that change: the work of each hour, summed by awk, as a series of SXM cards.
hours 'p = h % 7; print t "," p ",a,H100-PCIE-80GB"; print t "," d - p ",a,H100-SXM5-80GB"' >mixed.csv
hours 'p = h % 7; printf "%d,%.9f,a,H100-SXM5-80GB\n", t, d - p + p * 756 / 989' >work.csv
run --store work.db record csv work.csv
offers --store work.db
plan work.db accelerator=H100-80GB,team=a
cost=$(json '$.totals.expected_cost') peak=$(json '$.series[0].peak') mean=$(json '$.series[0].mean')
buy=$(json '$.series[0].buys[0].count')
run --store mixed.db record csv mixed.csv
offers --store mixed.db
same() {	# same STORE WHAT: the plan is that of the work by awk
	plan "$1" accelerator=H100-80GB,team=a
	expect_json '$.series[0].unit' H100-SXM5-80GB
	expect_json_near '$.series[0].mean' "$mean" 1e-4 "$2: mean"
	expect_json_near '$.series[0].peak' "$peak" 1e-4 "$2: peak"
	expect_json_near '$.totals.expected_cost' "$cost" 0.05 "$2: cost"
	expect_json '$.series[0].buys[0].count' "$buy"
}
same mixed.db 'both at a time'
share=$(awk 'BEGIN { for (h = 0; h < 56 * 24; h++) { a += h % 7; b += 12 + (h % 24 < 10 ? 6 : 0) + h * 7919 % 101 / 50 } printf "%.6f", a / b }')
expect_json '$.series[0].forms[0].accelerator' H100-PCIE-80GB
expect_json_near '$.series[0].forms[0].share' "$share" 2e-6
expect_json_near '$.series[0].forms[0].rate' "$(rate '756 / 989')" 2e-6
expect_json '$.series[0].forms[1].accelerator' H100-SXM5-80GB
run --store mixed.db series accelerator=H100-80GB,team=a -o json
expect_json_near '$.series[0].forms[0].gpu_hours' "$(awk 'BEGIN { for (h = 0; h < 56 * 24; h++) a += h % 7; print a }')" 0.05
# Loaded again nothing changes; rolled up neither.
run --store mixed.db record csv mixed.csv
same mixed.db 'loaded twice'
run --store mixed.db store check
expect_exit 0
run --store mixed.db --now 2027-06-01T00:00:00Z store rollup
expect_exit 0
run --store mixed.db series accelerator=H100-80GB,team=a -o json
expect_json_near '$.series[0].forms[0].gpu_hours' "$(awk 'BEGIN { for (h = 0; h < 56 * 24; h++) a += h % 7; print a }')" 0.05
run --store mixed.db plan accelerator=H100-80GB,team=a $opt --now 2027-06-01T00:00:00Z -o json
expect_json_near '$.series[0].forms[0].share' "$share" 2e-6 'also behind a rollup'

# One after the other, in both orders of loading, cut in the middle of an hour.
half() {	# half LESS-THAN: rows of half hours
	hours 'for (k = 0; k < 2; k++) { i = 2 * h + k; if ('"$1"') print t + 1800 * k "," d ",a," (i < 1361 ? "H100-PCIE-80GB" : "H100-SXM5-80GB") }'
}
half 'i < 1361' >first.csv
half 'i >= 1361' >second.csv
hours 'f = h < 680 ? 756 / 989 : h == 680 ? (756 / 989 + 1) / 2 : 1; printf "%d,%.9f,a,H100-SXM5-80GB\n", t, d * f' >work2.csv
run --store work2.db record csv work2.csv
offers --store work2.db
plan work2.db accelerator=H100-80GB,team=a
mean=$(json '$.series[0].mean') peak=$(json '$.series[0].peak') cost=$(json '$.totals.expected_cost') buy=$(json '$.series[0].buys[0].count')
run --store there.db record csv first.csv --step 1h
run --store there.db record csv second.csv --step 1h
expect_exit 0
offers --store there.db
same there.db 'the older first'
run --store back.db record csv second.csv --step 1h
run --store back.db record csv first.csv --step 1h
expect_exit 0
offers --store back.db
same back.db 'the newer first'

# Of a time that an older version recorded nothing is kept: it counts as the rest, and is told of.
run --store old.db record csv pcie.csv
offers --store old.db
sqlite3 old.db 'UPDATE series_form SET t = t + 1209600, unit_seconds = unit_seconds * 3 / 4'
plan old.db accelerator=H100-80GB,team=a
expect_json '$.series[0].unit' H100-PCIE-80GB
expect_json_near '$.series[0].forms_unknown' 0.25 0.005
expect_json_near '$.totals.expected_cost' "$by_hand" 1e-6
expect_out_has 'more of its GPU-hours it is not kept what they were: they count as these do until .berth record. reads their source again'
sqlite3 old.db 'DELETE FROM series_form'
plan old.db accelerator=H100-80GB,team=a
expect_json '$.series[0].unit' H100-SXM5-80GB
expect_json '$.series[0].forms[0].accelerator' ''
expect_json_near '$.totals.expected_cost' "$sxm" 1e-6
run --store old.db record csv pcie.csv
plan old.db accelerator=H100-80GB,team=a
expect_json '$.series[0].unit' H100-PCIE-80GB

# Sums have one unit: a team on PCIe and one on SXM cards.
hours 'print t "," d ",a,H100 PCIe"; print t "," d / 2 ",b,H100 SXM5"' >two.csv
hours 'printf "%d,%.9f,c,H100 SXM5\n", t, d * 756 / 989 + d / 2' >sum.csv
run --store two.db record csv two.csv
offers --store two.db
plan two.db 'accelerator=*' --total
expect_json '$.series[0].unit' H100-SXM5-80GB
expect_json_near '$.series[0].forms[0].share' "$(rate '2 / 3')" 2e-6
two=$(json '$.series[0].mean')
run --store sum.db record csv sum.csv
offers --store sum.db
plan sum.db accelerator=H100-80GB,team=c
awk "BEGIN { exit !($two > 0.97 * $(json '$.series[0].mean') && $two < 1.03 * $(json '$.series[0].mean')) }"
ok $? "work of both: $two"

# An event that names the product counts by its rate; one that names the group, as it says.
events() { printf 'events:\n  - {name: e, accelerator: %s, gpus: %s, start: 2026-12-08}\n' "$1" "$2" >events.yaml; }
events H100-PCIE-80GB 98.9
plan sxm.db accelerator=H100-80GB,team=a --events events.yaml
one=$(json '$.totals.expected_cost')
events H100-80GB 75.6
plan sxm.db accelerator=H100-80GB,team=a --events events.yaml
expect_json_near '$.totals.expected_cost' "$one" 0.01 '98.9 PCIe cards are 75.6 SXM5 ones'
events H100-SXM5-80GB 75.6
plan pcie.db accelerator=H100-80GB,team=a --events events.yaml
one=$(json '$.totals.expected_cost')
events H100 98.9
plan pcie.db accelerator=H100-80GB,team=a --events events.yaml
expect_json_near '$.totals.expected_cost' "$one" 0.01 'and 75.6 SXM5 ones 98.9 PCIe cards'

# What is owned, by the card and by the group.
printf 'provider,region,instance_type,accelerator,accelerator_count,count,from,to,term_months,price_per_hour\nacme,r1,slow,H100-PCIE-80GB,1,4,2026-03-01,2029-03-01,36,1\nbold,r1,plain,H100-80GB,1,4,2026-03-01,2029-03-01,36,1\n' >own.csv
run --store pcie.db commitments import own.csv
plan pcie.db accelerator=H100-80GB,team=a
expect_json_near '$.series[0].rest[0].gpus' 4 1e-6 'PCIe cards are whole ones'
expect_json_near '$.series[0].rest[1].gpus' "$(rate '4 * 989 / 756')" 2e-6 'a card of the group is the fastest'

# A replay of purchases counts in the same unit.
run --store work.db simulate commit -o json
expect_exit 0
berth=$(json '$.policies[4].mean') over=$(json '$.by[1].cost')
run --store mixed1.db record csv mixed.csv
run --store mixed1.db simulate commit -o json
expect_json '$.policies[4].name' berth
expect_json_near '$.policies[4].mean' "$berth" 1e-5
expect_json_near '$.by[1].cost' "$over" 0.01
expect_json '$.units[0].unit' H100-SXM5-80GB
expect_json_near '$.units[0].forms[0].rate' "$(rate '756 / 989')" 2e-6
expect_err_has 'GPUs are counted in H100-SXM5-80GB: history ran on 19.4 % H100-PCIE-80GB .each 0.76 of it. and 80.6 % H100-SXM5-80GB'

# Whatever names the product, in every format.
kept() {	# kept STORE SERIES PRODUCT: of it alone
	run --store "$1" series "$2" -o json
	expect_json '$.series[0].forms[0].accelerator' "$3"
	expect_json '$.series[0].forms[1].accelerator' ''
}
while IFS='|' read -r name series product; do
	printf 'timestamp,gpus,accelerator\n2026-10-01T00:00:00Z,4,%s\n2026-10-01T01:00:00Z,4,%s\n' "$name" "$name" >one.csv
	rm -f one.db
	run --store one.db record csv one.csv
	kept one.db "accelerator=$series" "$product"
done <<'LIST'
NVIDIA A100-SXM4-80GB|A100-80GB|A100-SXM4-80GB
A100 80GB PCIe|A100-80GB|A100-PCIE-80GB
a2-highgpu-1g|A100-40GB|A100-SXM4-40GB
NVIDIA A100-PCIE-40GB|A100-40GB|A100-PCIE-40GB
Tesla V100-SXM2-16GB|V100-16GB|V100-SXM2-16GB
Tesla V100-PCIE-32GB|V100-32GB|V100-PCIE-32GB
NVIDIA H200 NVL|H200|H200-NVL-141GB
NVIDIA H200|H200|H200-SXM-141GB
H800 PCIe|H800|H800-PCIE-80GB
H100 NVL|H100-NVL-94GB|
NVIDIA L40S|L40S|
AMD Instinct MI300X|MI300X|
LIST
cat >jobs.txt <<'TEXT'
JobID|State|Submit|Start|End|Elapsed|AllocTRES
1|COMPLETED|2026-05-04T00:00:00|2026-05-04T00:30:00|2026-05-04T02:30:00|02:00:00|gres/gpu:h100_pcie=2,gres/gpu=2
2|COMPLETED|2026-05-04T00:00:00|2026-05-04T01:00:00|2026-05-04T02:00:00|01:00:00|gres/gpu:nvidia_h100_80gb_hbm3=6,gres/gpu=6
3|COMPLETED|2026-05-04T00:00:00|2026-05-04T01:00:00|2026-05-04T02:00:00|01:00:00|gres/gpu:a100_pcie_40gb_3g.20gb=7,gres/gpu=7
TEXT
run --store jobs.db record sacct jobs.txt
expect_exit 0
run --store jobs.db series accelerator=H100-80GB -o json
expect_json '$.series[0].forms[0].accelerator' H100-PCIE-80GB
expect_json_near '$.series[0].forms[0].gpu_hours' 4 1e-3
expect_json '$.series[0].forms[1].accelerator' H100-SXM5-80GB
expect_json_near '$.series[0].forms[1].gpu_hours' 6 1e-3
kept jobs.db accelerator=A100-40GB A100-PCIE-40GB
expect_json_near '$.series[0].forms[0].gpu_hours' 3 1e-3 'slices as their part of the card'
cat >gpus.prom <<'TEXT'
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",modelName="NVIDIA H100 PCIe",Hostname="w9",pod="a",namespace="x"} 90
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-2",modelName="NVIDIA H100 PCIe",Hostname="w9",pod="b",namespace="x"} 2
TEXT
run --store prom.db record openmetrics gpus.prom
kept prom.db accelerator=H100-80GB H100-PCIE-80GB
bill() {
	echo 'BillingAccountId,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,ConsumedQuantity,ConsumedUnit,EffectiveCost,PricingCategory,ProviderName,RegionId,SkuPriceDetails'
	for gpu in "$@"; do
		echo "1,USD,Usage,2026-10-01T00:00:00Z,2026-10-01T02:00:00Z,2,Hours,15,Standard,AWS,r1,\"{\"\"InstanceType\"\": \"\"x$gpu\"\", \"\"GpuCount\"\": 8, \"\"GpuType\"\": \"\"$gpu\"\"}\""
	done
}
bill 'H100 PCIe' 'H100 SXM5' H100-80GB >bill.csv
run --store bill.db record focus bill.csv --by accelerator
expect_exit 0
run --store bill.db series accelerator=H100-80GB -o json
expect_json_near '$.series[0].mean' 24 0
expect_json_near '$.series[0].forms[0].gpu_hours' 16 1e-3 'the source did not say'
expect_json '$.series[0].forms[1].accelerator' H100-PCIE-80GB
expect_json_near '$.series[0].forms[1].gpu_hours' 16 1e-3
expect_json '$.series[0].forms[2].accelerator' H100-SXM5-80GB
# GPU-hours by product are those of the samples, however often a part is read again.
printf 'time,gpus,accelerator\n2026-10-01T00:00:00Z,10,H100 PCIe\n' >one.csv
printf 'time,gpus,accelerator\n2026-10-01T01:00:00Z,2,H100 PCIe\n' >two.csv
for f in one two two one two; do run record csv --series again --step 1h --interval 1h $f.csv; done
run series again -o json
expect_json_near '$.series[0].forms[0].gpu_hours' 12 1e-6
done_testing
