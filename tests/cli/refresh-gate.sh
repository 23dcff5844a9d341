#!/bin/sh
# The gate of price lists, as they come over the wire from three clouds: what is believed, what waits, what stays as it was.
. "$TOP_SRCDIR/tests/cli/lib.sh"

if ! command -v python3 >/dev/null; then
	skip "the gate over the wire" "no python3"
	done_testing
	exit 0
fi
# A server that answers /CLOUD/... with the file CLOUD, its page 2 with CLOUD.2; a file of digits is a status.
mkfifo hold
python3 -c '
import http.server, os, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        asked = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = self.path.split("/")[1]
        if "&page=2" in self.path or b"\"bid\"" in asked:
            name += ".2"
        body = open(name, "rb").read().strip()
        status, body = (int(body), b"{}") if body.isdigit() else (200, body)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = answer
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
' <hold >port 2>/dev/null &
server=$!
exec 9>hold
trap 'exec 9>&-; wait "$server"; rm -rf "$TEST_TMP"' EXIT
await port "$server"
port=$(cat port)
export K=key-SECRET-3
mkdir -p .config/berth
cat >.config/berth/berth.yaml <<YAML
accounts:
  - {name: ocean, provider: digitalocean, api_key: 'env:K', endpoint: 'http://127.0.0.1:$port/ocean'}
  - {name: lamb, provider: lambda, api_key: 'env:K', endpoint: 'http://127.0.0.1:$port/lamb'}
  - {name: market, provider: vast, api_key: 'env:K', endpoint: 'http://127.0.0.1:$port/market'}
YAML

size() {	# size SLUG MODEL COUNT GIB PRICE
	printf '{"slug":"%s","memory":245760,"vcpus":20,"price_hourly":%s,"regions":["nyc2","tor1"],"available":true,"gpu_info":{"count":%s,"vram":{"amount":%s,"unit":"gib"},"model":"%s"}}' \
		"$1" "$5" "$3" "$4" "$2"
}
ocean() {	# ocean FACTOR [PRICE OF THE LAST]: two pages of sizes
	printf '{"sizes":[%s,%s],"links":{"pages":{"next":"http://127.0.0.1:%s/ocean/v2/sizes?page=2"}}}' \
		"$(size gpu-h100x1-80gb nvidia_h100 1 80 "$(echo "$1" | awk '{ print 3.4 * $1 }')")" \
		"$(size gpu-h100x8-640gb nvidia_h100 8 640 "$(echo "$1" | awk '{ print 24 * $1 }')")" "$port" >ocean
	printf '{"sizes":[%s,%s]}' "$(size gpu-l40sx1-48gb nvidia_l40s 1 48 "$(echo "$1" | awk '{ print 1.6 * $1 }')")" \
		"$(size gpu-mi300x1-192gb amd_mi300x 1 192 "${2:-2}")" >ocean.2
}
lamb() {	# lamb CENTS CENTS
	printf '{"data":{' >lamb
	for t in "gpu_1x_h100 1 $1" "gpu_8x_h100 8 $2"; do
		set -- $t
		printf '%s"%s":{"instance_type":{"name":"%s","description":"%sx H100 (80 GB SXM5)","gpu_description":"H100 (80 GB SXM5)","price_cents_per_hour":%s,"specs":{"vcpus":26,"memory_gib":200,"storage_gib":1,"gpus":%s}},"regions_with_capacity_available":[{"name":"us-1","description":"x"}]}' \
			"$([ "$2" = 1 ] || echo ,)" "$1" "$1" "$2" "$3" "$2" >>lamb
	done
	printf '}}' >>lamb
}
market() {	# market BASE BID
	for f in market market.2; do
		printf '{"offers":[{"id":77,"num_gpus":1,"gpu_name":"H100 SXM","gpu_ram":81559,"dph_base":%s,"min_bid":%s,"storage_cost":0,"geolocation":"Oslo, NO","cpu_ram":65536,"cpu_cores":16,"cpu_cores_effective":8}]}' "$1" "$2" >$f
	done
}
price() {	# price ACCOUNT TYPE: as the list has it
	run prices list --account "$1" --type "$2" -o csv --columns price_per_hour
	sed -n '2{s/^$/unknown/;p;q}' "$out"
}
is() {	# is GOT WANT NAME
	[ "$1" = "$2" ]
	ok $? "$3 (got: $1)"
}

