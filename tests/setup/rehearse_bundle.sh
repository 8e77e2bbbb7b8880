#!/usr/bin/env bash
# rehearse_bundle.sh SOURCE LIBTORCH_PREFIX BUILD: packs the bundle of BUILD and uses it as on a machine that one was lent: a bare Debian 13 in a
# folder, with its own Python, a PyTorch 2.11 for that, no compiler, no network and no GPU. Its tests, all of first-gpu that needs no device,
# and what is left when a call is killed in the middle. Before that, out here and where an nvcc is, its plugin is built again. 77 = skipped, with
# the reason.
set -euo pipefail
source=$1 build=$3
peers=$(dirname "$2")/peers-2.11.0
skip() { echo "skipped: $*"; exit 77; }
# For the Python of Debian 13; all else that `import torch` takes is in the peers.
torch_wheel="torch==2.11.0 --hash=sha256:cc89b9b173d9adfab59fd227f0ab5e5516d9a52b658ae41d64e59d2e55a418db"

if [ "${ISOBAR_IN_BARE:-}" != 1 ]; then
  [ "$(id -u)" = 0 ] || skip "another root folder takes root"
  command -v debootstrap >/dev/null || skip "there is no debootstrap; on Debian: apt-get install --no-install-recommends debootstrap"
  [ -f "$peers/.complete" ] || skip "the packages to compare with are not here; ./isobar bench step brings them"
  unshare --mount --pid --net --fork --mount-proc true 2>/dev/null || skip "this machine allows no namespaces"
  work=$(mktemp -d "${TMPDIR:-/tmp}/isobar-lent-XXXXXX")
  trap 'rm -rf --one-file-system "${work:?}"' EXIT  # out here, where nothing was ever mounted in it
  from=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1 | tr -d ' ') || true
  [ -n "$from" ] || skip "this machine names no source of Debian packages"
  debootstrap --variant=minbase --include=python3 trixie "$work/root" "$from" >"$work/log" 2>&1 || { tail -n 3 "$work/log"; skip "no bare Debian can be fetched"; }
  echo "$torch_wheel" >"$work/wanted.txt"
  python3 -m pip download --quiet --no-deps --no-cache-dir --require-hashes --only-binary=:all: --implementation cp --python-version 3.13 --abi cp313 \
    --platform manylinux_2_28_x86_64 --dest "$work/wheels" --requirement "$work/wanted.txt" >"$work/log" 2>&1 || { tail -n 3 "$work/log"; skip "PyTorch for Python 3.13 cannot be fetched"; }
  mkdir -p "$work/root/opt/site" "$work/root/root/work"
  python3 -m zipfile -e "$work"/wheels/torch-*.whl "$work/root/opt/site" && rm -r "$work/wheels"
  for package in filelock fsspec jinja2 markupsafe mpmath networkx sympy typing_extensions.py; do
    cp -r "$peers/$package" "$work/root/opt/site/"
  done
  "$source/submit/bundle.sh" "$work/root/root/isobar.tar.xz" --build "$build"
  code=0
  nvcc=${CUDACXX:-$(type -P nvcc || echo /usr/local/cuda/bin/nvcc)}
  if [ -x "$nvcc" ] && [ -f "$build/lib/libisobar_cuda.so" ]; then
    python3 -m tarfile -e "$work/root/root/isobar.tar.xz" "$work"
    plugin=$work/isobar-bundle/lib/libisobar_cuda.so
    if CUDACXX=$nvcc ISOBAR_TORCH=$peers/torch "$work/isobar-bundle/run.sh" rebuild-plugin 90 >"$work/log" 2>&1 &&
      ! cmp -s "$plugin" "$plugin.before" && python3 "$source/tests/repo/check_cuda_binary.py" "$plugin" 90 >>"$work/log" 2>&1; then
      echo "ok    its plugin can be built again"
    else
      echo "FAIL  its plugin can be built again"
      tail -n 20 "$work/log"
      code=1
    fi
  else
    echo "not rehearsed: building the plugin again, which takes an nvcc and a plugin in $build"
  fi
  ISOBAR_IN_BARE=1 unshare --mount --pid --net --fork --mount-proc --kill-child=KILL -- "$0" "$source" "$2" "$build" "$work" || code=$?
  exit $code
fi

