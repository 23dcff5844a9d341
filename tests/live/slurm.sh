#!/bin/bash
# berth record slurm against Slurm itself: controller, one node with eight made-up GPUs, accounting in MariaDB, and
# slurmrestd in front of it where that is installed.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
. "$TOP_SRCDIR/tests/live/lib.sh"
need 'record from a live Slurm' slurmctld slurmd slurmdbd sacct sbatch munged munge mariadbd mariadb-install-db setpriv unshare
if [ "$(id -u)" != 0 ] || ! unshare --uts true 2>/dev/null; then
	echo 'ok 1 - record from a live Slurm # SKIP needs root'
	echo '1..1'
	exit 0
fi
down() {
	[ -n "${SLURM_CONF:-}" ] && timeout 10 scancel --user="$(id -un)" 2>/dev/null
	stop slurmrestd
	stop slurmd
	stop slurmctld
	stop slurmdbd
	stop mariadb
	stop munged
	rm -rf "$STATE"
}
trap down EXIT
trap 'exit 99' HUP INT TERM

claim_ports 5
rest= jwt=
if command -v slurmrestd >/dev/null && ls /usr/lib/*/slurm*/auth_jwt.so >/dev/null 2>&1; then
	rest=yes
	jwt="AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$STATE/etc/jwt.key"
fi
uts=(unshare --uts -- sh -c 'hostname localhost && exec "$@"' sh)
mkdir -p "$STATE/munge" "$STATE/ctld" "$STATE/gpu" "$STATE/run" "$STATE/spool" "$STATE/run-mysql" "$STATE/mysql"
head -c 1024 /dev/urandom >"$STATE/munge/key"
chown -R munge "$STATE/munge"
chmod 755 "$STATE/munge"
chmod 400 "$STATE/munge/key"
start munged munge "$(command -v munged)" --foreground --key-file="$STATE/munge/key" --socket="$STATE/munge/socket" \
	--pid-file="$STATE/munge/pid" --log-file="$STATE/munge/log" --seed-file="$STATE/munge/seed" --num-threads=2
chown slurm "$STATE/ctld" "$STATE/run"
for i in 0 1 2 3 4 5 6 7; do
	ln -sfn /dev/null "$STATE/gpu/nvidia$i"	# gres.conf wants devices
