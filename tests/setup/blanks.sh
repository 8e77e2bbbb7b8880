#!/usr/bin/env bash
# blanks.sh SOURCE LIBTORCH_PREFIX: the sources and libtorch in folders whose names hold blanks: configured as
# elsewhere, and compiled, where the home cannot be written.
set -euo pipefail
source=$1
libtorch=$2
work=$(mktemp -d)
trap 'rm -rf "${work:?}"' EXIT
tree="$work/a source tree"
mkdir -p "$tree" "$work/the cache"
tar -C "$source" --exclude='./build*' --exclude=./runs --exclude=./.git -cf - . | tar -C "$tree" -xf -
ln -s "$libtorch" "$work/the cache/libtorch"
cd "$tree"
export HOME=/proc
unset XDG_CACHE_HOME CCACHE_DIR
cmake --preset default -DLIBTORCH_PREFIX="$work/the cache/libtorch" -DISOBAR_TORCH=ON -DISOBAR_TESTS=OFF -DISOBAR_GUI=OFF -DISOBAR_CUDA=OFF \
  >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
echo "ok    configured"
here=$(sed -n 's/^ISOBAR_HDF5_ARCHIVE:[A-Z]*=//p' "$tree/build/CMakeCache.txt")
there=$(sed -n 's/^ISOBAR_HDF5_ARCHIVE:[A-Z]*=//p' "$source/build/CMakeCache.txt" 2>/dev/null || true)
[ -z "$there" ] || [ "$here" = "$there" ] || { echo "FAIL  HDF5's archive is ${here:-not found}, elsewhere $there"; exit 1; }
object=$(ninja -C build -t targets all | sed -n 's/^\(.*isobar_core[^:]*\.o\): .*/\1/p' | head -n 1)
ninja -C build "$object" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
echo "ok    compiled ${object##*/}"
