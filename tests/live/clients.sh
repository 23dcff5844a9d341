# shellcheck shell=bash
# clients.sh SCRIPT NAME MODULE...: runs a witness test under a Python that has the official clients: $BERTH_PYTHON, the one of
# quickstart, or the system's; skipped by name where none has them.
set -u
script=$1 name=$2
shift 2
python=
for p in "${BERTH_PYTHON:-}" "$TOP_SRCDIR/build/venv/bin/python" "$(command -v python3)"; do
	[ -n "$p" ] && [ -x "$p" ] || continue
	"$p" -c 'import importlib.util, sys; sys.exit(not all(importlib.util.find_spec(m) for m in sys.argv[1:]))' "$@" 2>/dev/null || continue
	python=$p
	break
done
if [ -z "$python" ]; then
	echo "ok 1 - $name # SKIP no python with $* (tests/live/requirements.txt)"
	echo '1..1'
	exit 0
fi
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY
unset AZURE_TENANT_ID AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_FEDERATED_TOKEN_FILE IDENTITY_ENDPOINT IDENTITY_HEADER MSI_ENDPOINT
export no_proxy=127.0.0.1,localhost BERTH_DATA=$TOP_SRCDIR/data PYTHONDONTWRITEBYTECODE=1
exec "$python" "$TOP_SRCDIR/tests/live/$script"
