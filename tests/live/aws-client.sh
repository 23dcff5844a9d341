#!/bin/bash
# The EC2 adapter beside the official client and its service models: aws_client.py says how.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
: "${TOP_SRCDIR:?}" "${TOP_BUILDDIR:?}"
export BERTH_DATA=$TOP_SRCDIR/data PYTHONDONTWRITEBYTECODE=1
for p in "${BERTH_PYTHON:-}" "$TOP_SRCDIR/build/venv/bin/python" "$(command -v python3)"; do
	if [ -n "$p" ] && "$p" -c 'import boto3' 2>/dev/null; then
		exec "$p" "$TOP_SRCDIR/tests/live/aws_client.py"
	fi
done
echo 'ok 1 - EC2 beside boto3 # SKIP no python with boto3 (tests/live/requirements.txt)'
echo '1..1'
