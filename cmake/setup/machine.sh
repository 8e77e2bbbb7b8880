# What may be used of this machine before anything is built: its processors and memory, or less where a control group limits
# them; and whether it has an NVIDIA driver. By the rules of engine/base/core (control_groups.h, processors.h, memory.h, nvidia.h);
# tests/setup/machines.txt holds both to them. Sourced by ./isobar.
# shellcheck shell=bash

# ISOBAR_SYSROOT: another root for what is read of the machine itself (/proc, /sys, /dev); the tests describe machines so.
machine=${ISOBAR_SYSROOT:-}

# /dev/dxg is that of WSL.
driver_here() { [ -e "$machine/dev/nvidiactl" ] || [ -e "$machine/proc/driver/nvidia/version" ] || [ -e "$machine/dev/dxg" ]; }

# What reads sets variables and begins no process, since a build asks before each of its parts.

# read_groups CONTROLLER: sets groups to the folders of this process's control groups, innermost first.
read_groups() {
  local base=$machine/sys/fs/cgroup mount='' below='' list path
  groups=()
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
    groups+=("$mount$below")
    below=${below%/*}
  done
  groups+=("$mount")
}

# read_count LIST: sets count to how many a list such as 0-3,8 holds.
read_count() {
  local range
  count=0
  for range in ${1//,/ }; do
    count=$((count + 1))
    [[ ! $range =~ ^([0-9]+)-([0-9]+)$ ]] || count=$((count + BASH_REMATCH[2] - BASH_REMATCH[1]))
  done
}

# read_affinity: sets count to how many processors this process may run on; 0 where it is not known.
read_affinity() {
  local key list=''
  [ ! -r "$machine/proc/self/status" ] || while read -r key list && [ "$key" != Cpus_allowed_list: ]; do :; done <"$machine/proc/self/status"
  read_count "$list"
}

# read_quota: sets quota to the processor time that the control groups allow, in hundredths of a core; empty when unlimited.
read_quota() {
  local folder most period share groups line
  quota=''
  read_groups cpu
  for folder in ${groups[@]+"${groups[@]}"}; do
    most='' period=''
    if [ -r "$folder/cpu.max" ]; then
      read -r most period <"$folder/cpu.max" || true
    else
      read_line "$folder/cpu.cfs_quota_us"
      most=$line
      read_line "$folder/cpu.cfs_period_us"
      period=$line
    fi
    [[ $most =~ ^[1-9][0-9]{0,15}$ && $period =~ ^[1-9][0-9]{0,15}$ ]] || continue
    share=$((most * 100 / period))
    [ -n "$quota" ] && [ "$quota" -le "$share" ] || quota=$share
  done
}

# read_cores: sets cores to how many processors may be used; whole ones of what the control groups allow, at least 1.
read_cores() {
  local count quota
  read_affinity
  cores=$count
  [ "$cores" -gt 0 ] || cores=$(nproc --all)
  read_quota
  [ -z "$quota" ] || [ "$quota" -ge $((cores * 100)) ] || cores=$((quota / 100))
  [ "$cores" -gt 0 ] || cores=1
}

# read_meminfo KEY: sets bytes; empty where it is not known.
read_meminfo() {
  local key value=''
  bytes=''
  [ -r "$machine/proc/meminfo" ] || return 0
  while read -r key value _ && [ "$key" != "$1:" ]; do :; done <"$machine/proc/meminfo"
  [[ $value =~ ^[0-9]+$ ]] || value=${value:+0}
  bytes=${value:+$((value * 1024))}
}

# read_least NUMBER...: sets least, of those that are numbers; empty where none is.
read_least() {
  local one
  least=''
  for one in "$@"; do
    [[ $one =~ ^[0-9]{1,18}$ ]] || continue
    [ -n "$least" ] && [ "$least" -le "$one" ] || least=$one
  done
}

# read_line FILE...: sets line to the first one of the first file that can be read; empty where none can.
read_line() {
  local file
  line=''
  for file; do
    [ ! -r "$file" ] || { read -r line <"$file" || true; break; }
  done
}

# read_group_memory FOLDER: sets limit and used of one control group; files that the system keeps for their next reader
# are not used.
read_group_memory() {
  local key value own=0 total='' above='' kept line least
  if [ -r "$1/memory.stat" ]; then
    while read -r key value; do
      case $key in
        total_inactive_file) total=$value ;;
        inactive_file) own=$value ;;
        hierarchical_memory_limit) above=$value ;;
      esac
    done <"$1/memory.stat"
  fi
  kept=${total:-$own}
  read_line "$1/memory.max"
  limit=$line
  read_line "$1/memory.limit_in_bytes"
  read_least "$limit" "$line" "$above"
  limit=$least
  read_line "$1/memory.current" "$1/memory.usage_in_bytes"
  used=$line
  [[ $used =~ ^[0-9]{1,18}$ ]] || used=0
  used=$((used > kept ? used - kept : 0))
}

# read_allowed: sets memory_limit to the least limit of the control groups in bytes, memory_used to what is used in that
# group, and memory_room to what could still be taken in all of them. Empty when unlimited.
read_allowed() {
  local folder limit used least groups
  memory_limit='' memory_used='' memory_room=''
  read_groups memory
  for folder in ${groups[@]+"${groups[@]}"}; do
    read_group_memory "$folder"
    [ -n "$limit" ] || continue
    read_least "$memory_room" $((limit > used ? limit - used : 0))
    memory_room=$least
    [ -n "$memory_limit" ] && [ "$memory_limit" -le "$limit" ] || memory_limit=$limit memory_used=$used
  done
}

# read_free: sets free to the bytes that could still be taken here.
read_free() {
  local bytes least memory_limit memory_used memory_room
  read_allowed
  read_meminfo MemAvailable
  read_least "$bytes" "$memory_room"
  free=${least:-0}
}
