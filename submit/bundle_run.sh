#!/usr/bin/env bash
# Runs a program of this bundle on the PyTorch 2.11 of this machine. No network, no root.
#   ./run.sh                        what there is
#   ./run.sh 01_baseline [options]  a lesson; makes its data on first use, in ISOBAR_PREFIX (default: data/ beside this file)
#   ./run.sh PROGRAM [options]      any other program of bin/
#   ./run.sh gpu-tests | tests      the tests that need a GPU | all
#   ./run.sh bench NAME [options]   a bench
#   ./run.sh doctor [--json]        what this machine has
#   ./run.sh first-gpu FOLDER       all that a GPU is needed for, in calls of less than ten minutes: first-gpu --help
#   ./run.sh rebuild-plugin [90]    compiles lib/libisobar_cuda.so again from engine/, for a GPU of this architecture (default: 80 90)
# ISOBAR_PYTHON: the Python whose torch is taken (default python3). ISOBAR_TORCH: a torch folder, without asking a Python.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() { # fail WHAT HINT [CODE]
  printf 'isobar: error: %s\n  hint:  %s\n' "$1" "$2" >&2
  exit "${3:-1}"
}

# find_torch: sets torch, its folder, and nvidia, the folders of the CUDA libraries beside it.
find_torch() {
  local python=${ISOBAR_PYTHON:-python3} found='' version folder
  torch=${ISOBAR_TORCH:-}
  if [ -z "$torch" ]; then
    type -P "$python" >/dev/null || fail "there is no $python here" "export ISOBAR_PYTHON=/the/python/that/has/torch"
    found=$("$python" -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null) || true
    torch=$found
    [ -n "$torch" ] || fail "$python has no torch" "pip install torch==2.11.0, or export ISOBAR_PYTHON=/the/python/that/has/torch"
  fi
  [ -f "$torch/lib/libtorch_cpu.so" ] || fail "there is no lib/libtorch_cpu.so in $torch" "ISOBAR_TORCH names the folder torch of an installed PyTorch" 2
  version=$(sed -n "s/^__version__ = ['\"]\(.*\)['\"]$/\1/p" "$torch/version.py" 2>/dev/null | head -n 1) || true
  [[ $version = 2.11.* ]] || fail "the torch here is ${version:-of an unknown version}, in $torch; these programs were built for 2.11" \
    "bring torch 2.11 into another environment and export ISOBAR_PYTHON=/its/python" 2
  nvidia=
  for folder in "${torch%/*}"/nvidia/*/lib; do [ ! -d "$folder" ] || nvidia="$nvidia:$folder"; done
}

older() { [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# start PROGRAM [options]: becomes it. On a system with an older C library, the one in glibc/ is taken with its own loader.
start() {
  local program=$1 system
  shift
  local bin=$here/bin
  system=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/.* //')
  # Programs that are none of ours, such as a bench's Python, get what was there before: ours may be older than theirs.
  export ISOBAR_LIBRARY_PATH_BEFORE=${LD_LIBRARY_PATH:-}
  if [ -n "${ISOBAR_OWN_GLIBC:-}" ] || { [ -n "$system" ] && older "$system" "$(cat "$here/glibc/needed")"; }; then
    bin=$here/glibc
    unset LD_LIBRARY_PATH
    export ISOBAR_TORCH_LIBRARIES=:$torch/lib$nvidia
  else
    export LD_LIBRARY_PATH=$here/lib:$torch/lib$nvidia${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  fi
  export ISOBAR_HOME=$here ISOBAR_PREFIX=${ISOBAR_PREFIX:-$here} ISOBAR_BIN=$bin ISOBAR_PEERS=${ISOBAR_PEERS:-${torch%/*}}
  [ ! -f "$here/lib/libisobar_cuda.so" ] || export ISOBAR_CUDA_PLUGIN=$here/lib/libisobar_cuda.so
  cd "$here"
  # shellcheck disable=SC2086  # a tool and its options
  exec ${ISOBAR_UNDER:-} "$bin/$program" "$@"
}

# run_tests PATTERN: each program in turn; 77 is a skip, with its reason above.
run_tests() {
  local program code failed=0 count=0
  for program in "$here"/bin/$1; do
    [ -x "$program" ] || continue
    count=$((count + 1)) code=0
    echo "== ${program##*/}"
    (start "${program##*/}") || code=$?
    case $code in
      0) ;;
      77) echo "skipped" ;;
      *) echo "FAILED with code $code"; failed=$((failed + 1)) ;;
    esac
  done
  [ $count -gt 0 ] || fail "this bundle holds no test named $1" "it was packed from a build without CUDA: ./isobar --cuda bundle OUT.tar.gz" 2
  echo "$((count - failed)) of $count test programs passed or were skipped"
  [ $failed = 0 ]
}

# gpu_tests: a skip would look like success.
gpu_tests() {
  export ISOBAR_REQUIRE_GPU=1
  run_tests 'test_gpu*'
}

# tell_of_machine [--json]: the rows of ./isobar doctor about a machine; there are none about a set-up.
tell_of_machine() {
  local setup=$here/cmake/setup home=$here prefix=${ISOBAR_PREFIX:-$here} json='' json_open='' part
  [ $# = 0 ] || [ "$*" = --json ] || fail "doctor does not know \"$*\"" "./run.sh doctor [--json]" 2
  [ $# = 0 ] || json=1
  for part in say packages machine system libtorch cuda doctor; do
    # shellcheck source=/dev/null
    . "$setup/$part.sh"
  done
  [ -z "$json" ] || printf '{'
  tell_machine
  [ -z "$json" ] || printf ']}\n'
}

programs() { (cd "$here/bin" && printf '%s\n' * | paste -sd' '); }

name=${1:-list}
[ $# = 0 ] || shift
case $name in
  list | help | --help | -h)
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    echo "programs: $(programs)"
    exit ;;
  */*) fail "\"$name\" is no program of this bundle" "there are: $(programs)" 2 ;;
  gpu-tests) find_torch; gpu_tests; exit ;;
  doctor) tell_of_machine "$@"; exit ;;
  tests) find_torch; run_tests 'test_*'; exit ;;
  rebuild-plugin) find_torch; exec "$here/submit/rebuild_plugin.sh" "$torch" "$@" ;;
  first-gpu)
    [[ $# = 0 || " $* " = *" --help "* || " $* " = *" --dry-run "* ]] || (find_torch)  # else each row would report it
    exec "$here/submit/first_gpu.sh" "$@" ;;
  bench)
    [ -n "${1:-}" ] || fail "which bench?" "there are: $(programs)" 2
    name=bench_$1
    shift ;;
esac
[ -x "$here/bin/$name" ] || fail "\"$name\" is no program of this bundle" "there are: $(programs)" 2
find_torch
if [ -d "$here/lessons/$name" ]; then start isobar-cli run "$name" "$@"; fi
start "$name" "$@"
