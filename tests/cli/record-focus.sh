#!/bin/sh
# berth record focus: GPU-hours and effective cost out of a bill.
. "$TOP_SRCDIR/tests/cli/lib.sh"
head='BillingAccountId,BillingCurrency,ChargeCategory,ChargeClass,ChargePeriodStart,ChargePeriodEnd,CommitmentDiscountId,CommitmentDiscountStatus,ConsumedQuantity,ConsumedUnit,EffectiveCost,PricingCategory,ProviderName,RegionId,SkuId,SkuPriceDetails,x_InstanceType'
p1='2026-10-01T00:00:00Z,2026-10-01T01:00:00Z'
p2='2026-10-01T01:00:00Z,2026-10-01T02:00:00Z'
{
	echo "$head"
	# two machines of eight H100 for the whole hour, one for half of the next
	echo "1,USD,Usage,,$p1,,,2,Hours,150.00,Standard,AWS,us-east-1,S1,\"{\"\"InstanceType\"\": \"\"x8\"\", \"\"GpuCount\"\": 8, \"\"GpuType\"\": \"\"H100\"\"}\","
	echo "1,USD,Usage,,$p2,,,1800,Seconds,37.50,Standard,AWS,us-east-1,S1,\"{\"\"InstanceType\"\": \"\"x8\"\", \"\"GpuCount\"\": \"\"8\"\", \"\"GpuType\"\": \"\"H100\"\"}\","
	# a reserved machine that the bundled list knows, used and unused
	echo "1,USD,Usage,,$p1,ri-1,Used,1,Hours,20.00,Committed,AWS,us-east-1,S2,,p4d.24xlarge"
	echo "1,USD,Usage,,$p2,ri-1,Unused,1,Hours,20.00,Committed,AWS,us-east-1,S2,,p4d.24xlarge"
	# GPU-hours as such; a correction of them
	echo "1,USD,Usage,,$p1,,,6,GPU-Hours,12.00,Dynamic,GCP,europe-west4,S3,,"
	echo "1,USD,Usage,Correction,$p1,,,-2,GPU-Hours,-4.00,Dynamic,GCP,europe-west4,S3,,"
	# what is no use of GPUs
	echo "1,USD,Tax,,$p1,,,,,9.00,,AWS,us-east-1,,,"
	echo "1,USD,Usage,,$p1,,,100,GB,3.00,Standard,AWS,us-east-1,S4,,"
	echo "1,USD,Purchase,,$p1,ri-1,,8760,Hours,0,Committed,AWS,us-east-1,S2,,p4d.24xlarge"
	# bad rows
	echo "1,USD,Usage,,2026-10-01,2026-10-01T01:00:00Z,,,6,GPU-Hours,12.00,Dynamic,GCP,europe-west4,S3,,"
	echo "1,USD,Usage,,$p1,,,six,GPU-Hours,12.00,Dynamic,GCP,europe-west4,S3,,"
} >bill.csv
run record focus bill.csv -o json
expect_exit 8
expect_json '$.rows_read' 11
expect_json '$.rows_refused' 2
expect_json '$.rows_without_gpus' 3
expect_json '$.gpu_hours' 32.000000 '16 + 4 + 8 + 6 - 2'
expect_json '$.effective_cost' 235.500000
expect_json '$.series[0].name' accelerator=H100,provider=AWS,purchase=on_demand,region=us-east-1
expect_json '$.series[0].samples' 2
expect_json '$.series[0].peak' 16
expect_json '$.series[1].name' accelerator=H100,metric=cost,provider=AWS,purchase=on_demand,region=us-east-1
expect_json '$.series[1].peak' 150
expect_json '$.series[2].name' accelerator=A100-40GB,provider=AWS,purchase=reserved,region=us-east-1
expect_json '$.series[2].samples' 1
expect_json '$.series[3].samples' 2 'what is not used costs all the same'
expect_json '$.series[4].peak' 4
expect_json '$.gpu_seconds' 115200
gzip -c bill.csv >bill.csv.gz
run record focus bill.csv.gz -o json
expect_json '$.rows_stored' 0
run record focus --by sku,commitment bill.csv -o json
expect_json '$.series[2].name' commitment=ri-1,sku=S2

