#!/bin/sh
# berth record openmetrics, prometheus (saved answers) and nvidia-smi: labels, sentinels, resets, the same GPU twice.
. "$TOP_SRCDIR/tests/cli/lib.sh"

# sample SERIES: mean and peak of its only sample, from the store's own export of JSON
series() {	# series N FIELD of the last result
	json "\$.series[$1].$2"
}

# Values that are sentinels or errors of the exporter.
{
	printf '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL",'
	printf '"UUID":"GPU-77","Hostname":"n1","modelName":"NVIDIA L40S"},"values":['
	printf '[1782900000,"40"],[1782900060,"4294967295"],[1782900120,"60"],[1782900180,"-3"],[1782900240,"100.5"],'
	printf '[1782900300,"NaN"],[1782900360,"20"],[1782900420,"9223372036854775792"],[1782900480,"+Inf"]]}]}}'
} >util.json
run record prometheus util.json -o json
expect_exit 0
expect_json '$.rows_read' 9
expect_json '$.values_refused' 6
expect_json '$.series[0].name' accelerator=L40S,metric=busy
expect_json '$.series[0].peak' 60
expect_err_has 'DCGM_FI_DEV_GPU_UTIL of GPU-77: 6 of 9 values cannot be'

# The same card under three label sets; one more card.
cat >gpus.prom <<'EOF'
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3",Hostname="w9"} 90
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3",Hostname="w9",pod="a",namespace="x"} 90
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3",Hostname="w9",pod="b",namespace="x"} 90
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-2",modelName="NVIDIA H100 80GB HBM3",Hostname="w9"} 2
EOF
run --store gpus.db record openmetrics gpus.prom -o json
expect_exit 0
expect_no_err
expect_json '$.gpus' 2
expect_json '$.rows_duplicate' 2
expect_json '$.series[0].peak' 90
expect_json '$.series[1].name' accelerator=H100-80GB,metric=idle
expect_json '$.series[1].peak' 1
expect_json '$.series[3].name' accelerator=H100-80GB
expect_json '$.series[3].peak' 1 'one of the two is held by a pod'
expect_json '$.gpu_seconds' 3600

