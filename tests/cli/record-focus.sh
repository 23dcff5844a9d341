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
echo 'A,B' >other.csv
run record focus other.csv
expect_exit 1
expect_err_has 'no column ChargePeriodStart'
done_testing
