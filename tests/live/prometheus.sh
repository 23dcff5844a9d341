#!/bin/bash
# berth record prometheus against Prometheus itself, which scrapes metrics like those of dcgm-exporter.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
. "$TOP_SRCDIR/tests/live/lib.sh"
need 'record from a live Prometheus' prometheus python3 curl setsid setpriv
trap 'stop prometheus; stop exporter; rm -rf "$STATE"' EXIT
trap 'exit 99' HUP INT TERM

# gpus HELD: eight H100, the first HELD of them held by a pod and 80 % busy, one more with a value that cannot be; the
# multiprocessors of the first two have nothing to do, and the host waits for its disks all the time (a rate over five minutes
# of which there are a few seconds is small: so the counter runs fast). Beside them a cluster.
gpus() {
	local i pod util
	for i in 0 1 2 3 4 5 6 7; do
		pod= util=0
		[ $i -lt "$1" ] && pod=train-$i util=80
		printf 'DCGM_FI_PROF_SM_ACTIVE{gpu="%d",UUID="GPU-%d",modelName="NVIDIA H100 80GB HBM3",Hostname="n1"} 0.%d\n' \
			$i $i $((i < 2 ? 1 : 9))
		printf 'DCGM_FI_DEV_GPU_UTIL{gpu="%d",UUID="GPU-%d",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",pod="%s"} %s\n' \
			$i $i "$pod" $util
	done >"$STATE/metrics.new"
	printf 'DCGM_FI_DEV_GPU_UTIL{gpu="8",UUID="GPU-8",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",pod=""} 4294967295\n' \
		>>"$STATE/metrics.new"
	printf 'node_cpu_seconds_total{instance="n1:9100",cpu="0",mode="iowait"} @FAST@\n' >>"$STATE/metrics.new"
	cluster >>"$STATE/metrics.new"
	mv "$STATE/metrics.new" "$STATE/metrics"
}

# As kube-state-metrics tells of nodes and pods: whole cards, slices, shared ones, other vendors; pods that run, ended, wait.
cluster() {
	local n
	for n in a1 m1 s1 x1 t1 n1; do echo "kube_node_info{node=\"$n\"} 1"; done
	cat <<'EOF'
kube_node_labels{node="a1",label_nvidia_com_gpu_product="NVIDIA-H100-80GB-HBM3"} 1
kube_node_labels{node="m1",label_nvidia_com_gpu_product="NVIDIA-A100-SXM4-80GB"} 1
kube_node_labels{node="s1",label_nvidia_com_gpu_product="NVIDIA-A10G-SHARED",label_nvidia_com_gpu_replicas="4"} 1
kube_node_labels{node="t1",label_cloud_google_com_gke_tpu_accelerator="tpu-v5-lite-podslice"} 1
kube_node_labels{node="n1",label_node_kubernetes_io_instance_type="trn1.32xlarge"} 1
kube_node_labels{node="x1",label_amd_com_gpu_product_name="AMD_Instinct_MI300X"} 1
kube_node_status_allocatable{node="a1",resource="nvidia_com_gpu"} 8
kube_node_status_allocatable{node="m1",resource="nvidia_com_mig_1g_10gb"} 14
kube_node_status_allocatable{node="m1",resource="nvidia_com_mig_3g_40gb"} 4
kube_node_status_allocatable{node="m1",resource="cpu"} 64
kube_node_status_allocatable{node="s1",resource="nvidia_com_gpu"} 4
kube_node_status_allocatable{node="x1",resource="amd_com_gpu"} 8
kube_node_status_allocatable{node="t1",resource="google_com_tpu"} 4
kube_node_status_allocatable{node="n1",resource="aws_amazon_com_neuron"} 16
kube_node_status_allocatable{node="n1",resource="aws_amazon_com_neuroncore"} 32
EOF
	for n in p1 p2 p3 p4 p5 p6 p8; do echo "kube_pod_status_phase{namespace=\"d\",pod=\"$n\",phase=\"Running\"} 1"; done
	for n in q1 q2; do echo "kube_pod_status_phase{namespace=\"d\",pod=\"$n\",phase=\"Pending\"} 1"; done
	cat <<'EOF'
kube_pod_status_phase{namespace="d",pod="p7",phase="Succeeded"} 1
kube_pod_container_resource_requests{namespace="d",pod="p1",container="c",node="a1",resource="nvidia_com_gpu"} 2
kube_pod_container_resource_requests{namespace="d",pod="p1",container="e",node="a1",resource="nvidia_com_gpu"} 1
kube_pod_container_resource_requests{namespace="d",pod="p2",container="c",node="m1",resource="nvidia_com_mig_1g_10gb"} 7
kube_pod_container_resource_requests{namespace="d",pod="p3",container="c",node="m1",resource="nvidia_com_mig_3g_40gb"} 1
kube_pod_container_resource_requests{namespace="d",pod="p4",container="c",node="s1",resource="nvidia_com_gpu"} 2
kube_pod_container_resource_requests{namespace="d",pod="p5",container="c",node="t1",resource="google_com_tpu"} 4
kube_pod_container_resource_requests{namespace="d",pod="p6",container="c",node="n1",resource="aws_amazon_com_neuroncore"} 8
kube_pod_container_resource_requests{namespace="d",pod="p7",container="c",node="a1",resource="nvidia_com_gpu"} 8
kube_pod_container_resource_requests{namespace="d",pod="p8",container="c",node="x1",resource="amd_com_gpu"} 5
kube_pod_container_resource_requests{namespace="d",pod="q1",container="c",resource="nvidia_com_gpu"} 16
kube_pod_container_resource_requests{namespace="d",pod="q2",container="c",resource="nvidia_com_mig_1g_10gb"} 7
slurm_gpus_alloc{node="s1"} 5
slurm_gpus_total{node="s1"} 8
vllm:num_requests_running{model_name="m",pod="v1"} 3
vllm:num_requests_running{model_name="m",pod="v2"} 4
vllm:num_requests_waiting{model_name="m",pod="v1"} 2
vllm:gpu_cache_usage_perc{model_name="m",pod="v1"} 0.5
vllm:request_queue_time_seconds_bucket{model_name="m",le="1"} @SECONDS@
vllm:request_queue_time_seconds_bucket{model_name="m",le="2"} @SECONDS@
vllm:request_queue_time_seconds_bucket{model_name="m",le="+Inf"} @SECONDS@
vllm:request_queue_time_seconds_sum{model_name="m"} @SECONDS@
vllm:request_queue_time_seconds_count{model_name="m"} @SECONDS@
EOF
}

