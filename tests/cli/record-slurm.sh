#!/bin/sh
# berth record slurm --url: the versions of slurmrestd, windows of time, resuming, and what goes wrong; on a stand-in for it.
. "$TOP_SRCDIR/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || { skip 'record slurm --url' 'no python3 here'; done_testing; exit 0; }

# Jobs of H100: two GPUs for three days, four for two hours, a task that still runs, one that waits. NOW is 1796040000 + 0.
now=1796040000
cat >jobs <<X
1 $((now - 500000)) $((now - 496800)) $((now - 237600)) 2 COMPLETED
2 $((now - 90000)) $((now - 86400)) $((now - 79200)) 4 COMPLETED
3_7 $((now - 7200)) $((now - 3600)) 0 1 RUNNING 3600
4 $((now - 1800)) 0 0 8 PENDING 0
X
want=$((2 * 259200 + 4 * 7200 + 3600))

serve() {	# serve NEWEST: $port; until stop
	rm -f in port log
	mkfifo in
	python3 "$TOP_SRCDIR/tests/cli/slurmrestd.py" jobs "$1" log <in >port 2>server.err &
	server=$!
	exec 9>in
	await port "$server"
	port=$(cat port)
}
stop() {
	exec 9>&-
	wait "$server"
}
SLURM_JWT=a.eyJzdW4iOiJhbm4ifQ.b
export SLURM_JWT
NOW=2026-11-30T12:00:00Z

for version in 44 43 40 39 38; do
	serve $version
	run --store v$version.db record slurm --url http://127.0.0.1:$port -o json
	expect_exit 0 "v0.0.$version"
	expect_no_err "v0.0.$version without a warning"
	expect_json '$.gpu_seconds' $want
	expect_json '$.attempts' 4 'a job that lies in several windows is told once'
	[ "$(grep -c "/v0.0.$version/" log)" -gt 1 ] && [ "$(grep -cv "/v0.0.$version/" log)" -eq $((44 - version)) ]
	ok $? 'versions that the server lacks are tried once each'
	if [ $version -ge 40 ]; then
		! grep "/v0.0.$version/" log | grep -qv ' True$\| true$'
		ok $? 'attempts of requeued jobs are asked for'
	fi
	[ $version -eq 38 ] || stop
done

# The windows lie one behind the other, from four weeks ago until now.
awk -v now=$now '/v0.0.38/ { gsub("uts", ""); if (n++ == 0) first = $2; else if ($2 != end) bad = 1; end = $3 }
	END { exit !(n > 2 && !bad && first == now - 28 * 86400 && end == now) }' log
ok $? 'windows without a gap between'

# Later: what ran has ended, what waited runs. Only what has changed since the last load is asked for.
sed -i "s/^3_7.*/3_7 $((now - 7200)) $((now - 3600)) $((now + 3600)) 1 COMPLETED/; s/^4 .*/4 $((now - 1800)) $((now + 1800)) 0 8 RUNNING 5400/" jobs
NOW=2026-11-30T14:00:00Z
: >log
run --store v38.db record slurm --url http://127.0.0.1:$port -o json
expect_exit 0
expect_json '$.rows_replaced' 2
awk -v now=$now '/v0.0.38/ { gsub("uts", ""); if (n++ == 0) first = $2; end = $3 } END { exit !(first == now - 3600 && end == now + 7200) }' log
ok $? 'it resumes a step before the end of the last load'
run --store v38.db series accelerator=H100 -o json
expect_json '$.series[0].peak' 9 'both at once for half an hour'
run --store v38.db record slurm --url http://127.0.0.1:$port -o json
expect_json '$.rows_stored' 0 'the same again stores nothing'

# What goes wrong leaves the store alone, and tokens stay secret.
SLURM_JWT=a.eyJzdW4iOiJib2IifQ.secretsecret run --store v38.db record slurm --url http://127.0.0.1:$port
expect_exit 1
expect_err_has 'status 401.*token'
! grep -q secretsecret "$err" "$out"
ok $? 'the token is not told'
printf 'SLURM_JWT=%s\n' "$SLURM_JWT" >token
SLURM_JWT='' run --store v38.db record slurm --url http://127.0.0.1:$port --token-file token
expect_exit 0 'a token in a file, as scontrol prints it'
SLURM_JWT='' run --store v38.db record slurm --url http://127.0.0.1:$port
expect_exit 1
expect_err_has 'scontrol token'
run --store v38.db record slurm --url http://127.0.0.1:$port --api-version 41
expect_exit 1
expect_err_has 'no /slurmdb/v0.0.41/jobs'
echo broken >jobs
run --store v38.db record slurm --url http://127.0.0.1:$port
expect_exit 5
expect_err_has 'status 500: .*Unable to connect to database'
stop
run --store v38.db record slurm --url http://127.0.0.1:$port
expect_exit 5 'nobody answers: later, perhaps'
run --store v38.db store check
expect_exit 0
run --store v38.db record slurm --url http://127.0.0.1:$port --offline
expect_exit 2
run --store v38.db record slurm --to 2026-11-30
expect_exit 2
done_testing