# By a key: what comes again changes nothing, a late correction adds to what it corrects, parts add up, other accounts stay.
head='BillingAccountId,SubAccountId,BillingPeriodStart,BillingCurrency,ChargeCategory,ChargeClass,ChargePeriodStart,ChargePeriodEnd,ResourceId,ConsumedQuantity,ConsumedUnit,EffectiveCost,PricingCategory,ProviderName,RegionId,SkuId,SkuPriceId,CommitmentDiscountStatus,CapacityReservationStatus'
row() {	# row SUB CLASS HOUR RESOURCE GPU-HOURS COST [BILLING MONTH [CURRENCY [RESERVATION STATUS]]]
	printf '1,%s,2026-%s-01T00:00:00Z,%s,Usage,%s,2026-09-01T%02d:00:00Z,2026-09-01T%02d:00:00Z,%s,%s,GPU-Hours,%s,Standard,AWS,us-east-1,S1,P1,,%s\n' \
		"$1" "${7:-09}" "${8:-USD}" "$2" "$3" $(($3 + 1)) "$4" "$5" "$6" "${9:-}"
}
cost=accelerator=unknown,metric=cost,provider=AWS,purchase=on_demand,region=us-east-1
gpus=accelerator=unknown,provider=AWS,purchase=on_demand,region=us-east-1
peak() {	# peak STORE SERIES HOUR: of one hour
	"$BERTH" --now "$NOW" --store "$1" series "$2" --samples --from "2026-09-01T$3:00Z" --to "2026-09-01T$3:30Z" -o csv \
		--columns gpus --no-headers
}
{ echo "$head"; row a '' 0 r1 8 16; row a '' 0 r2 4 8; row a '' 1 r1 8 16; } >a.csv
{ echo "$head"; row b '' 0 r3 2 4; row b '' 0 r3 2 4; } >b.csv	# two rows that nothing tells apart
run --store key.db record focus a.csv -o json
expect_json '$.rows_stored' 3
run --store key.db record focus b.csv -o json
expect_json '$.rows_stored' 2
[ "$(peak key.db $gpus 00)" = 16 ] && [ "$(peak key.db $cost 00)" = 32 ]
ok $? "the bills of two accounts add up: $(peak key.db $gpus 00) GPUs"
run --store key.db record focus b.csv a.csv -o json
expect_json '$.rows_stored' 0
expect_json '$.rows_duplicate' 5
[ "$(peak key.db $gpus 00)" = 16 ]
ok $? 'all of it again changes nothing'
# The next month's bill takes two of r1's GPU-hours back, and says again what it was.
{ echo "$head"; row a Correction 0 r1 -2 -4 10; row a '' 2 r1 8 16 10; } >october.csv
run --store key.db record focus october.csv -o json
expect_json '$.rows_stored' 2
[ "$(peak key.db $gpus 00)" = 14 ] && [ "$(peak key.db $cost 00)" = 28 ] && [ "$(peak key.db $gpus 02)" = 8 ]
ok $? "a late correction takes away from what it corrects: $(peak key.db $gpus 00) GPUs"
# September is exported again: r1 cost less, r2 is not in it any more. Overlapping, it replaces; whole, it takes r2 away.
{ echo "$head"; row a '' 0 r1 8 12; row a '' 1 r1 8 16; } >again.csv
run --store key.db record focus again.csv -o json
expect_json '$.rows_replaced' 1
expect_json '$.rows_duplicate' 1
[ "$(peak key.db $gpus 00)" = 14 ] && [ "$(peak key.db $cost 00)" = 24 ]
ok $? 'a row with another cost replaces'
run --store key.db record focus --replace again.csv -o json
expect_json '$.rows_duplicate' 2
[ "$(peak key.db $gpus 00)" = 10 ] && [ "$(peak key.db $cost 00)" = 16 ]
ok $? "--replace: what the bill of this account no longer has is gone: $(peak key.db $gpus 00) GPUs, other bills stay"
# The parts of one export, given to one command; then a grouping that is new is made of all that was ever loaded.
{ echo "$head"; row c '' 0 r9 1 2; } >part1.csv
{ echo "$head"; row c '' 0 r9 1 2; } >part2.csv
gzip part2.csv
run --store key.db record focus --replace part1.csv part2.csv.gz -o json
expect_json '$.rows_stored' 2
[ "$(peak key.db $gpus 00)" = 12 ]
ok $? 'parts with a row that looks the same add up'
run --store key.db record focus --by account part1.csv -o json
expect_json '$.rows_duplicate' 1
[ "$(peak key.db account=a 00)" = 6 ] && [ "$(peak key.db account=b 00)" = 4 ] && [ "$(peak key.db account=c 00)" = 2 ]
ok $? 'a new grouping knows earlier loads'
# Other money is counted apart; capacity that was reserved and not used costs, and is no use.
{ echo "$head"; row d '' 0 r1 2 9 09 EUR; row d '' 1 r1 2 5 09 USD Unused; } >euro.csv
run --store euro.db record focus euro.csv -o json
expect_exit 0
expect_json '$.gpu_hours' 2.000000
run --store euro.db series 'accelerator=unknown,currency=EUR*' -o csv --columns unit,peak --no-headers
expect_out 'eur_per_hour,9'
run --store euro.db series "$cost" -o csv --columns unit,peak --no-headers
expect_out 'usd_per_hour,5'
run --store euro.db series "$gpus" -o json
expect_json '$.series[0].samples' 1
run --store key.db store check
expect_exit 0
sed 's/2026-09/2031-09/g' part1.csv >ahead.csv
run --store ahead.db record focus ahead.csv -o json
expect_exit 8
expect_json '$.rows_stored' 0
run --store key.db record focus --by acount part1.csv
expect_exit 2
expect_err_has "bills have no label 'acount': did you mean 'account'"
echo 'A,B' >other.csv
run record focus other.csv
expect_exit 1
expect_err_has 'no column ChargePeriodStart'
done_testing