claim_ports 1
user=nobody
[ "$(id -u)" = 0 ] || user=$(id -un)
mkdir "$STATE/data" && chown "$user" "$STATE/data" 2>/dev/null
printf 'global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n  - job_name: gpu\n    honor_labels: true\n    static_configs:\n      - targets: ["127.0.0.1:%d"]\n' \
	$((port + 1)) >"$STATE/etc/prometheus.yml"
gpus 2
start exporter "$(id -un)" python3 "$TOP_SRCDIR/tests/live/exporter.py" $((port + 1)) "$STATE/metrics"
start prometheus "$user" env GOMAXPROCS=2 "$(command -v prometheus)" --config.file="$STATE/etc/prometheus.yml" \
	--storage.tsdb.path="$STATE/data" --web.listen-address="127.0.0.1:$port" --log.level=warn
url=http://127.0.0.1:$port
scraped() {
	curl -sf --max-time 5 "$url/api/v1/query" --data-urlencode 'query=count(DCGM_FI_DEV_GPU_UTIL)' | grep -q '"9"'
}
wait_for 180 prometheus scraped

# Ten seconds with two GPUs held, ten with five; on a busy machine scrapes fail, so that what was held is by the server's own word.
ask() {	# ask WHAT ARGUMENT...: the values that the server tells
	curl -sf --max-time 20 "$url/api/v1/$1" "${@:2}" | tr '[' '\n' | sed -n 's/^[0-9.]*,"\([0-9.e+]*\)".*/\1/p'
}
held='count(DCGM_FI_DEV_GPU_UTIL{pod!=""}) or vector(0)'
five() { [ "$(ask query --data-urlencode "query=$held")" = 5 ]; }
t0=$(($(date +%s) + 1))
sleep 11
gpus 5
wait_for 180 prometheus five
sleep 11
t2=$(($(date +%s) - 1))
run record prometheus --url "$url" --ready dcgm --resolution 1s --step 1s --from $t0 --to $t2 -o json
ok $status 'the ready-made queries for dcgm-exporter'
want=$(ask query_range --data-urlencode "query=$held" -d start=$t0 -d end=$t2 -d step=1 | awk '{ s += $1 } END { print s + 0 }')
got=$(json '$.gpu_seconds')
awk -v g="$got" -v w="$want" 'BEGIN { d = g - w; exit !(g != "" && w >= 40 && d <= 5 && d >= -5) }'
ok $? "GPU-seconds held: $got, $want by the server's own sum"
[ "$(json '$.gpus')" = 9 ]
ok $? 'nine GPUs'
grep -q 'GPU-8: [0-9]* of [0-9]* values cannot be' "$STATE/err"
ok $? 'the value that cannot be is counted'
stored=$(json '$.rows_stored')
run record prometheus --url "$url" --ready dcgm --resolution 1s --step 1s --from $t0 --to $t2 -o json
[ "$(json '$.rows_stored')" = 0 ] && [ "${stored:-0}" -gt 0 ]
ok $? "the same again stores nothing ($stored rows before)"
run record prometheus --url "$url" --query 'count(DCGM_FI_DEV_GPU_UTIL == 80)' --metric used --resolution 1s --step 1s --from $t0 --to $t2 -o json
[ "$(json '$.series[0].peak')" = 5 ]
ok $? 'an expression: five at most'
# What waste there was: two GPUs were starved all the time, at the price of the list.
cat >"$STATE/home/prices.csv" <<'EOF'
provider,region,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency
lab,here,h1,H100-80GB,1,on_demand,36.00,USD
EOF
"$BERTH" --store "$STATE/berth.db" prices import "$STATE/home/prices.csv" >/dev/null 2>&1
run series --waste -o json
starved=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$STATE/out" | awk -F '\t' '$1 ~ /kind$/ && $2 == "starved" { sub(/kind$/, "", $1); print $1; exit }')
hours=$(json "${starved}gpu_hours") cost=$(json "${starved}cost")
awk -v h="$hours" -v c="$cost" -v s=$((t2 - t0)) 'BEGIN { want = 2 * s / 3600
	exit !(h > 0.7 * want && h < 1.1 * want && c > 35.9 * h - 0.05 && c < 36.1 * h + 0.05) }'
