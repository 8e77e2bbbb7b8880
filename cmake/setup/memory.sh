# Memory that may be used here: the machine's, or less where a control group limits it. Sourced by ./isobar.
# shellcheck shell=bash

# cgroup_folders CONTROLLER: the folders of this process's control groups, innermost first (version 2, else 1).
cgroup_folders() {
  local base=$machine/sys/fs/cgroup path
  if [ -e "$base/cgroup.controllers" ]; then
    path=$(sed -n 's/^0:://p' "$machine/proc/self/cgroup" 2>/dev/null | head -n 1)
  else
    path=$(awk -F: -v want="$1" '{ n = split($2, c, ","); for (i = 1; i <= n; i++) if (c[i] == want) print $3 }' "$machine/proc/self/cgroup" 2>/dev/null | head -n 1)
    base=$base/$1
  fi
  while [ -n "$path" ] && [ "$path" != / ]; do
    printf '%s\n' "$base$path"
    path=${path%/*}
  done
  printf '%s\n' "$base"
}

# meminfo KEY: in bytes; nothing where the system does not say.
meminfo() {
  awk -v key="$1:" '$1 == key { printf "%.0f", $2 * 1024 }' "$machine/proc/meminfo" 2>/dev/null || true
}

# memory_allowed: the least limit of the control groups in bytes and what is used of it, without files that the system keeps
# for their next reader; nothing when unlimited.
memory_allowed() {
  local folder least='' used='' kept limit
  while read -r folder; do
    limit=$(cat "$folder/memory.max" 2>/dev/null || cat "$folder/memory.limit_in_bytes" 2>/dev/null || true)
    [[ $limit =~ ^[0-9]{1,18}$ ]] || continue
    [ -n "$least" ] && [ "$least" -le "$limit" ] && continue
    least=$limit
    used=$(cat "$folder/memory.current" 2>/dev/null || cat "$folder/memory.usage_in_bytes" 2>/dev/null || true)
    kept=$(awk '$1 == "inactive_file" { printf "%.0f", $2 }' "$folder/memory.stat" 2>/dev/null || true)
    [[ $used =~ ^[0-9]+$ ]] && [ "$used" -gt "${kept:-0}" ] || used=0 kept=0
    used=$((used - ${kept:-0}))
  done < <(cgroup_folders memory)
  [ -z "$least" ] || printf '%s %s' "$least" "${used:-0}"
}

# memory_free: bytes that could still be taken here.
memory_free() {
  local free limit used
  free=$(meminfo MemAvailable)
  read -r limit used < <(memory_allowed; echo) || true
  if [ -n "${limit:-}" ] && [ $((limit - used)) -lt "${free:-0}" ]; then free=$((limit - used)); fi
  printf '%s' $((${free:-0} > 0 ? free : 0))
}