work=$4
root=$work/root
mkdir -p "$root/opt/site/nvidia"
mount --bind -o ro "$peers/nvidia" "$root/opt/site/nvidia"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
ip link set lo up 2>/dev/null || true  # ranks meet there
inside() {
  env -i HOME=/root LANG=C.UTF-8 TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/opt/site \
    chroot "$root" "$@" </dev/null
}
run() { inside /root/isobar-bundle/run.sh "$@"; }
bad=0
expect() { # expect WHAT COMMAND...
  local what=$1
  shift
  if "$@" >"$work/out" 2>&1; then echo "ok    $what"; else echo "FAIL  $what"; tail -n 20 "$work/out"; bad=1; fi
}
# refused WORDS NAME=VALUE CALL...: run.sh ends with these words, and not well.
# shellcheck disable=SC2317  # called by expect
refused() {
  local words=$1 said
  shift
  ! said=$(inside env "$1" /root/isobar-bundle/run.sh "${@:2}" 2>&1) || return 1
  echo "$said"
  [[ $said = *"$words"* ]]
}
# rows FOLDER STATE: of the table in the archive.
rows() { tar -xzOf "$root/root/$1.tar.gz" "$1/results.jsonl" | grep -c "\"state\": \"$2\""; }

expect "there is no compiler" inside test ! -e /usr/bin/g++
inside python3 -m tarfile -e /root/isobar.tar.xz /root
expect "its PyTorch works" inside python3 -c 'import torch; assert torch.__version__.startswith("2.11"); torch.ones(3).sum()'
expect "all tests of the bundle pass" run tests
code=0
inside env ISOBAR_SYSROOT=/no-driver /root/isobar-bundle/run.sh first-gpu /root/none >"$work/said" 2>&1 || code=$?
expect "without a driver it refuses" [ $code = 2 ]
expect "in words, with what it does all the same" grep -q -- '--rehearse FOLDER does all that needs no GPU' "$work/said"
expect "and without a torch, before any row" refused "there is no lib/libtorch_cpu.so in /root/no-torch" ISOBAR_TORCH=/root/no-torch first-gpu --rehearse /root/none
expect "neither begins anything" [ ! -e "$root/root/none" ]
expect "all that needs no device is rehearsed" run first-gpu --rehearse /root/figures
cat "$work/out"
sed -n 's/.*"call": "\([a-z]*\)", "row": "\([a-z0-9-]*\)", "state": "failed".*/\1-\2/p' "$root/root/figures/results.jsonl" | while read -r row; do
  echo "--- $row"
  tail -n 15 "$root/root/figures/$row.log"
done
planned=$(run first-gpu --rehearse --dry-run | awk '/^more/ { exit } /^  / && !/needs a device/ && !/in all/' | wc -l)
expect "each of those rows is in the archive" [ "$(rows figures "done")" = "$planned" ]
expect "and none failed" [ "$(rows figures failed)" = 0 ]
recorded=$(run first-gpu --rehearse --dry-run | grep -c ' record ')
expect "with each lesson's recorded run" [ "$(tar -tzf "$root/root/figures.tar.gz" | grep -c '^figures/lessons/.*/recorded/.*/run.toml')" = "$recorded" ]
expect "which is not put to those of the lessons" [ -z "$(find "$root/root/isobar-bundle/lessons" -name recorded)" ]
expect "without fields and weights" [ "$(tar -tzf "$root/root/figures.tar.gz" | grep -c -e '\.npy' -e safetensors)" = 0 ]
started=$(rows figures started)
expect "a second start" run first-gpu --rehearse /root/figures
expect "makes nothing again" [ "$(rows figures started)" = "$started" ]

# Killed while a lesson trains, and while a bench runs.
for row in base-04 fusion; do
  name=killed-$row before=first-steps
  [ $row != fusion ] || before=rungs-16
  run first-gpu --rehearse "/root/$name" >/dev/null 2>&1 &
  for ((try = 0; try < 6000; ++try)); do
    ! grep -q "\"row\": \"$row\", \"state\": \"started\"" "$root/root/$name/results.jsonl" 2>/dev/null || break
    sleep 0.05
  done
  pkill -KILL -f "first_gpu.sh --rehearse /root/$name"
  wait || true
  expect "killed in $row: the rows before it are in the archive" \
    sh -c "tar -xzOf '$root/root/$name.tar.gz' $name/results.jsonl | grep -q '\"row\": \"$before\", \"state\": \"done\"'"
  expect "the one that was cut off is not" sh -c "! grep -q '\"row\": \"$row\", \"state\": \"done\"' '$root/root/$name/results.jsonl'"
  expect "the next start goes on there" run first-gpu --rehearse "/root/$name"
  expect "to the same rows" [ "$(rows "$name" "done")" = "$planned" ]
done
exit $bad
