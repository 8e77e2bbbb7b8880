# A real Slurm of two nodes on one machine, for tests. Sourced by run.sh, which has a network, a mount and a process namespace of
# its own: nothing here is seen outside, and all of it ends with that process.
# shellcheck shell=bash

# hold NAME: a network and a host name for a machine; its process keeps them.
declare -A holders=()
hold() {
  unshare --net --uts --mount -- sleep 100000 &
  holders[$1]=$!
  local own
  own=$(readlink /proc/$$/ns/net)
  until [ "$(readlink "/proc/${holders[$1]}/ns/net")" != "$own" ]; do sleep 0.02; done
}

# on NAME COMMAND...: runs it on that machine.
on() {
  local name=$1
  shift
  nsenter --net="/proc/${holders[$name]}/ns/net" --uts="/proc/${holders[$name]}/ns/uts" -- "$@"
}

# wire NAME ADDRESS: its network card, on the bridge that joins all machines.
wire() {
  ip link add "to-$1" type veth peer name eth0 netns "${holders[$1]}"
  ip link set "to-$1" master bridge0 up
  on "$1" ip link set lo up
  on "$1" ip link set eth0 up
  on "$1" ip addr add "$2/24" dev eth0
  on "$1" hostname "$1"
}

# start_cluster FOLDER: ready when both nodes are idle.
start_cluster() {
  local dir=$1 name here
  here=$(dirname "${BASH_SOURCE[0]}")
  mkdir -p "$dir"/state "$dir"/spool-n1 "$dir"/spool-n2
  chmod 755 "$dir"
  printf '127.0.0.1 localhost\n10.77.0.250 ctl\n10.77.0.1 n1\n10.77.0.2 n2\n' >"$dir/hosts"
  mount --bind "$dir/hosts" /etc/hosts
  ip link set lo up
  ip link add bridge0 type bridge
  ip link set bridge0 up
  hold ctl && wire ctl 10.77.0.250
  hold n1 && wire n1 10.77.0.1
  hold n2 && wire n2 10.77.0.2
  (umask 077 && mkdir "$dir/munge" && head -c 1024 /dev/urandom >"$dir/munge/key")
  munged --force --key-file="$dir/munge/key" --seed-file="$dir/munge/seed" --log-file="$dir/munge/log" \
    --pid-file="$dir/munge/pid" --socket="$dir/munge.socket" 2>>"$dir/munge/started"
  sed "s#@DIR@#$dir#g" "$here/slurm.conf.in" >"$dir/slurm.conf"
  printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=yes\n' >"$dir/cgroup.conf"
  export SLURM_CONF=$dir/slurm.conf
  on ctl slurmctld -c
  for name in n1 n2; do on $name slurmd -N $name; done
  for _ in $(seq 120); do
    [ "$(on ctl timeout 10 sinfo -h -t idle -o %D 2>/dev/null)" != 2 ] || return 0
    sleep 0.5
  done
  tail -n 20 "$dir"/slurm*.log >&2
  echo "the nodes did not come up" >&2
  return 1
}

# stop_cluster FOLDER: its daemons write there until they are gone.
stop_cluster() {
  local file
  for file in "$1"/slurmd-n1.pid "$1"/slurmd-n2.pid "$1"/slurmctld.pid "$1"/munge/pid; do
    if [ -s "$file" ]; then kill -KILL "$(cat "$file")" 2>/dev/null || true; fi
  done
  sleep 0.3
}
