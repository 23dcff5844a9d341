#!/bin/sh
# An EC2 price list of 40 MiB from a server: little memory, the right prices, and the same again from a cut one never.
. "$TOP_SRCDIR/tests/cli/lib.sh"

if ! command -v python3 >/dev/null; then
	skip aws-prices "no python3"
	done_testing
	exit 0
fi
export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=none AWS_EC2_METADATA_DISABLED=true TMPDIR="$HOME"
mkfifo hold
python3 "$TOP_SRCDIR/bench/aws_gen.py" 40 >list.json
python3 "$TOP_SRCDIR/bench/aws_server.py" "$HOME/list.json" <hold >port 2>/dev/null &
server=$!
exec 9>hold
trap 'exec 9>&-; wait "$server"; rm -rf "$TEST_TMP"' EXIT
await port "$server"
mkdir -p .config/berth
cat >.config/berth/berth.yaml <<YAML
accounts:
  - {name: ec2, provider: aws, regions: us-east-1, prices: json, commitments: none, spot: false, endpoint: 'http://127.0.0.1:$(cat port)'}
YAML
run init
ran="berth prices refresh"
python3 - "$BERTH" --now "$NOW" prices refresh >rss 2>"$err" <<'EOF'
import os, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, u = os.wait4(p.pid, 0)
print(u.ru_maxrss // 1024)
sys.exit(1 if status else 0)
EOF
status=$?
expect_exit 0
[ "$(cat rss)" -le 64 ]
ok $? "$(cat rss) MiB of memory for 40 MiB of prices"
run prices list --account ec2 -o csv --columns instance_type,accelerator_count,price_per_hour
expect_out p4de.24xlarge,8,27.447050 "the last product of the list"
expect_out p5.48xlarge,8,55.040000
cp "$out" before

# Cut on the way: the old list stands.
python3 - <<'EOF'
import os
os.truncate('list.json', os.path.getsize('list.json') - 100)
EOF
run prices refresh
[ "$status" -ne 0 ]
ok $? "a list that is cut is refused ($status)"
run prices list --account ec2 -o csv --columns instance_type,accelerator_count,price_per_hour
cmp -s "$out" before
ok $? "and the old one stands"
ls "$HOME"/berth-spool-* >/dev/null 2>&1
[ $? -ne 0 ]
ok $? "no temporary file is left"
done_testing
