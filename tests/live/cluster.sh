# shellcheck shell=bash
# tests/live/cluster.sh - a Slurm cluster for one test: two nodes with made-up GPUs, accounting, two qualities of service
# of which one preempts the other, and slurmrestd. Sourced behind lib.sh; cluster_up starts it, cluster_down ends it.

cluster_need() {	# cluster_need NAME: skips the test by name where something is missing
	need "$1" slurmctld slurmd slurmdbd slurmrestd sbatch munged munge mariadbd mariadb-install-db setpriv unshare curl
	if [ "$(id -u)" != 0 ] || ! unshare --uts true 2>/dev/null; then
		echo "ok 1 - $1 # SKIP needs root"
		echo '1..1'
		exit 0
	fi
	if ! ls /usr/lib/*/slurm*/auth_jwt.so >/dev/null 2>&1; then
		echo "ok 1 - $1 # SKIP Slurm's JWT plugin is not installed"
		echo '1..1'
		exit 0
	fi
}

cluster_down() {
	local p
	[ -n "${SLURM_CONF:-}" ] && timeout 10 scancel --state=PENDING,RUNNING -f 2>/dev/null
	for p in slurmrestd slurmd-n1 slurmd-n2 slurmctld slurmdbd mariadb munged; do
		stop $p
	done
	rm -rf "$STATE"
}

cluster_files() {	# cluster_files PORT
	local i
	head -c 1024 /dev/urandom >"$STATE/munge/key"
	head -c 32 /dev/urandom >"$STATE/etc/jwt.key"
	for i in 0 1 2 3; do
		ln -sfn /dev/null "$STATE/gpu/nvidia$i"	# gres.conf wants devices
	done
	cat >"$STATE/etc/slurm.conf" <<EOF
ClusterName=live
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$1
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$STATE/munge/socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$STATE/etc/jwt.key
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$STATE/ctld
SlurmdSpoolDir=$STATE/spool-%n
SlurmctldPidFile=$STATE/run/slurmctld.pid
SlurmdPidFile=$STATE/run/slurmd-%n.pid
SlurmdParameters=config_overrides
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
PriorityType=priority/multifactor
InactiveLimit=0
KillWait=2
Waittime=0
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$(($1 + 1))
AccountingStoragePass=$STATE/munge/socket
AccountingStorageTRES=gres/gpu,gres/gpu:h100,gres/gpu:l4
AccountingStorageEnforce=associations,limits,qos
PreemptType=preempt/qos
PreemptMode=REQUEUE
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$(($1 + 3)) CPUs=16 RealMemory=4096 Gres=gpu:h100:4
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$(($1 + 4)) CPUs=8 RealMemory=2048 Gres=gpu:l4:2
PartitionName=gpu Nodes=n1,n2 Default=YES MaxTime=60 DefaultTime=10 DefMemPerCPU=16 State=UP
EOF
	printf 'AutoDetect=off\nNodeName=n1 Name=gpu Type=h100 File=%s/gpu/nvidia[0-3]\nNodeName=n2 Name=gpu Type=l4 File=%s/gpu/nvidia[0-1]\n' \
		"$STATE" "$STATE" >"$STATE/etc/gres.conf"
	cat >"$STATE/etc/slurmdbd.conf" <<EOF
AuthType=auth/munge
AuthInfo=socket=$STATE/munge/socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$STATE/etc/jwt.key
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$(($1 + 1))
CommunicationParameters=NoInAddrAny
SlurmUser=slurm
PidFile=$STATE/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$(($1 + 2))
StorageUser=slurm
StoragePass=live
StorageLoc=slurm_acct
EOF
	chown -R munge "$STATE/munge"
	chown slurm "$STATE/ctld" "$STATE/run" "$STATE/etc/slurmdbd.conf" "$STATE/etc/jwt.key"
	chmod 755 "$STATE/munge"
	chmod 400 "$STATE/munge/key"
	chmod 600 "$STATE/etc/jwt.key" "$STATE/etc/slurmdbd.conf"
	chmod 644 "$STATE/etc/slurm.conf" "$STATE/etc/gres.conf"
}

