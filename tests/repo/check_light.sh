#!/usr/bin/env bash
# The programs that must start on a login node in a blink link neither libtorch nor CUDA. With --trainers: those that
# train may link libtorch's CPU part (which brings the CUDA runtime), and nothing else of CUDA: that is the plugin's.
# Nothing of Boost either, whose headers are compiled into isobar-browser alone: the names tell.
set -eu
forbidden='torch|libc10|cuda|nccl' names='boost::'
if [ "$1" = --trainers ]; then
  forbidden='torch_cuda|c10_cuda|isobar_cuda|nccl|cublas|cudnn|libcuda\.so' names=
  shift
fi
for program in "$@"; do
  libraries=$(ldd "$program")
  if grep -E "$forbidden" <<<"$libraries"; then
    echo "$program links the libraries above"
    exit 1
  fi
  if [ -n "$names" ] && nm -C "$program" | grep -m 1 -F "$names"; then
    echo "$program has names of $names"
    exit 1
  fi
done
