#!/bin/bash
# berth record prometheus against Prometheus itself, which scrapes metrics like those of dcgm-exporter.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
. "$TOP_SRCDIR/tests/live/lib.sh"
need 'record from a live Prometheus' prometheus python3 curl setsid setpriv
trap 'stop prometheus; stop exporter; rm -rf "$STATE"' EXIT
trap 'exit 99' HUP INT TERM

# gpus HELD: eight H100, the first HELD of them held by a pod and 80 % busy, the last one twice with a value that cannot be
gpus() {
	local i pod util
	for i in 0 1 2 3 4 5 6 7; do
		pod= util=0
		[ $i -lt "$1" ] && pod=train-$i util=80
		printf 'DCGM_FI_DEV_GPU_UTIL{gpu="%d",UUID="GPU-%d",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",pod="%s"} %s\n' \
			$i $i "$pod" $util
	done >"$STATE/metrics.new"
	printf 'DCGM_FI_DEV_GPU_UTIL{gpu="8",UUID="GPU-8",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",pod=""} 4294967295\n' \
		>>"$STATE/metrics.new"
	mv "$STATE/metrics.new" "$STATE/metrics"
}

port=$(free_port 1)
user=nobody
[ "$(id -u)" = 0 ] || user=$(id -un)
mkdir "$STATE/data" && chown "$user" "$STATE/data" 2>/dev/null
printf 'global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n  - job_name: gpu\n    static_configs:\n      - targets: ["127.0.0.1:%d"]\n' \
	$((port + 1)) >"$STATE/etc/prometheus.yml"
gpus 2
start exporter "$(id -un)" python3 "$TOP_SRCDIR/tests/live/exporter.py" $((port + 1)) "$STATE/metrics"
start prometheus "$user" env GOMAXPROCS=2 "$(command -v prometheus)" --config.file="$STATE/etc/prometheus.yml" \
	--storage.tsdb.path="$STATE/data" --web.listen-address="127.0.0.1:$port" --log.level=warn
url=http://127.0.0.1:$port
scraped() {
	curl -sf --max-time 5 "$url/api/v1/query" --data-urlencode 'query=count(DCGM_FI_DEV_GPU_UTIL)' | grep -q '"9"'
}
wait_for 40 prometheus scraped

# Ten seconds with two GPUs held, ten with five.
t0=$(($(date +%s) + 1))
sleep 11
gpus 5
t1=$(date +%s)
sleep 11
t2=$(($(date +%s) - 1))
run record prometheus --url "$url" --ready dcgm --resolution 1s --step 1s --from $t0 --to $t2 -o json
ok $status 'the ready-made queries for dcgm-exporter'
want=$((2 * (t1 - t0) + 5 * (t2 - t1)))
got=$(json '$.gpu_seconds')
awk -v g="$got" -v w="$want" 'BEGIN { d = g - w; exit !(g != "" && d <= 10 && d >= -10) }'
ok $? "GPU-seconds held: $got, about $want were run"
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
run record prometheus --url "$url" --query 'count((' --metric used
[ $status -eq 1 ] && grep -q 'parse error' "$STATE/err"
ok $? "the server's own words where it refuses"
done_testing