run init --no-prices
ocean 1
lamb 249 2200
market 2.1 0.9
run prices refresh -o json
expect_exit 0 "all three are believed at first"
is "$(price ocean gpu-h100x8-640gb)" 24.000000 "the whole machine's price"
run prices list --account ocean --type gpu-h100x8-640gb -o csv --columns price_per_gpu_hour,source,as_of
expect_out_has '^3.000000,http://127.0.0.1' "and an accelerator's, with its source"
run prices list -o json
expect_is_json berth.offers/1
[ "$(grep -c '"source": "http://127' "$out")" = "$(grep -c '"instance_type"' "$out")" ] && [ "$(grep -c '"as_of": "2026-11-30T12' "$out")" = "$(grep -c '"instance_type"' "$out")" ]
ok $? "every offer shows since when and from where"
run prices list --gpu H100:1 -o csv --columns provider,purchase,price_per_hour
expect_out_has '^vast,spot,0.900000$' "a bid is spot"

# Three times as dear all at once: it waits, the old list stays and is stale; a little dearer is believed.
NOW=2026-11-30T13:00:00Z
ocean 3 6
lamb 259 2300
run prices refresh
expect_exit 8 "a list that moved too far waits, the others do not"
expect_err_has 'ocean.* 8 of 8 prices moved by over 50 %'
is "$(price ocean gpu-h100x1-80gb)" 3.400000 "the old price stands"
is "$(price lamb gpu_1x_h100)" 2.590000 "another cloud's new list is in place"
run prices list --account ocean
expect_err_has 'stale: ' "and told as stale"
run prices quarantine -o csv --columns name,offers
name=$(sed -n 's/,8$//p' "$out")
[ -n "$name" ]
ok $? "the list that waits is listed ($name)"
run prices reject "$name"
expect_exit 0
run prices quarantine -o csv --columns name
[ "$(wc -l <"$out")" = 1 ]
ok $? "thrown away it is gone"
run prices refresh --account ocean
expect_exit 6 "and comes again"
run prices accept "$name"
expect_exit 0
is "$(price ocean gpu-h100x1-80gb)" 10.200000 "taken it is in place"
run prices diff --since 2026-11-30T12:30:00Z -o csv --columns provider,instance_type,change
expect_out_has '^digitalocean,gpu-h100x1-80gb,' "what moved"
run prices history --account lamb --type gpu_1x_h100 -o csv --columns price_per_hour
expect_out_has '^2.490000$' "the price before"
expect_out_has '^2.590000$' "and after"
run events -o csv
expect_out_has 'price' "moves are events"

# Families that are gone, a second page that fails, a page that is none: nothing changes.
NOW=2026-11-30T14:00:00Z
printf '{"sizes":[%s]}' "$(size gpu-l40sx1-48gb nvidia_l40s 1 48 4.8)" >ocean
run prices refresh --account ocean
expect_exit 6 "a list that lacks H100 and MI300X waits"
expect_err_has "2 of 3 accelerators are not in it any more"
is "$(price ocean gpu-h100x1-80gb)" 10.200000 "and the old one stands"
ocean 3 6
for bad in 500 404 '{"sizes":{}}' '{}'; do
	echo "$bad" >ocean.2
	run prices refresh --account ocean
	[ "$status" -ne 0 ]
	ok $? "a second page of $bad fails"
	is "$(price ocean gpu-mi300x1-192gb)" 6.000000 "the old list stands as a whole"
	run prices list --account ocean
	expect_err_has 'stale: '
done

# Unknown prices are never the cheapest.
NOW=2026-11-30T15:00:00Z
for odd in 0 -1 null 1e30; do
	ocean 3 "$odd"
	run prices refresh --account ocean
	[ "$status" = 0 ] || [ "$status" = 6 ]
	ok $? "a price of $odd"
	if [ "$status" = 6 ]; then	# two of eight prices are none any more
		is "$(price ocean gpu-mi300x1-192gb)" 6.000000 "the old price stands"
		run prices accept "$name"
		expect_exit 0 "taken as it is"
	fi
	is "$(price ocean gpu-mi300x1-192gb)" unknown "is unknown"
	run prices list --account ocean -o csv --columns instance_type
	[ "$(tail -n 1 "$out")" = gpu-mi300x1-192gb ]
	ok $? "and behind all others"
done
# Another currency is not ranked without a rate; a term is paid as a whole and shown by the hour.
far() {	# far CHARGE PRICES
	printf '{"Zone":"eu-frankfurt-1","InstanceType":"GN7.2XLARGE32","InstanceFamily":"GN7","Cpu":8,"Memory":32,"GpuCount":1,"Status":"SELL","InstanceChargeType":"%s","Price":{%s}}' \
		"$1" "$2"
}
printf '{"Response":{"InstanceTypeConfigSet":[{"InstanceType":"GN7.2XLARGE32","GpuType":"NVIDIA T4","GpuCount":1}],"InstanceTypeQuotaSet":[%s,%s]}}' \
	"$(far POSTPAID_BY_HOUR '"ChargeUnit":"HOUR","UnitPrice":10,"UnitPriceDiscount":8')" \
	"$(far PREPAID '"OriginalPriceOneYear":43800,"DiscountPriceOneYear":35040')" >far
cat >>.config/berth/berth.yaml <<YAML
  - {name: far, provider: tencent, currency: CNY, regions: [eu-frankfurt], secret_id: 'env:K', secret_key: 'env:K', endpoint: 'http://127.0.0.1:$port/far'}
YAML
run prices refresh --account far
expect_exit 0
run prices list --account far -o csv --columns purchase,term_months,upfront,price_per_hour,currency
expect_out_has '^on_demand,[0-9]*,[0.]*,8.000000,CNY$' "an hour, in its currency"
expect_out_has '^reserved,12,35040.000000,0.000000,CNY$' "a year, paid as a whole"
run prices list -o csv --columns provider
[ "$(tail -n 1 "$out")" = tencent ] && [ "$(sed -n '2p' "$out")" != tencent ]
ok $? "no rate, no rank"
run prices list --account far
expect_out_lacks '8\.0'
printf 'from,to,rate,as_of\nCNY,USD,0.14,2026-11-29\n' >.config/berth/rates.csv
printf 'prices: {rates: rates.csv}\n' >>.config/berth/berth.yaml
NOW=2026-11-30T16:00:00Z
run prices refresh --account far
expect_exit 0
run prices list --account far -o csv --columns purchase,upfront,price_per_gpu_hour,currency,source
expect_out_has '^on_demand,[0.]*,1.120000,USD,.*CNY' "by the rate, and its source says so"
expect_out_has '^reserved,4905.600000,0.560000,USD,' "a year of 8760 hours"
! grep -q SECRET "$out" "$err"
ok $? "no key is printed"
done_testing
