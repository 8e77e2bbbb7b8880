# Configuring and building, with progress and a log; one builds at a time. Sourced by ./isobar.
# shellcheck shell=bash

# shellcheck source=/dev/null
. "${BASH_SOURCE[0]%/*}/lock.sh"

# read_jobs: sets jobs to how many compilers may be at work at once.
read_jobs() {
  local cores free
  read_cores
  read_free
  jobs=$((free / 1500000000))  # a file that includes libtorch takes up to 1.3 GB to compile
  [ "$jobs" -le "$cores" ] || jobs=$cores
  [ "$jobs" -ge 1 ] || jobs=1
}

# lock_build [TARGET...]: two at once would write the same files. A command that waits prints for whom, and how far it is; whose
# targets are up to date, or who asks for help, need not wait, and gets 1 instead of the lock.
lock_build() {
  local owner words status=0
  [ -d "$build" ] || mkdir -p "$build"
  exec 8>>"$build/.lock"
  try_lock 8 || status=$?
  if [ $status != 0 ] && [ $# -gt 0 ] && need_not_build "$@"; then
    unlock_build
    return 1
  fi
  if [ $status = 2 ]; then
    report_no_locks "$build"
  elif [ $status = 1 ]; then
    read -r owner words <"$build/.lock" || owner='?'
    live_end
    say "waiting for ./isobar ${words:-} (process $owner), which builds; Ctrl-C stops waiting"
    looked=$SECONDS
    if ! await_lock 8 still_builds "$@"; then
      unlock_build
      return 1
    fi
  fi
  words="$command ${args[0]:-}"
  printf '%s %s\n' $$ "${words//[^[:print:]]/}" >"$build/.lock"
}
unlock_build() { exec 8>&-; }

# up_to_date TARGET...: each was built, and nothing that it could be made of was written since. Coarser than ninja,
# which knows what a target is made of, but safe to ask while another ninja is at work.
up_to_date() {
  local target stamp oldest=''
  for target in "$@"; do
    stamp=$build/.built/$target
    [ "$build/.built/all" -ot "$stamp" ] || stamp=$build/.built/all
    [ -f "$stamp" ] && [ ! "$build/.ready" -nt "$stamp" ] || return 1
    [[ $target = all || $target = isobar_* ]] || [ -x "$build/bin/$target" ] || return 1
    [ -n "$oldest" ] && [ ! "$stamp" -ot "$oldest" ] || oldest=$stamp
  done
  [ -z "$(find -L "$home" -mindepth 1 \( -path "$home/build*" -o -path "$home/runs" -o -path "$home/my" -o -path "$prefix" -o -name .git \) -prune -o \
    ! -name '*.md' -newer "$oldest" -print -quit 2>/dev/null)" ]
}

# ninja_has_done TARGET...: as ninja knows it, which only looks here. Into copies of its logs, for it mends what it takes
# for damaged, and another may write to them just now.
ninja_has_done() {
  local aside found
  [ -f "$build/build.ninja" ] && aside=$(mktemp -d 2>/dev/null) || return 1
  cp "$build/.ninja_log" "$build/.ninja_deps" "$aside/" 2>/dev/null || true
  printf 'builddir = %s\ninclude build.ninja\n' "$aside" >"$aside/look.ninja"
  found=$(ninja -C "$build" -f "$aside/look.ninja" -n build.ninja "$@" 2>/dev/null) || true
  rm -rf "$aside"
  [[ $found = *'ninja: no work to do'* ]]
}

is_built() { up_to_date "$@" || ninja_has_done "$@"; }

# need_not_build TARGET...: a page is read from the program that is there, or is the general one.
need_not_build() {
  [ -n "${wants_help:-}" ] || { is_built "$@"; return; }
  [ -x "$build/bin/$program" ] || { usage; exit 0; }
}

looked=0  # when is_built was asked last, in seconds
# still_builds [TARGET...]: reports how far the other build is; 1 = meanwhile it has made these targets.
still_builds() {
  local line=''
  if [ "$build/build.log" -nt "$build/.lock" ]; then
    line=$(tail -n 40 "$build/build.log" 2>/dev/null | sed -n 's#^\([0-9]*\)/\([0-9]*\) .*#it has built \1 of \2#p' | tail -n 1) || true
  fi
  [ -z "$line" ] || report "$line"
  [ $# -gt 0 ] && [ $((SECONDS - looked)) -ge 15 ] || return 0
  looked=$SECONDS
  ! is_built "$@"
}

# configure TORCH CUDA: each ON or OFF.
configure() {
  local window=OFF tests=OFF status=0 here
  local -a options=()
  find_here
  [[ " $here " != *" gui "* ]] || window=ON
  [[ " $here " != *" test "* ]] || tests=ON
  if [ "$2" = ON ]; then
    find_nvcc
    options+=(-DCMAKE_CUDA_COMPILER="${toolkit_nvcc:-$(wheel_nvcc)}")
  fi
  add_system_options
  lock_build
  (cd "$home" && exec cmake --preset default -DLIBTORCH_PREFIX="$libtorch_folder" -DISOBAR_GUI=$window -DISOBAR_TESTS=$tests \
    -DISOBAR_WERROR="${ISOBAR_WERROR:-OFF}" -DISOBAR_TORCH="$1" -DISOBAR_CUDA="$2" ${options[@]+"${options[@]}"}) >"$build/configure.log" 2>&1 6>&- || status=$?
  unlock_build
  [ $status = 0 ] || {
    grep -A 6 'CMake Error' "$build/configure.log" >&2 || tail -n 10 "$build/configure.log" >&2
    die "the build could not be configured" "log: $build/configure.log" "./isobar doctor lists what is missing"
  }
}

# stamp_built TARGET...: as old as the beginning of the build, so that what was changed meanwhile is newer.
stamp_built() { touch -r "$build/.built/.begin" "${@/#/$build/.built/}"; }

# headers_anew: whether the compiler crashed, for the first time. GCC writes a precompiled header now and then that it
# cannot read itself, and ccache would hand out the same one again and again.
headers_anew() {
  [ -z "${CCACHE_RECACHE:-}" ] && grep -q 'internal compiler error' "$build/build.log" || return 1
  export CCACHE_RECACHE=1
  find "$build/cmake/precompiled" -name '*.gch' -delete 2>/dev/null
  say "the compiler crashed: once more, with precompiled headers made anew"
}

# build_targets TARGET...: quiet when there is nothing to do; shows other parts at work beside it.
build_targets() {
  local line status=0 shown='' pause=0 jobs
  local -a pauses=(0.01 0.02 0.04 0.08 0.15 0.3)
  lock_build "$@" || return 0
  [ -d "$build/.built" ] || mkdir "$build/.built"
  : >"$build/.built/.begin"
  read_jobs
  exec 4< <(NINJA_STATUS='%f/%t ' exec ninja -C "$build" -j "$jobs" "$@" 2>&1 6>&-)
  background=$!
  [ -z "$parts_folder" ] || printf '+%s\n' "$background" >&6
  while true; do
    # A line, or every now and then a look at the others. Not by "read -t 0.3": a signal that comes as its time is up
    # aborts bash 5.2 (longjmp causes uninitialized stack frame), and nothing is cleaned up.
    if read -r -t 0 <&4; then
      IFS= read -r line <&4 || break
      printf '%s\n' "$line" >&7
      [[ $line =~ ^([0-9]+)/([0-9]+)\  ]] || continue
      [ -n "$shown" ] || is_live || say "building ${BASH_REMATCH[2]} files ..."
      shown="building ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    else
      sleep "${pauses[pause]}"
      pause=$((pause < 5 ? pause + 1 : 5))
    fi
    reap_parts
    [ -z "$shown$parts_folder" ] || show_parts "$shown"
  done 7>"$build/build.log"
  wait "$background" || status=$?
  [ -z "$parts_folder" ] || printf -- '-%s\n' "$background" >&6
  background=
  exec 4<&-
  [ $status != 0 ] || stamp_built "$@"
  unlock_build
  live_end
  [ $status = 0 ] || {
    if headers_anew; then
      build_targets "$@"
      return
    fi
    grep -E -A 4 ' error: |^FAILED|undefined reference|[Nn]o space left' "$build/build.log" | cut -c 1-200 | head -n 25 >&2 ||
      tail -n 5 "$build/build.log" >&2
    die "the build failed" "log: $build/build.log" "fix what the compiler says and run the same command again"
  }
}
