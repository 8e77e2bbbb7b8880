#!/usr/bin/env bash
# prefix_path.sh SOURCE LIBTORCH_PREFIX: on a cluster the dependencies come from modules, which name their folders in
# CMAKE_PREFIX_PATH. With copies of them in a folder of its own, the build must take those and not the system's.
set -euo pipefail
source=$1
libtorch=$2
work=$(mktemp -d)
trap 'rm -rf "${work:?}"' EXIT
prefix=$work/modules
skip() { echo "skipped: $*"; exit 77; }
command -v dpkg-query >/dev/null || skip "the copies are made of Debian's packages"

# Each package as a module would have it: its files under another prefix.
for package in libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libsimdjson-dev libprotozero-dev libstb-dev libkissfft-dev; do
  dpkg-query -L "$package" >/dev/null 2>&1 || skip "$package is not installed"
  dpkg-query -L "$package" | grep -E '^/usr/(include|lib|share/cmake)/' | while read -r file; do
    [ ! -d "$file" ] || continue
    mkdir -p "$prefix$(dirname "${file#/usr}")"
    cp -P "$file" "$prefix${file#/usr}"
  done
done
# The libraries behind the links are in packages of their own.
for name in fmt simdjson kissfft; do
  for file in /usr/lib/*/lib"$name"*.so*; do cp -P "$file" "$prefix${file#/usr}"; done
done

cd "$source"
CMAKE_PREFIX_PATH=$prefix cmake --preset default -B "$work/build" -DLIBTORCH_PREFIX="$libtorch" -DISOBAR_TESTS=OFF -DISOBAR_GUI=OFF \
  -DISOBAR_CUDA=OFF >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
bad=0
for key in fmt_DIR CLI11_DIR nlohmann_json_DIR simdjson_DIR kissfft_DIR ISOBAR_toml_HEADERS ISOBAR_protozero_HEADERS ISOBAR_stb_HEADERS; do
  value=$(sed -n "s/^$key:[A-Z]*=//p" "$work/build/CMakeCache.txt")
  case $value in
    "$prefix"*) echo "ok    $key" ;;
    *) echo "FAIL  $key is ${value:-not set}"; bad=1 ;;
  esac
done
# And the compiler reads them.
ninja -C "$work/build" engine/base/config/CMakeFiles/isobar_config.dir/toml_text.cpp.o >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
ninja -C "$work/build" -t deps engine/base/config/CMakeFiles/isobar_config.dir/toml_text.cpp.o >"$work/deps"
for header in toml++/toml.h fmt/format.h; do
  if grep -q "modules/include/$header" "$work/deps"; then
    echo "ok    $header is read from there"
  else
    echo "FAIL  $header is not read from there"
    bad=1
  fi
done
# What is nowhere is said by name.
if CMAKE_PREFIX_PATH=$prefix cmake --preset default -B "$work/none" -DLIBTORCH_PREFIX="$work/nothing" -DISOBAR_TESTS=OFF -DISOBAR_GUI=OFF >"$work/log" 2>&1; then
  echo "FAIL  a libtorch that is not there was found"
  bad=1
elif grep -q "set LIBTORCH_PREFIX to the folder" <<<"$(tr -s ' \n' ' ' <"$work/log")"; then
  echo "ok    what is missing is named"
else
  cat "$work/log"
  bad=1
fi
exit $bad
