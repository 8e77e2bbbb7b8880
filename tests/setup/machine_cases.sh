# Cases of run_all.sh: what the shell decides of a machine before anything is built, held to the table that the engine is held to.
# shellcheck shell=bash

# machine_says: what the shell finds on the machine below $MACHINE, in the words of the table.
machine_says() (
  # shellcheck disable=SC2030,SC2153  # MACHINE is the world's
  export ISOBAR_SYSROOT=$MACHINE
  # shellcheck source=cmake/setup/machine.sh
  . "$ROOT/cmake/setup/machine.sh"
  read_quota
  read_cores
  printf 'quota %s\nprocessors %s\n' "${quota:--}" "$cores"
  read_allowed
  read_meminfo MemTotal
  read_least "$memory_limit" "$bytes"
  read_free
  printf 'memory %s %s\n' "$least" "$free"
  ! driver_here || echo driver
)

# hold_to_table: ends the machine under way: what was expected of it is what the shell says.
hold_to_table() {
  [ -n "$name" ] || return 0
  said=$(machine_says)
  expect "$name: $(paste -sd' ' <<<"$wanted"), it says $(paste -sd' ' <<<"$said")" [ "$said" = "$wanted" ]
  tried=$((tried + 1))
}

case_machines() {
  local word rest name='' wanted='' said tried=0 path
  while read -r word rest; do
    path=$MACHINE/${rest%% *}
    case $word in
      machine)
        hold_to_table
        name=$rest wanted=''
        rm -rf "$MACHINE" && mkdir -p "$MACHINE/proc/self"
        printf 'MemTotal: 16000000 kB\nMemAvailable: 9000000 kB\n' >"$MACHINE/proc/meminfo" ;;
      affinity) printf 'Cpus_allowed_list:\t0-%s\n' $((rest - 1)) >"$MACHINE/proc/self/status" ;;
      folder) mkdir -p "$path" ;;
      file)
        mkdir -p "${path%/*}"
        [[ $rest = *' '* ]] && rest=${rest#* } || rest=
        printf '%b\n' "$rest" >"$path" ;;
      quota | processors | memory) wanted+=${wanted:+$'\n'}"$word $rest" ;;
      driver) wanted+=$'\n'driver ;;
    esac
  done < <(cat "$ROOT/tests/setup/machines.txt"; echo machine)
  expect "all machines of the table" [ "$tried" = "$(grep -c '^machine ' "$ROOT/tests/setup/machines.txt")" ]
}
case_jobs_fit_the_control_group() {
  OUT=$(
    # shellcheck disable=SC2031,SC2034  # read by the parts
    export ISOBAR_SYSROOT=$MACHINE OMP_NUM_THREADS=1  # which is of threads, and none of a build
    . "$ROOT/cmake/setup/machine.sh"
    . "$ROOT/cmake/setup/build.sh"
    read_jobs
    printf '%s' "$jobs"
    printf 'Cpus_allowed_list:\t0-7\n' >"$MACHINE/proc/self/status"
    echo 0::/job >"$MACHINE/proc/self/cgroup"
    mkdir "$MACHINE/sys/fs/cgroup/job"
    echo "250000 100000" >"$MACHINE/sys/fs/cgroup/job/cpu.max"
    read_jobs
    printf ' %s' "$jobs"
    echo 2000000000 >"$MACHINE/sys/fs/cgroup/job/memory.max"
    read_jobs
    printf ' %s' "$jobs"
  )
  expect "those of affinity, of the quota, of the memory, not \"$OUT\"" [ "$OUT" = "2 2 1" ]
}
