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
mkdir "$prefix"
for package in libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libsimdjson-dev libprotozero-dev libstb-dev libkissfft-dev; do
  dpkg-query -L "$package" >"$work/files" 2>/dev/null || skip "$package is not installed"
  sed -nE 's,^/usr/((include|lib|share/cmake)/.*),\1,p' "$work/files" | tar -C /usr --no-recursion -cf - -T - | tar -C "$prefix" -xf -
done
# The libraries behind the links are in packages of their own.
for name in fmt simdjson kissfft; do
  for file in /usr/lib/*/lib"$name"*.so*; do cp -P "$file" "$prefix${file#/usr}"; done
done

cd "$source"
bad=0
# configure LIBTORCH_PREFIX: the second one goes on with what the first found of the compiler.
configure() {
  CMAKE_PREFIX_PATH=$prefix cmake --preset default -B "$work/build" -DLIBTORCH_PREFIX="$1" -DISOBAR_TESTS=OFF -DISOBAR_GUI=OFF -DISOBAR_CUDA=OFF >"$work/log" 2>&1
}
# What is nowhere is said by name.
if configure "$work/nothing"; then
  echo "FAIL  a libtorch that is not there was found"
  bad=1
elif grep -q "set LIBTORCH_PREFIX to the folder" <<<"$(tr -s ' \n' ' ' <"$work/log")"; then
  echo "ok    what is missing is named"
else
  cat "$work/log"
  bad=1
fi
configure "$libtorch" || { tail -n 20 "$work/log"; exit 1; }
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
exit $bad
