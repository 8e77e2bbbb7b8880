#!/usr/bin/env bash
# Fuzzes one reader with clang 14: run.sh stream|tfevents|npy|safetensors|toml SECONDS [FOLDER]
# What is found is kept in FOLDER (default: a new one below /tmp); the committed corpus is only read.
set -eu
target=$1
seconds=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${3:-$(mktemp -d "/tmp/isobar-fuzz-$target-XXXXXX")}
mkdir -p "$out/objects" "$out/found" "$out/artifacts"

flags=(-std=c++20 -O2 -g -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS "-DISOBAR_SOURCE_DIR=\"$root\""
  "-fsanitize=address,undefined,float-cast-overflow" -fno-sanitize-recover=all)
objects=()
for source in $(cat "$here/sources.txt") tests/fuzz/checks.cpp "tests/fuzz/fuzz_$target.cpp"; do
  object="$out/objects/$(basename "$source" .cpp).o"
  # Checks and checksums are not what is explored: without coverage they are fast.
  case $source in */checks.cpp | engine/core/*) explored= ;; *) explored=-fsanitize=fuzzer-no-link ;; esac
  clang++-14 "${flags[@]}" ${explored:+"$explored"} -I"$root/engine" -I"$root/tests" -c "$root/$source" -o "$object"
  objects+=("$object")
done
clang++-14 "${flags[@]}" -fsanitize=fuzzer "${objects[@]}" -lsimdjson -lfmt -o "$out/fuzz_$target"

# A small quarantine: freed memory would count towards the limit.
export ASAN_OPTIONS=quarantine_size_mb=4
nice -n 10 "$out/fuzz_$target" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=256 -malloc_limit_mb=64 \
  -timeout=5 -dict="$here/$target.dict" -artifact_prefix="$out/artifacts/" -print_final_stats=1 \
  "$out/found" "$here/corpus/$target" >"$out/log" 2>&1 || {
  tail -n 40 "$out/log"
  echo "a finding, or stopped from outside: see $out/artifacts"
  exit 1
}
grep -E "cov:" "$out/log" | tail -1
grep -E "^stat::" "$out/log"
echo "kept in $out"
