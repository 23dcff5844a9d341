#!/bin/bash
# Own machines behind a real sshd on loopback: list, take, find, give back, no room, jobs and the probe over ssh, host keys.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
. "$TOP_SRCDIR/tests/live/lib.sh"
need 'own machines behind a live sshd' sshd ssh ssh-keygen setsid
made=
down() {
	stop sshd
	[ -z "$made" ] || rmdir /run/sshd 2>/dev/null
	rm -rf "$STATE"
}
trap down EXIT
trap 'exit 99' HUP INT TERM

claim_ports 1
user=$(id -un)
mkdir -p "$STATE/bin" "$STATE/far" "$STATE/farbin"
# sshd forks into an empty folder, which its own service makes
[ "$(id -u)" != 0 ] || [ -d /run/sshd ] || { mkdir -m 0755 /run/sshd && made=yes; }
for k in host other; do ssh-keygen -q -t ed25519 -N '' -f "$STATE/etc/$k"; done
ssh-keygen -q -t ed25519 -N '' -f "$STATE/etc/user"
cp "$STATE/etc/user.pub" "$STATE/etc/authorized"
cat >"$STATE/etc/sshd.conf" <<EOF
ListenAddress 127.0.0.1:$port
HostKey $STATE/etc/host
AuthorizedKeysFile $STATE/etc/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv HOME=$STATE/far PATH=$STATE/farbin:/usr/local/bin:/usr/bin:/bin
EOF
known() {	# known KEY: the key that the machines are known by
	printf 'node1,node2,node3 %s\n' "$(cut -d' ' -f1,2 "$STATE/etc/$1.pub")" >"$STATE/etc/known"
}
known host
cat >"$STATE/etc/ssh.conf" <<EOF
Host node3
	Port $((port + 1))	# nobody there; of a key that comes twice, ssh takes the first
Host node1 node2 node3
	HostName 127.0.0.1
	Port $port
	User $user
	IdentityFile $STATE/etc/user
	IdentitiesOnly yes
	UserKnownHostsFile $STATE/etc/known
	GlobalKnownHostsFile /dev/null
Host node1
	HostKeyAlias node1
Host node2
	HostKeyAlias node2
Host node3
	HostKeyAlias node3
EOF
# ssh reads the user's own files, not $HOME: ours are named to it
printf '#!/bin/sh\nexec %s -F %s/etc/ssh.conf "$@"\n' "$(command -v ssh)" "$STATE" >"$STATE/bin/ssh"
chmod 755 "$STATE/bin/ssh"
PATH=$STATE/bin:$PATH
start sshd "$user" "$(command -v sshd)" -D -e -f "$STATE/etc/sshd.conf"
up() { ssh -o BatchMode=yes node1 true; }
wait_for 180 sshd up

printf '#!/bin/sh\ncat <<"J"\n%s\nJ\n' "$(cat "$TOP_SRCDIR/tests/cli/probe-l4.json")" >"$STATE/probe"
chmod 755 "$STATE/probe"
export BERTH_PROBE=$STATE/probe
mkdir -p "$HOME/.config/berth"
config() {	# config ADDRESS...
	local a
	printf 'schema: berth.config/1\naccounts:\n  - name: lab\n    provider: static\n    machines:\n' >"$HOME/.config/berth/berth.yaml"
	for a in "$@"; do
		echo "      - {name: $a, address: $a, accelerator: L4, accelerator_memory_gib: 24, price_per_hour: 0.36}"
	done >>"$HOME/.config/berth/berth.yaml"
}
minute=1
at() { printf '2026-11-30T%02d:%02d:00Z' $((minute / 60)) $((minute % 60)); }
step() {	# step CALL...: at the test's own time
	run --now "$(at)" "$@"
}
submit() {	# submit NAME TEXT: the job's id is in $id
	printf 'schema: berth.job/1\nname: %s\naccelerators: "L4:1"\nwork: 1h\nrun: |\n  %s\n' "$1" "$2" >"$STATE/job.yaml"
	step submit "$STATE/job.yaml"
	id=$(cut -d' ' -f1 "$STATE/out")
}
ticks() {	# ticks ID STATE: a minute at a time until the job is there
	local n
	for ((n = 0; n < 40; n++)); do
		step -q tick
		minute=$((minute + 1))
		step job "$1" -o json
		[ "$(json '$.state')" = "$2" ] && return 0
		if [ $n -lt 10 ]; then sleep 0.1; else sleep 1; fi
	done
	return 1
}
cd "$HOME" || exit 99
config node1 node2
step init --no-prices
step prices refresh -o json
[ $status -eq 0 ] && [ "$(json '$.providers[0].offers')" = 1 ]
ok $? 'two machines of one kind are one offer'

