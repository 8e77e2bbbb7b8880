#!/usr/bin/env bash
# check_tidy.sh ROOT CLANG_TIDY LIBTORCH_PREFIX [PATTERN]: every source of ROOT that is compiled without CUDA, or those whose
# path matches PATTERN, is as .clang-tidy of ROOT wants it. Half a minute a file that knows tensors.
set -euo pipefail
root=$1 tidy=$2 prefix=$3 pattern=${4:-^(cmake|datasets|engine|gui|lessons)/}
# What names instruction sets that clang 14 does not know.
left_out='^engine/training/kernels/instruction_set\.cpp$'
build=$(mktemp -d "${TMPDIR:-/tmp}/isobar-tidy-XXXXXX")
trap 'rm -rf "$build"' EXIT
# Each file by itself and with all that it includes: clang reads no precompiled headers of g++.
cmake --preset debug -S "$root" -B "$build" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DLIBTORCH_PREFIX="$prefix" -DISOBAR_GUI=ON \
  -DISOBAR_TESTS=OFF -DISOBAR_CUDA=OFF >"$build/log" 2>&1 || { cat "$build/log"; exit 1; }
cd "$root"
sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$build/compile_commands.json" | sed "s|^$(pwd)/||" | grep -E "$pattern" | grep -vE "$left_out" | sort -u >"$build/files"
[ -s "$build/files" ] || { echo "no file matches $pattern"; exit 1; }
xargs -P "$(nproc)" -n 1 "$tidy" -p "$build" --quiet <"$build/files" 2> >(grep -v ' warnings generated\.$' >&2)