# Labels with everything in them.
cat >labels.prom <<'EOF'
used{rack="r}1",team="a"} 7
used{job="x,y=2",team="b",} 1 1767229200000
used{say="a \"b\" \\ c\nd"} 2
used{x="{}"} 3 1767229200
used{x="bad} 4
used{x="1"} four
used 5
latency_bucket{le="1"} 3
EOF
run --store labels.db record openmetrics labels.prom -o json
expect_exit 8
expect_json '$.rows_read' 8
expect_json '$.rows_refused' 2
expect_json '$.rows_stored' 6
expect_json '$.warnings[0].line' 5
expect_json '$.series[1].from' 2026-01-01T01:00:00Z
expect_json '$.series[3].from' 2026-01-01T01:00:00Z
run --store labels.db record openmetrics --metric used --by team labels.prom -o json
expect_json '$.series[0].name' team=a

# A counter that begins again: 9 MJ + 3 MJ + 6 MJ over three minutes are 100 kW; it is refused as absurd at once if it were a wrap.
{
	printf '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",'
	printf '"UUID":"GPU-1"},"values":[[1782900000,"900000000"],[1782900060,"936000000"],[1782900120,"12000000"],[1782900180,"36000000"]]}]}}'
} >energy.json
run --store energy.db record prometheus energy.json -o json
expect_exit 0
expect_json '$.series[0].name' metric=mean_power
expect_json '$.series[0].peak' 600
expect_json '$.values_refused' 0

# The server's own error, and what is none of its answers.
printf '{"status":"error","errorType":"bad_data","error":"parse error: unclosed"}' >error.json
run record prometheus error.json
expect_exit 1
expect_err_has 'bad_data: parse error: unclosed'
printf '{"status":"success","data":{"resultType":"matrix","result":[' >cut.json
run record prometheus cut.json
expect_exit 1

# Fields without a value, a GPU that is broken, units.
cat >smi.csv <<'EOF'
timestamp, index, name, memory.total [MiB], memory.used [MiB], utilization.gpu [%], power.draw [W]
2026/11/29 10:00:00.123, 0, NVIDIA H100 PCIe, 81559 MiB, 1024 MiB, 50 %, 100.00 W
2026/11/29 10:00:00.124, 1, NVIDIA H100 PCIe, 81559 MiB, 3 MiB, [N/A], [Not Supported]
2026/11/29 10:00:00.125, 2, NVIDIA H100 PCIe, [N/A], [N/A], 10 %, 50.00 W
2026/11/29 10:00:00.126, 3, NVIDIA H100 PCIe, 81559 MiB, 0 MiB, [GPU is lost], ERR!
2026/11/29 10:00:00.127, 4, NVIDIA H100 PCIe, 81559 MiB, 0 MiB, lots, 1 W
EOF
run --store smi.db record nvidia-smi smi.csv -o json
expect_exit 8
expect_json '$.rows' 5
expect_json '$.rows_refused' 1
expect_json '$.faulty' 1
expect_json '$.values_unknown' 6
expect_json '$.series[0].name' accelerator=H100-80GB,metric=busy
expect_json '$.series[0].peak' 50
expect_json '$.series[0].from' 2026-11-29T10:00:00Z

# What squeue shows: arrays in one line, their limits, GPUs per node; and what sinfo shows: slices.
cat >squeue.txt <<'EOF'
JOBID|STATE|TRES_PER_NODE|NODES|REASON
50_[0-7%3]|PENDING|gres/gpu:h100:2|1|JobArrayTaskLimit
51_[2,4,6-7]|PENDING|gpu:1|2|Priority
52|RUNNING|gres/gpu:h100:8|4|None
53_[0-9:3]|PENDING|N/A|1|Priority
x|RUNNING|gpu:1|1|None
EOF
run --store squeue.db record squeue squeue.txt -o json
expect_exit 8
expect_json '$.pending_tasks' 16
expect_json '$.pending_gpus' 24
expect_json '$.pending_gpus_at_once' 14
expect_json '$.running_gpus' 32
expect_json '$.series[0].name' accelerator=H100,state=queued
expect_json '$.series[0].peak' 16
run --store squeue.db record squeue --by accelerator squeue.txt -o json
expect_json '$.rows_duplicate' 3
cat >sinfo.txt <<'EOF'
NODELIST|GRES|GRES_USED
m1|gpu:h100_1g.12gb:14,gpu:h100_2g.24gb:7|gpu:h100_1g.12gb:7(IDX:0-6),gpu:h100_2g.24gb:0(IDX:N/A)
m2|gpu:a30:4(S:0-1)|gpu:a30:3(IDX:0-2)
EOF
run --store sinfo.db record sinfo --by node sinfo.txt -o json
expect_exit 0
expect_no_err
expect_json '$.devices' 25
expect_json '$.series[0].peak' 4 '14 sevenths and 7 times two sevenths'
expect_json '$.series[1].peak' 1
expect_json '$.series[3].peak' 3
run record prometheus --url http://127.0.0.1:9 --ready dcgm --offline
expect_exit 2
run record prometheus --url http://127.0.0.1:9
expect_exit 2

# Eight GPUs for two hours, two of them idle, one of those held: 4 GPU-hours idle, 2 of them held, at the price of the list.
{
	printf '{"status":"success","data":{"resultType":"matrix","result":['
	for g in 0 1 2 3 4 5 6 7; do
		util=70 pod=
		[ $g -ge 6 ] && util=1
		[ $g -eq 6 ] && pod=',"pod":"p"'
		printf '%s{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","UUID":"GPU-%d","modelName":"NVIDIA H100 80GB HBM3"%s},"values":[' \
			"$([ $g -gt 0 ] && echo ,)" $g "$pod"
		for i in 0 1 2 3 4 5 6 7; do
			printf '%s[%d,"%d"]' "$([ $i -gt 0 ] && echo ,)" $((1782900000 + 900 * i)) $util
		done
		printf ']}'
	done
	printf ']}}'
} >idle.json
cat >prices.csv <<'EOF'
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency
lab,here,h8,H100-80GB,8,on_demand,20.00,USD
lab,here,h1,H100-80GB,1,on_demand,3.00,USD
EOF
run --store waste.db record prometheus idle.json
expect_exit 0
run --store waste.db prices import prices.csv
expect_exit 0
run --store waste.db series --waste -o json
expect_exit 0
expect_json '$.gpu_hours' 4.000
expect_json '$.cost' 10.000000
expect_json '$.waste[0].kind' 'held, idle'
expect_json '$.waste[0].gpu_hours' 2.000
expect_json '$.waste[0].counted' false
expect_json '$.waste[1].cost' 10.000000
run --store waste.db series --waste
expect_out_has 'H100-80GB +idle +4.0 +2.5000 +10.00 +-'
printf '%s\n' 'JobID|State|Submit|Start|End|Elapsed|AllocTRES' \
	'1|COMPLETED|2026-07-01T10:00:00|2026-07-01T10:30:00|2026-07-01T11:00:00|00:30:00|gres/gpu:nvidia_h100_80gb_hbm3=1' >jobs.txt
run --store waste.db record sacct jobs.txt
run --store waste.db series --waste -o json
expect_json '$.waste[0].wait_p95_s' 1800.000 'jobs waited half an hour while these GPUs were idle'
# Times of clocks that were never set, and of those that run ahead: the time 0 is not the one that is missing.
printf 'up 1 0\nup 2 1788220800\nup 3 4000000000\nup 4 86400\n' >clocks.prom
run --store clocks.db record openmetrics clocks.prom -o json
expect_exit 8
expect_json '$.rows_stored' 1
expect_json '$.rows_refused' 3
expect_json '$.warnings[0].line' 1
expect_json '$.warnings[1].message' 'the time 2096-10-02T07:06:40Z lies more than a day ahead'
expect_json '$.series[0].from' 2026-09-01T00:00:00Z
expect_json '$.series[0].to' 2026-09-01T00:00:00Z
printf 'up{a="M\374ller"} 1 1788220800\nup{a="x"} 1 1788220800\n' >latin.prom
run --store latin.db record openmetrics latin.prom -o json
expect_exit 8
expect_json '$.rows_stored' 1
expect_json '$.warnings[0].message' 'label a is no UTF-8: convert the file (iconv -f ISO-8859-1 -t UTF-8)'
run record openmetrics --at 2031-01-01T00:00Z latin.prom
expect_exit 2
expect_err_has 'at lies more than a day ahead'
done_testing