ok $? "starved: $hours GPU-hours and $cost USD, of two GPUs in $((t2 - t0)) s"

# A cluster of Kubernetes: slices, shares and other vendors as parts of cards.
runs() {	# runs NAME PEAK: a series of the last report
	local i
	i=$(awk -f "$TOP_SRCDIR/tests/cli/json.awk" "$STATE/out" | awk -F '\t' -v n="$1" '$1 ~ /^\$.series\[[0-9]*\].name$/ && $2 == n { sub(/name$/, "", $1); print $1 }')
	awk -v g="$(json "${i}peak")" -v w="$2" 'BEGIN { exit !(g != "" && g > w - 1e-6 && g < w + 1e-6) }'
	ok $? "$1: $2 (is $(json "${i}peak"))"
}
run record kubernetes --url "$url" --resolution 1s --step 1s --from $t0 --to $t2 -o json
ok $status 'the ready-made queries for kube-state-metrics'
runs accelerator=H100-80GB 3
runs accelerator=A100-80GB,slice=1g.10gb 1
runs accelerator=A100-80GB,slice=3g.40gb 0.428571428571
runs accelerator=A10G 0.5
runs accelerator=MI300X 5
runs 'accelerator=TPU v5e' 4
runs accelerator=Trainium1 4
runs accelerator=A100-80GB,metric=installed,slice=1g.10gb 2
runs accelerator=A10G,metric=installed 1
runs accelerator=Trainium1,metric=installed 16
runs state=queued 16
runs accelerator=unknown,slice=1g.10gb,state=queued 1
run record prometheus --url "$url" --ready slurm --resolution 1s --step 1s --from $t0 --to $t2 -o json
runs total 5
runs metric=installed 8
run record prometheus --url "$url" --ready vllm --resolution 1s --step 1s --from $((t0 + 2)) --to $t2 -o json
runs metric=requests_running,model_name=m 7
runs metric=requests_waiting,model_name=m 2
runs metric=kv_cache 50
runs metric=wait,model_name=m 1
run record prometheus --url "$url" --query 'count((' --metric used
[ $status -eq 1 ] && grep -q 'parse error' "$STATE/err"
ok $? "the server's own words where it refuses"
done_testing
