#!/usr/bin/env bash
# Tests of ./isobar's set-up: each case in a world of its own, without a network. Prints a line a case.
#   run_all.sh [FILE | CASE]...      all cases of FILE_cases.sh, or those named; without a word all cases of all files
#   ISOBAR_PRODUCTS=1                every place and every combination of a case, not a few of them
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=/dev/null
for part in "$ROOT"/tests/setup/{world,*_cases}.sh; do . "$part"; done
failures=0

expect() { # expect WHAT CONDITION...
  local what=$1
  shift
  "$@" || { problem="$problem; not: $what"; }
}
# in_the_end CONDITION...: once it holds; minutes at most, for a machine that does other things too. There is no other way to wait.
in_the_end() {
  local tries=0
  until "$@"; do
    [ $((tries += 1)) -lt 6000 ] || return 1
    sleep 0.05
  done
}
gone() { ! kill -0 "$1" 2>/dev/null; }
said() { grep -qF -- "$1" "$WORLD/said" 2>/dev/null; }  # by what was begun
says() { [[ $OUT == *"$1"* ]]; }
called() { [[ $(<"$WORLD/calls") == *"$1"* ]]; }
complete() { [ -f "$PREFIX/libtorch-2.11.0/.complete" ]; }
no_leftovers() { ! compgen -G "$PREFIX/downloads/.part-*" >/dev/null && ! compgen -G "$PREFIX/libtorch-*.part-*" >/dev/null; }
count_is() { [ "$(grep -cF -- "$1" "$WORLD/calls")" = "$2" ]; }

cases=()
for word in "${@:-*}"; do
  mapfile -t files < <(compgen -G "$ROOT/tests/setup/${word}_cases.sh" | sort)
  if [ ${#files[@]} -gt 0 ]; then
    mapfile -t -O ${#cases[@]} cases < <(sed -n 's/^case_\([a-z0-9_]*\)() {$/\1/p' "${files[@]}")
  else
    declare -F "case_$word" >/dev/null || { echo "there is neither a file nor a case \"$word\""; exit 2; }
    cases+=("$word")
  fi
done
for name in "${cases[@]}"; do
  new_world
  problem='' OUT=''
  "case_$name"
  if [ -z "$problem" ]; then
    echo "ok   $name"
  else
    echo "FAIL $name$problem"
    sed 's/^/       | /' <<<"$OUT" | head -n 15
    failures=$((failures + 1))
  fi
done
[ $failures = 0 ]
