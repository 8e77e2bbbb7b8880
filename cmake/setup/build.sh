# Configuring and building, with progress and a log. Sourced by ./isobar.
# shellcheck shell=bash

build_jobs() {
  local cores jobs
  cores=$(nproc)
  jobs=$(($(memory_free) / 1500000000))  # a file that includes libtorch takes up to 1.3 GB to compile
  [ "$jobs" -le "$cores" ] || jobs=$cores
  [ "$jobs" -ge 1 ] || jobs=1
  printf '%s' "$jobs"
}

# configure ON|OFF: with the CUDA plugin or without.
configure() {
  mkdir -p "$build"
  say "configuring ..."
  local window=OFF nvcc
  local -a cuda_options=(-DISOBAR_CUDA="$1")
  [[ $(parts_here) != *gui* ]] || window=ON
  if [ "$1" = ON ]; then
    nvcc=$(toolkit_nvcc)
    cuda_options+=(-DCMAKE_CUDA_COMPILER="${nvcc:-$(wheel_nvcc)}")
  fi
  (cd "$home" && cmake --preset default -DLIBTORCH_PREFIX="$(libtorch_folder)" -DISOBAR_GUI=$window "${cuda_options[@]}") >"$build/configure.log" 2>&1 || {
    grep -A 6 'CMake Error' "$build/configure.log" >&2 || tail -n 10 "$build/configure.log" >&2
    die "the build could not be configured" "log: $build/configure.log" "./isobar doctor says what is missing"
  }
}

# build_targets TARGET...: quiet when there is nothing to do.
build_targets() {
  local line status=1 count total shown=0 begun=''
  exec 8>"$build/.lock"
  flock 8  # two at once would write the same files
  while IFS= read -r line; do
    printf '%s\n' "$line" >&7
    [[ $line != 'exit '* ]] || status=${line#exit }
    [[ $line =~ ^([0-9]+)/([0-9]+)\  ]] || continue
    count=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    [ -n "$begun" ] || { begun=$SECONDS; [ -t 1 ] || say "building $total files ..."; }
    if [ -t 1 ] || [ $((count * 5 / total)) -gt "$shown" ]; then
      live "  building: $count of $total"
      shown=$((count * 5 / total))
    fi
  done 7>"$build/build.log" < <(NINJA_STATUS='%f/%t ' ninja -C "$build" -j "$(build_jobs)" "$@" 2>&1; printf 'exit %s\n' $?)
  exec 8>&-
  live_end
  [ "$status" = 0 ] || {
    grep -E -A 4 ' error: |^FAILED|undefined reference' "$build/build.log" | cut -c 1-200 | head -n 25 >&2
    die "the build failed" "log: $build/build.log" "fix what the compiler says and run the same command again"
  }
}
