#!/usr/bin/env bash
# The programs that must start on a login node in a blink link neither libtorch nor CUDA.
set -eu
for program in "$@"; do
  if ldd "$program" | grep -E 'torch|libc10|cuda|nccl'; then
    echo "$program links the libraries above"
    exit 1
  fi
done
