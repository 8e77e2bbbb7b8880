# What may be used of this machine before anything is built: its processors and memory, or less where a control group limits
# them; and whether it has an NVIDIA driver. By the rules of engine/base/core (control_groups.h, processors.h, memory.h, nvidia.h);
# tests/setup/machines.txt holds both to them. Sourced by ./isobar.
# shellcheck shell=bash

# ISOBAR_SYSROOT: another root for what is read of the machine itself (/proc, /sys, /dev); the tests describe machines so.
machine=${ISOBAR_SYSROOT:-}

# /dev/dxg is that of WSL.
driver_here() { [ -e "$machine/dev/nvidiactl" ] || [ -e "$machine/proc/driver/nvidia/version" ] || [ -e "$machine/dev/dxg" ]; }

# cgroup_folders CONTROLLER: the folders of this process's control groups, innermost first.
cgroup_folders() {
  local base=$machine/sys/fs/cgroup mount='' below='' list path
  [ -r "$machine/proc/self/cgroup" ] || return 0
  while IFS=: read -r _ list path; do  # 4:cpu,cpuacct:/path, 0::/path
    if [[ ,$list, = *",$1,"* ]]; then
      mount=$base/$1 below=$path
      [ -d "$mount" ] || mount=$base/$list
      break
    elif [ -z "$list" ]; then
      mount=$base below=$path
      [ -e "$base/cgroup.controllers" ] || mount=$base/unified
    fi
  done <"$machine/proc/self/cgroup"
  [ -n "$mount" ] || return 0
  while [[ $below = /..* ]]; do below=${below#/..}; done
  while [ -n "$below" ] && [ ! -d "$mount$below" ]; do  # a container may show a path of the machine outside
    below=${below#/}
    case $below in */*) below=/${below#*/} ;; *) below='' ;; esac
  done
  while [ -n "$below" ] && [ "$below" != / ]; do
    printf '%s\n' "$mount$below"
    below=${below%/*}
  done
  printf '%s\n' "$mount"
}

# count_of LIST: of a list such as 0-3,8: how many.
count_of() {
  local range sum=0
  for range in ${1//,/ }; do
    sum=$((sum + 1))
    [[ ! $range =~ ^([0-9]+)-([0-9]+)$ ]] || sum=$((sum + BASH_REMATCH[2] - BASH_REMATCH[1]))
  done
  printf '%s' "$sum"
}

# cores_by_affinity: how many this process may run on; 0 where the system does not say.
cores_by_affinity() {
  local key list=''
  [ ! -r "$machine/proc/self/status" ] || while read -r key list && [ "$key" != Cpus_allowed_list: ]; do :; done <"$machine/proc/self/status"
  count_of "$list"
}

# cores_allowed: the processor time that the control groups allow, in hundredths of a core; nothing when unlimited.
cores_allowed() {
  local folder least='' quota period share
  while read -r folder; do
    quota='' period=''
    if [ -r "$folder/cpu.max" ]; then
      read -r quota period <"$folder/cpu.max" || true
    elif [ -r "$folder/cpu.cfs_quota_us" ]; then
      quota=$(cat "$folder/cpu.cfs_quota_us") period=$(cat "$folder/cpu.cfs_period_us" 2>/dev/null || true)
    fi
    [[ $quota =~ ^[1-9][0-9]{0,15}$ && $period =~ ^[1-9][0-9]{0,15}$ ]] || continue
    share=$((quota * 100 / period))
    [ -n "$least" ] && [ "$least" -le "$share" ] || least=$share
  done < <(cgroup_folders cpu)
  printf '%s' "$least"
}

# usable_cores: how many may be used; whole ones of what the control groups allow, at least 1.
usable_cores() {
  local cores limit
  cores=$(cores_by_affinity)
  [ "$cores" -gt 0 ] || cores=$(nproc --all)
  limit=$(cores_allowed)
  [ -z "$limit" ] || [ "$limit" -ge $((cores * 100)) ] || cores=$((limit / 100))
  printf '%s' $((cores > 0 ? cores : 1))
}

# meminfo KEY: in bytes; nothing where the system does not say.
meminfo() {
  local key value=''
  [ -r "$machine/proc/meminfo" ] || return 0
  while read -r key value _ && [ "$key" != "$1:" ]; do :; done <"$machine/proc/meminfo"
  [[ $value =~ ^[0-9]+$ ]] || value=${value:+0}
  printf '%s' "${value:+$((value * 1024))}"
}

# least_of NUMBER...: of those that are numbers; nothing where none is.
least_of() {
  local one least=''
  for one in "$@"; do
    [[ $one =~ ^[0-9]{1,18}$ ]] || continue
    [ -n "$least" ] && [ "$least" -le "$one" ] || least=$one
  done
  printf '%s' "$least"
}

# first_line FILE...: of the first that can be read; nothing where none can.
first_line() {
  local file line=''
  for file; do
    [ ! -r "$file" ] || { read -r line <"$file" || true; break; }
  done
  printf '%s' "$line"
}

# memory_allowed: the least limit of the control groups in bytes, what is used in that group, and what could still be
# taken in all of them; files that the system keeps for their next reader count as free. Nothing when unlimited.
memory_allowed() {
  local folder least='' of_least='' free='' used kept limit above
  while read -r folder; do
    read -r kept above < <(awk '$1 == "total_inactive_file" { total = $2 } $1 == "inactive_file" { own = $2 }
      $1 == "hierarchical_memory_limit" { above = $2 } END { print (total == "" ? own + 0 : total), above }' "$folder/memory.stat" 2>/dev/null; echo) || true
    limit=$(least_of "$(first_line "$folder/memory.max")" "$(first_line "$folder/memory.limit_in_bytes")" "${above:-}")
    [ -n "$limit" ] || continue
    used=$(first_line "$folder/memory.current" "$folder/memory.usage_in_bytes")
    [[ $used =~ ^[0-9]{1,18}$ ]] || used=0
    used=$((used > ${kept:-0} ? used - ${kept:-0} : 0))
    free=$(least_of "$free" $((limit > used ? limit - used : 0)))
    [ -n "$least" ] && [ "$least" -le "$limit" ] || least=$limit of_least=$used
  done < <(cgroup_folders memory)
  [ -z "$least" ] || printf '%s %s %s' "$least" "$of_least" "$free"
}

# memory_free: bytes that could still be taken here.
memory_free() {
  local free room
  read -r _ _ room < <(memory_allowed; echo) || true
  free=$(least_of "$(meminfo MemAvailable)" "$room")
  printf '%s' "${free:-0}"
}