submit proof 'echo "$BERTH_JOB $SSH_CONNECTION" >"$HOME/proof"'
proof=$id
ticks "$proof" 'done'
ok $? 'a job runs behind sshd'
grep -q "^$proof 127.0.0.1 [0-9]* 127.0.0.1 $port\$" "$STATE/far/proof"
ok $? 'over a connection of its own'
[ "$(cat "$STATE/far/.berth/$proof/status")" = 0 ]
ok $? 'its exit status is kept beside its log, on the machine'
step job "$proof" -o json
[ "$(json '$.attempts[0].verdict')" = accept ]
ok $? 'the probe travelled and measured it'
submit wrong 'exit 3'
ticks "$id" failed
ok $? 'a job that ends with a status fails'

# Both machines are taken; a third job waits, and gets the first that is given back.
submit long1 'while [ ! -e "$HOME/go1" ]; do sleep 0.1; done'
one=$id
submit long2 'while [ ! -e "$HOME/go2" ]; do sleep 0.1; done'
two=$id
ticks "$one" running && ticks "$two" running
ok $? 'two machines, two jobs'
step instances -o json
[ "$(grep -c '"state": "ready"' "$STATE/out")" = 2 ] && grep -q node1 "$STATE/out" && grep -q node2 "$STATE/out"
ok $? 'both are found'
submit third 'true'
third=$id
step -q tick
minute=$((minute + 1))
step job "$third" -o json
[ "$(json '$.state')" != running ] && [ "$(json '$.state')" != 'done' ]
ok $? "no room for a third: $(json '$.state')"
touch "$STATE/far/go1"
ticks "$one" 'done' && ticks "$third" 'done'
ok $? 'it gets the machine that is given back'
touch "$STATE/far/go2"
ticks "$two" 'done'
minute=$((minute + 120))
step -q tick
minute=$((minute + 1))
step -q tick
step instances -o json
! grep -q '"state": "ready"' "$STATE/out"
ok $? 'all are given back'

# A GPU that does nothing, by an nvidia-smi on that machine; then one that gives no number.
printf 'idle: {stop: 20m, alert: 10m}\n' >>"$HOME/.config/berth/berth.yaml"
printf '#!/bin/sh\n. "%s/smi"\n' "$STATE" >"$STATE/farbin/nvidia-smi"
chmod 755 "$STATE/farbin/nvidia-smi"
idle() {	# idle ANSWER: half an hour of a job that only waits; its id is in $id
	local n
	echo "$1" >"$STATE/smi"
	submit idle 'trap "touch \"\$HOME/saved\"; exit 1" TERM; while [ ! -e "$HOME/go3" ]; do sleep 0.1; done'
	ticks "$id" running
	for ((n = 0; n < 10; n++)); do step -q tick; minute=$((minute + 3)); done
	step job "$id" -o json
}
idle 'echo 0'
[ "$(json '$.state')" = cancelled ] && [ -e "$STATE/far/saved" ]
ok $? "a job whose GPU is idle is ended, with its own hook: $(json '$.reason')"
idle 'exit 1'
[ "$(json '$.state')" = running ]
ok $? 'one whose GPU nobody can ask is not'
step events -t job.idle_unknown -n 0 -o csv --columns subject --no-headers
[ "$(grep -c "^$id" "$STATE/out")" = 1 ]
ok $? 'which is told once'
touch "$STATE/far/go3"
ticks "$id" 'done'

# A machine with another key is not the machine that it was.
known other
minute=$((minute + 240))
submit trust 'echo ran >"$HOME/trusted"'
for ((n = 0; n < 6; n++)); do
	step -q tick
	minute=$((minute + 1))
done
[ ! -e "$STATE/far/trusted" ]
ok $? 'a machine whose host key has changed gets no job'
step events -n 0
grep -q 'instance.rejected .*: node[12]: Host key verification failed' "$STATE/out"
ok $? "and ssh's words are told"
step job cancel "$id"
known host

# Nobody there.
config node3
minute=$((minute + 240))
step -q prices refresh
submit nobody 'true'
for ((n = 0; n < 6; n++)); do
	step -q tick
	minute=$((minute + 1))
done
step job "$id" -o json
[ "$(json '$.state')" != 'done' ] && [ "$(json '$.state')" != running ]
ok $? "a machine that does not answer runs nothing: $(json '$.state')"
step events -n 0
grep -q 'node3: .*Connection refused' "$STATE/out"
ok $? "and ssh's words are told"
done_testing
