#!/usr/bin/env bash
# Fuzzes one reader with clang 14, and keeps its corpus, tests/fuzz/corpus/TARGET.tar. TARGET is stream, tfevents, npy,
# safetensors, toml, tab_message, epoch_log, metrics_csv or nccl_tests.
#   run.sh TARGET SECONDS [FOLDER]   what is found is kept in FOLDER (default: a new one below /tmp)
#   run.sh unpack TARGET FOLDER      the corpus as files
#   run.sh pack TARGET FOLDER...     the corpus becomes what is in the folders: every file with a name, and of those
#                                    named by their hash the ones that reach what no other does
# Exit 77: clang 14 or its fuzzer is not installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
# A small quarantine: freed memory would count towards the limit.
export ASAN_OPTIONS=quarantine_size_mb=4
export LC_ALL=C
longest=65536
most_seconds=5 # for one input
# Some branches depend on addresses (tables of pointers): they are counted where those stay.
still=()
if setarch -R true 2>/dev/null; then still=(setarch -R); fi

usage() {
  sed -n '2,8s/^# //p' "$0" >&2
  exit 2
}

# The fuzzer of $target as $1/fuzz_TARGET.
build() {
  local clang=clang++-14 compiler flags objects=() source object explored
  if ! command -v "$clang" >/dev/null; then
    echo "skipped: $clang is not installed"
    exit 77
  fi
  if [ ! -e "$("$clang" -print-resource-dir)/lib/linux/libclang_rt.fuzzer-$(uname -m).a" ]; then
    echo "skipped: libFuzzer is not installed (libclang-rt-14-dev)"
    exit 77
  fi
  compiler=("$clang")
  if command -v ccache >/dev/null; then compiler=(ccache "$clang"); fi
  flags=(-std=c++20 -O2 -g -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS "-DISOBAR_SOURCE_DIR=\"$root\""
    "-fsanitize=address,undefined,float-cast-overflow" -fno-sanitize-recover=all)
  mkdir -p "$1/objects"
  for source in $(cat "$here/sources.txt") tests/fuzz/checks.cpp "tests/fuzz/fuzz_$target.cpp"; do
    object="$1/objects/$(basename "$source" .cpp).o"
    # Checks and checksums are not what is explored: without coverage they are fast.
    case $source in */checks.cpp | engine/base/core/*) explored= ;; *) explored=-fsanitize=fuzzer-no-link ;; esac
    "${compiler[@]}" "${flags[@]}" ${explored:+"$explored"} -I"$root/engine/base" -I"$root/engine/reading" -I"$root/gui" -I"$root/tests" \
      -c "$root/$source" -o "$object"
    objects+=("$object")
  done
  "$clang" "${flags[@]}" -fsanitize=fuzzer "${objects[@]}" -lsimdjson -lfmt -o "$1/fuzz_$target"
}

unpack() {
  mkdir -p "$1"
  tar -xf "$here/corpus/$target.tar" -C "$1"
}

# What the files of folder $2 reach, as libFuzzer counts it.
reached() {
  ${still[@]+"${still[@]}"} "$1/fuzz_$target" -runs=0 -max_len="$longest" "$2" 2>&1 |
    sed -n 's/.*INITED *\(cov: [0-9]* ft: [0-9]*\).*/\1/p'
}

# Whether the last piece ended only because the machine had no time for it: libFuzzer counts seconds on the wall. Each
# input that it gave up gets the same seconds of a processor.
was_kept_waiting() {
  local artifact
  [ -z "$(find "$1/artifacts" -type f ! -name 'timeout-*' ! -name 'slow-unit-*' -print -quit)" ] || return 1
  [ -n "$(find "$1/artifacts" -type f -name 'timeout-*' -print -quit)" ] || return 1
  for artifact in "$1/artifacts"/timeout-*; do
    (ulimit -t "$most_seconds" && "$1/fuzz_$target" -timeout=3600 "$artifact") >"$1/log.again" 2>&1 || return 1
    rm "$artifact"
  done
}

# In pieces of a minute, so that who waits sees how far it is; every other one tries long inputs from its start.
campaign() {
  local seconds=$1 out=$2 done=0 piece runs
  mkdir -p "$out/found" "$out/artifacts"
  build "$out"
  unpack "$out/corpus"
  while [ "$done" -lt "$seconds" ]; do
    piece=$((seconds - done < 60 ? seconds - done : 60))
    nice -n 10 "$out/fuzz_$target" -max_total_time="$piece" -max_len="$longest" -rss_limit_mb=256 -malloc_limit_mb=64 \
      -timeout="$most_seconds" -len_control="$((done / 60 % 2 == 0 ? 100 : 0))" -dict="$here/$target.dict" -print_final_stats=1 \
      -artifact_prefix="$out/artifacts/" "$out/found" "$out/corpus" >"$out/log" 2>&1 || {
      if was_kept_waiting "$out"; then
        echo "$done of $seconds s: this machine had no time for an input that takes less than $most_seconds s; once more"
        continue
      fi
      tail -n 40 "$out/log"
      echo "a finding, or stopped from outside: see $out/artifacts"
      exit 1
    }
    done=$((done + piece))
    runs=$(awk '/number_of_executed_units/ {print $2}' "$out/log")
    echo "$done of $seconds s: $(grep -o "cov:.*" "$out/log" | tail -1), $runs runs"
  done
  grep -E "^stat::peak_rss_mb" "$out/log"
  echo "kept in $out"
}

pack() {
  local work file folder
  work=$(mktemp -d /tmp/isobar-pack-XXXXXX)
  build "$work"
  mkdir "$work/all" "$work/kept" "$work/hashed"
  for folder in "$@"; do find "$folder" -maxdepth 1 -type f -exec cp -t "$work/all" {} +; done
  for file in "$work/all"/*; do
    if [[ $(basename "$file") =~ ^[0-9a-f]{40}$ ]]; then cp "$file" "$work/hashed"; else cp "$file" "$work/kept"; fi
  done
  ${still[@]+"${still[@]}"} "$work/fuzz_$target" -set_cover_merge=1 -max_len="$longest" -artifact_prefix="$work/" \
    "$work/kept" "$work/hashed" >"$work/log" 2>&1 || {
    tail -n 40 "$work/log"
    exit 1
  }
  for folder in all kept; do
    echo "$folder: $(find "$work/$folder" -type f | wc -l) files, $(reached "$work" "$work/$folder")"
  done
  # The same bytes whoever packs: no times, no owners, in the order of the names.
  (cd "$work/kept" && tar --format=ustar -b1 --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 \
    -cf "$here/corpus/$target.tar" -- *)
  rm -r "$work"
}

[ $# -ge 2 ] || usage
mode=fuzz
case $1 in pack | unpack) mode=$1 && shift ;; esac
target=$1
shift
if [ ! -e "$here/fuzz_$target.cpp" ] || [ $# -eq 0 ]; then usage; fi
if [ "$mode" = pack ]; then
  pack "$@"
elif [ "$mode" = unpack ]; then
  unpack "$1"
else
  [[ $1 =~ ^[1-9][0-9]*$ ]] || usage
  campaign "$1" "${2:-$(mktemp -d "/tmp/isobar-fuzz-$target-XXXXXX")}"
fi