cluster_sql() { mariadb --no-defaults -uroot -S "$STATE/run-mysql/sock" -N -e "$1"; }
cluster_idle() { [ "$(sinfo -h -N -o '%N %T' | sort -u | grep -cE ' (idle|mixed)$')" = 2 ]; }

cluster_up() {	# the base URL is in $rest_url, who may use it in $job_user
	local port uts n
	claim_ports 5
	job_user=nobody
	uts=(unshare --uts -- sh -c 'hostname localhost && exec "$@"' sh)
	mkdir -p "$STATE"/{munge,ctld,gpu,run,spool-n1,spool-n2,run-mysql,mysql}
	cluster_files "$port"
	export SLURM_CONF=$STATE/etc/slurm.conf
	start munged munge "$(command -v munged)" --foreground --key-file="$STATE/munge/key" --socket="$STATE/munge/socket" \
		--pid-file="$STATE/munge/pid" --log-file="$STATE/munge/log" --seed-file="$STATE/munge/seed" --num-threads=2
	chown mysql "$STATE/mysql" "$STATE/run-mysql"
	mariadb-install-db --no-defaults --user=mysql --datadir="$STATE/mysql" --auth-root-authentication-method=normal \
		--skip-test-db >"$STATE/log/install.log" 2>&1 || bail 'mariadb-install-db failed'
	start mariadb mysql "$(command -v mariadbd)" --no-defaults --datadir="$STATE/mysql" --socket="$STATE/run-mysql/sock" \
		--port=$((port + 2)) --bind-address=127.0.0.1 --pid-file="$STATE/run-mysql/pid" --skip-name-resolve \
		--innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --innodb-doublewrite=0 --skip-log-bin \
		--innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900
	wait_for 180 mariadb cluster_sql 'select 1'
	cluster_sql "create database slurm_acct; create user slurm@'127.0.0.1' identified by 'live'; grant all on slurm_acct.* to slurm@'127.0.0.1'"
	# it looks its own name up, which a machine need not have in any list
	start slurmdbd root "${uts[@]}" setpriv --reuid=slurm --regid=slurm --clear-groups -- env SLURM_CONF="$SLURM_CONF" \
		"$(command -v slurmdbd)" -D
	wait_for 180 slurmdbd port_open $((port + 1))
	wait_for 180 slurmdbd sacctmgr -n show cluster
	{
		sacctmgr -i add cluster live
		sacctmgr -i add account broker Description=broker Organization=live
		sacctmgr -i add qos spot Priority=1
		sacctmgr -i modify qos normal set Preempt=spot Priority=100
		sacctmgr -i add user $job_user Account=broker
		sacctmgr -i modify user $job_user set qos=normal,spot DefaultQOS=normal
	} >"$STATE/log/sacctmgr.log" 2>&1
	start slurmctld root "${uts[@]}" setpriv --reuid=slurm --regid=slurm --clear-groups -- \
		env SLURM_CONF="$SLURM_CONF" "$(command -v slurmctld)" -D -f "$SLURM_CONF"
	wait_for 180 slurmctld scontrol ping
	for n in n1 n2; do
		start slurmd-$n root "${uts[@]}" env SLURM_CONF="$SLURM_CONF" "$(command -v slurmd)" -D -N $n -f "$SLURM_CONF"
	done
	start slurmrestd root "${uts[@]}" setpriv --reuid=daemon --regid=daemon --clear-groups -- env SLURM_CONF="$SLURM_CONF" \
		SLURM_JWT=daemon "$(command -v slurmrestd)" -f "$SLURM_CONF" -a rest_auth/jwt \
		-s openapi/v0.0.38,openapi/dbv0.0.38 -t 2 127.0.0.1:$((port + 5))
	wait_for 180 slurmrestd port_open $((port + 5))
	wait_for 180 slurmctld cluster_idle
	rest_url=http://127.0.0.1:$((port + 5))
}