done
cat >"$STATE/etc/slurm.conf" <<EOF
ClusterName=live
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$port
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$STATE/munge/socket
$jwt
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$STATE/ctld
SlurmdSpoolDir=$STATE/spool
SlurmctldPidFile=$STATE/run/slurmctld.pid
SlurmdPidFile=$STATE/run/slurmd.pid
SlurmdParameters=config_overrides
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
InactiveLimit=0
KillWait=2
Waittime=0
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((port + 1))
AccountingStoragePass=$STATE/munge/socket
AccountingStorageTRES=gres/gpu,gres/gpu:h100
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((port + 3)) CPUs=16 RealMemory=4096 Gres=gpu:h100:8
PartitionName=gpu Nodes=n1 Default=YES MaxTime=60 DefMemPerCPU=16 State=UP
EOF
printf 'AutoDetect=off\nNodeName=n1 Name=gpu Type=h100 File=%s/gpu/nvidia[0-7]\n' "$STATE" >"$STATE/etc/gres.conf"
cat >"$STATE/etc/slurmdbd.conf" <<EOF
AuthType=auth/munge
AuthInfo=socket=$STATE/munge/socket
$jwt
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$((port + 1))
CommunicationParameters=NoInAddrAny
SlurmUser=slurm
PidFile=$STATE/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((port + 2))
StorageUser=slurm
StoragePass=live
StorageLoc=slurm_acct
EOF
head -c 32 /dev/urandom >"$STATE/etc/jwt.key"
chown slurm "$STATE/etc/jwt.key"
chmod 600 "$STATE/etc/jwt.key"
chmod 644 "$STATE"/etc/*.conf
chown slurm "$STATE/etc/slurmdbd.conf"
chmod 600 "$STATE/etc/slurmdbd.conf"
export SLURM_CONF=$STATE/etc/slurm.conf

chown mysql "$STATE/mysql" "$STATE/run-mysql"
mariadb-install-db --no-defaults --user=mysql --datadir="$STATE/mysql" --auth-root-authentication-method=normal \
	--skip-test-db >"$STATE/log/install.log" 2>&1 || bail 'mariadb-install-db failed'
start mariadb mysql "$(command -v mariadbd)" --no-defaults --datadir="$STATE/mysql" --socket="$STATE/run-mysql/sock" \
	--port=$((port + 2)) --bind-address=127.0.0.1 --pid-file="$STATE/run-mysql/pid" --skip-name-resolve \
	--innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --innodb-doublewrite=0 --skip-log-bin \
	--innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900
sql() { mariadb --no-defaults -uroot -S "$STATE/run-mysql/sock" -N -e "$1"; }
wait_for 180 mariadb sql 'select 1'
sql "create database slurm_acct; create user slurm@'127.0.0.1' identified by 'live'; grant all on slurm_acct.* to slurm@'127.0.0.1'"
# it looks its own name up, which a machine need not have in any list
start slurmdbd root "${uts[@]}" setpriv --reuid=slurm --regid=slurm --clear-groups -- env SLURM_CONF="$SLURM_CONF" \
	"$(command -v slurmdbd)" -D
wait_for 180 slurmdbd port_open $((port + 1))
wait_for 180 slurmdbd sacctmgr -n show cluster
sacctmgr -i add cluster live >>"$STATE/log/sacctmgr.log" 2>&1
start slurmctld root "${uts[@]}" setpriv --reuid=slurm --regid=slurm --clear-groups -- \
	env SLURM_CONF="$SLURM_CONF" "$(command -v slurmctld)" -D -f "$SLURM_CONF"
wait_for 180 slurmctld scontrol ping
start slurmd root "${uts[@]}" env SLURM_CONF="$SLURM_CONF" "$(command -v slurmd)" -D -N n1 -f "$SLURM_CONF"
idle() { sinfo -h -N -o '%T' | grep -qE '^(idle|mixed)$'; }
wait_for 180 slurmctld idle

if [ -n "$rest" ]; then
	start slurmrestd root "${uts[@]}" setpriv --reuid=daemon --regid=daemon --clear-groups -- env SLURM_CONF="$SLURM_CONF" \
		SLURM_JWT=daemon "$(command -v slurmrestd)" -f "$SLURM_CONF" -a rest_auth/jwt -s openapi/dbv0.0.38 -t 2 \
		127.0.0.1:$((port + 4))
	wait_for 180 slurmrestd port_open $((port + 4))
fi

cd "$STATE/home" || exit 99
# Three jobs that run at once, then an array of four whose tasks need half of the GPUs each.
sbatch --parsable --gres=gpu:h100:2 -o /dev/null --wrap 'sleep 3' >/dev/null
sbatch --parsable --gres=gpu:h100:1 -J 'a|b' -o /dev/null --wrap 'sleep 2' >/dev/null
sbatch --parsable -o /dev/null --wrap 'sleep 1' >/dev/null
sbatch --parsable --gres=gpu:h100:4 -a 0-3 -o /dev/null --wrap 'sleep 2' >/dev/null
empty() { [ -z "$(squeue -h)" ]; }
wait_for 180 slurmctld empty
settled() { [ "$(sacct -a -n -X -P -o State | grep -c COMPLETED)" -eq 7 ]; }
wait_for 180 slurmctld settled

# What was run, by another way: sacct's own seconds.
want=$(sacct -a -n -X -P -o ElapsedRaw,AllocTRES | awk -F '|' '{
	if (match($2, /gres\/gpu=[0-9]+/)) sum += $1 * substr($2, RSTART + 9, RLENGTH - 9) } END { print sum }')
run record slurm -o json
ok $status 'berth record slurm'
[ "$(json '$.gpu_seconds')" = "$want" ] && [ "${want:-0}" -ge 35 ]
ok $? "GPU-seconds: $(json '$.gpu_seconds'), $want were run"
[ "$(json '$.jobs')" = 6 ] && [ "$(json '$.rows_without_gpus')" = 1 ]
ok $? 'six jobs with GPUs, one without'
run record slurm -o json
[ "$(json '$.rows_stored')" = 0 ]
ok $? 'the same again stores nothing'
sacct -a -P -D -o JobID,JobName,State,Submit,Start,End,Elapsed,AllocTRES >"$STATE/export.txt"
"$BERTH" --store "$STATE/other.db" record sacct --tz "$(date +%:z)" "$STATE/export.txt" -o json >"$STATE/out" 2>"$STATE/err"
[ $? -eq 0 ] && [ "$(json '$.gpu_seconds')" = "$want" ]
ok $? 'an export with steps and a bar in a name holds the same'

# The same through slurmrestd, into a store of its own: what is kept of the jobs is the same to the byte.
if [ -n "$rest" ]; then
	url=http://127.0.0.1:$((port + 4))
	scontrol token username=root lifespan=600 >"$STATE/home/token"
	run_rest() {
		"$BERTH" --store "$STATE/rest.db" record slurm --url $url/ --token-file "$STATE/home/token" "$@" -o json \
			>"$STATE/out" 2>"$STATE/err" </dev/null
		status=$?
	}
	run_rest
	ok $status 'berth record slurm --url: the versions that the server lacks are passed over'
	[ "$(json '$.gpu_seconds')" = "$want" ] && [ "$(json '$.jobs')" = 6 ]
	ok $? "GPU-seconds through slurmrestd: $(json '$.gpu_seconds'), $want were run"
	kept() { sqlite3 "$1" "select hour, first_t, until_t, jobs, waiting, hex(packed) from usage_hour; select labels from usage_label"; }
	if command -v sqlite3 >/dev/null; then
		[ "$(kept "$STATE/rest.db")" = "$(kept "$STATE/berth.db")" ]
		ok $? 'the same rows as from sacct'
	fi
	run_rest
	[ $status -eq 0 ] && [ "$(json '$.rows_stored')" = 0 ]
	ok $? 'the same again stores nothing, from where the last load ended'
	sbatch --parsable --gres=gpu:h100:8 -o /dev/null --wrap 'exec sleep 60' >/dev/null
	sbatch --parsable --gres=gpu:h100:3 -a 1-9 -o /dev/null --wrap 'sleep 1' >/dev/null
	told() { sacct -a -n -X -P -o State | grep -q RUNNING && sacct -a -n -X -P -o State | grep -q PENDING; }
	wait_for 180 slurmctld told
	seen=$(date +%s)
	over() { [ "$(date +%s)" -gt $((seen + 1)) ]; }	# a load ends with the last whole second
	wait_for 180 slurmctld over
	run_rest
	[ $status -eq 0 ] && [ "$(json '$.rows_stored')" -ge 2 ]
	ok $? "a job that runs, and tasks that wait: $(json '$.rows_stored') rows more"
	"$BERTH" --store "$STATE/rest.db" series state=queued -o json >"$STATE/out" 2>"$STATE/err"
	awk '/"peak"/ { gsub(/[^0-9.]/, ""); exit !($0 >= 27) }' "$STATE/out"
	ok $? 'the GPUs of all nine tasks were waited for'
	scancel --user="$(id -un)"
	wait_for 180 slurmctld empty
	date +forged.%s.token >"$STATE/home/token"
	run_rest --user root
	[ $status -eq 1 ] && ! grep -q forged "$STATE/out" "$STATE/err"
	ok $? 'a token that is none is refused, and not told'
else
	count=$((count + 1))
	echo "ok $count - the same through slurmrestd # SKIP slurmrestd or its JWT plugin is not installed"
fi
done_testing
