#!/bin/sh
# glibc/PROGRAM of a bundle: starts bin/PROGRAM with the C library of this folder and its own loader. That loader is what
# /proc/self/exe names then, so a program that starts another one of the bundle, beside itself, finds it here.
# ISOBAR_TORCH_LIBRARIES: the folders of libtorch, :A:B; the reader of HDF5 files is started without and needs none.
here=${0%/*}
exec "$here/ld-linux-x86-64.so.2" --library-path "$here:$here/../lib${ISOBAR_TORCH_LIBRARIES:-}" "$here/../bin/${0##*/}" "$@"
