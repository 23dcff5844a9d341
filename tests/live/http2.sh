#!/bin/sh
# Three accounts on one HTTP/2 server with TLS: one connection carries them all.
. "$TOP_SRCDIR/tests/cli/lib.sh"

python=
for p in "${BERTH_PYTHON:-}" "$TOP_SRCDIR/build/venv/bin/python" "$(command -v python3)"; do
	if [ -n "$p" ] && "$p" -c 'import hypercorn' 2>/dev/null; then
		python=$p
		break
	fi
done
if [ -z "$python" ] || ! command -v openssl >/dev/null; then
	skip http2 "no openssl, or no python with hypercorn (tests/live/requirements.txt)"
	done_testing
	exit 0
fi
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem \
	>/dev/null 2>&1
cat >cloud.py <<'PY'
import json

TYPES = json.dumps({"data": {"gpu_1x": {
    "instance_type": {"name": "gpu_1x", "description": "1x H100 (80 GB)", "gpu_description": "H100 (80 GB)",
                      "price_cents_per_hour": 249, "specs": {"vcpus": 26, "memory_gib": 200, "storage_gib": 1, "gpus": 1}},
    "regions_with_capacity_available": [{"name": "us-1", "description": "x"}]}}}).encode()


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    with open("seen", "a") as f:
        f.write(f'{scope["http_version"]} {scope["client"][1]}\n')
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": TYPES})
PY
: >server.log
"$python" -m hypercorn --bind 127.0.0.1:0 --certfile cert.pem --keyfile key.pem cloud:app >server.log 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$TEST_TMP"' EXIT
await server.log "$server" 'Running on .*(CTRL'
port=$(sed -n 's,.*Running on https://127\.0\.0\.1:\([0-9]*\).*,\1,p' server.log)
mkdir -p .config/berth
{
	echo accounts:
	for n in 1 2 3; do
		echo "  - {name: a$n, provider: lambda, api_key: 'env:LAMBDA_KEY', endpoint: 'https://127.0.0.1:$port'}"
	done
	echo "network: {ca_file: $HOME/cert.pem}"
} >.config/berth/berth.yaml
export LAMBDA_KEY=none
run init
run prices refresh
expect_exit 0
[ "$(grep -c '^2 ' seen)" -eq 3 ]
ok $? "three exchanges over HTTP/2 ($(cut -d ' ' -f 1 seen | tr '\n' ' '))"
[ "$(sort -u seen | wc -l)" -eq 1 ]
ok $? "on one connection"
sed -i '/network/d' .config/berth/berth.yaml
run prices refresh
[ "$status" -ne 0 ]
ok $? "a certificate that nobody vouches for is not trusted"
expect_err_has 'ca_file'
done_testing
