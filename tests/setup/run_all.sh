#!/usr/bin/env bash
# Tests of ./isobar's set-up: each case in a world of its own, without a network. Prints a line a case.
#   run_all.sh [CASE...]      PATTERNS such as 'doctor*' are cases too
set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=/dev/null
for part in world cuda_cases doctor_cases machine_cases clean_cases broken_cases bundle_cases parallel_cases shared_cases no_root_cases browser_cases; do . "$ROOT/tests/setup/$part.sh"; done
failures=0

expect() { # expect WHAT CONDITION...
  local what=$1
  shift
  "$@" || { problem="$problem; not: $what"; }
}
says() { [[ $OUT == *"$1"* ]]; }
called() { grep -qF -- "$1" "$WORLD/calls"; }
complete() { [ -f "$PREFIX/libtorch-2.11.0/.complete" ]; }
no_leftovers() { ! compgen -G "$PREFIX/downloads/.part-*" >/dev/null && ! compgen -G "$PREFIX/libtorch-*.part-*" >/dev/null; }
count_is() { [ "$(grep -cF -- "$1" "$WORLD/calls")" = "$2" ]; }

case_fresh_machine() {
  touch "$WORLD/no-packages"
  isobar run 01_baseline --set 'a=b c;$(touch canary)'
  expect "code 0" [ "$CODE" = 0 ]
  expect "the plan with sizes" says "install 3 Debian packages (112 MB to fetch)"
  expect "the libtorch files in the plan" says "fetch libtorch 2.11.0"
  expect "no question without a terminal" [ "${OUT/Go on/}" = "$OUT" ]
  expect "what fetches comes first" called "install --no-install-recommends python3 python3-pip unzip ca-certificates"
  expect "packages installed without recommends" called "install --no-install-recommends g++ cmake"
  expect "no test library for a run" count_is catch2 0
  expect "the data set beside it" count_is "make_fields --grid 72x144" 1
  expect "libtorch unpacked" complete
  expect "arguments unchanged" says 'cli <run> <01_baseline> <--set> <a=b c;$(touch canary)>'
  expect "no leftovers" no_leftovers
  expect "the download is not kept twice" [ -z "$(ls "$PREFIX/downloads")" ]
}
case_yes_reaches_what_asks() {
  isobar run 01_baseline
  isobar submit 06_ddp --yes --nodes 2
  expect "submit" says "cli <submit> <06_ddp> <--nodes> <2> <--yes>"
  isobar --yes runs delete one
  expect "runs delete" says "cli <runs> <delete> <one> <--yes>"
  isobar --yes runs
  expect "nothing else" [ "${OUT/--yes/}" = "$OUT" ]
}
case_lost_words_are_code_1() {
  local words
  for words in help doctor 'clean --help' 'run --help'; do
    CODE=0
    # shellcheck disable=SC2086  # words
    (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar $words >/dev/full 2>/dev/null) || CODE=$?
    expect "$words on a full device: code 1" [ "$CODE" = 1 ]
  done
}
case_closed_descriptors_are_no_files() {
  OUT=
  # shellcheck disable=SC2016  # for the other shell
  bash -c '. "$0/cmake/setup/say.sh"; readlink /proc/$$/fd/{0,1,2} >"$1"; say hello' "$TREE" "$WORLD/closed" <&- >&- 2>&-
  expect "words for nobody are no success" [ $? = 1 ]
  expect "no file gets their numbers" [ "$(sort -u "$WORLD/closed")" = /dev/null ]
  expect "all three are taken" [ "$(wc -l <"$WORLD/closed")" = 3 ]
}
case_second_run_does_nothing() {
  isobar run 01_baseline
  : >"$WORLD/calls"
  isobar run 01_baseline
  expect "only ninja is asked" [ "$(cat "$WORLD/calls")" = "ninja isobar-run make_fields 01_baseline" ]
  expect "no word of set-up" [ "$OUT" = "cli <run> <01_baseline>" ]
}
case_measuring_builds_its_lesson() {
  isobar setup
  : >"$WORLD/calls"
  isobar quartet 01_baseline --steps 5
  isobar scale 01_baseline --ranks 1,2
  isobar sweep 01_baseline "data.grid=[48,96],[72,144]"
  expect "the lesson is built too" count_is "ninja isobar-cli make_fields 01_baseline" 3
  expect "arguments unchanged" says "cli <sweep> <01_baseline> <data.grid=[48,96],[72,144]>"
  isobar demo
  expect "the demo's two lessons are built" called "ninja isobar-cli make_fields 01_baseline 02_workers"
  isobar quartett
  expect "the nearest command" says "mean quartet?"
}
case_lesson_by_its_number() {
  local word
  isobar setup
  : >"$WORLD/calls"
  for word in 01 1 01_b base; do isobar run "$word"; done
  expect "the lesson is built" count_is "ninja isobar-run make_fields 01_baseline" 4
  expect "arguments unchanged" [ "$OUT" = "cli <run> <base>" ]
  mkdir -p "$TREE/lessons/11_basis"
  printf 'title = "t"\n' >"$TREE/lessons/11_basis/lesson.toml"
  : >"$WORLD/calls"
  for word in 0 bas; do isobar run "$word"; done
  expect "what is none or several is left to the program" count_is "01_baseline" 0
  isobar run 11
  expect "a number is not the beginning of another" called "ninja isobar-run make_fields 11_basis"
}
case_ladder_builds_every_lesson() {
  isobar setup
  : >"$WORLD/calls"
  isobar ladder --list
  expect "the list builds no lesson" count_is "ninja isobar-cli make_fields" 1
  expect "it is handed over" [ "$OUT" = "cli <ladder> <--list>" ]
  : >"$WORLD/calls"
  isobar ladder --repeats 2
  expect "every lesson is built" called "ninja isobar-cli make_fields 01_baseline"
  expect "arguments unchanged" says "cli <ladder> <--repeats> <2>"
  : >"$WORLD/calls"
  isobar ladder --help
  expect "the page of the program" says "cli <ladder> <--help>"
  expect "which needs no lesson" count_is "ninja isobar-cli make_fields" 1
}
case_changed_pins_set_up_again() {
  isobar ladder
  sleep 0.01
  touch "$TREE/cmake/setup/packages_base.txt"
  : >"$WORLD/calls"
  isobar ladder
  expect "configured again" called "cmake --preset"
  expect "not fetched again" count_is pip 0
}
case_altered_download_is_refused() {
  touch "$WORLD/altered"
  isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "it says so" says "not the pinned one; it was thrown away"
  expect "nothing kept" [ -z "$(ls -A "$PREFIX/downloads")" ]
  expect "not unpacked" [ ! -e "$PREFIX/libtorch-2.11.0" ]
  rm "$WORLD/altered"
  isobar setup
  expect "the next run finishes" complete
}
case_half_file_is_replaced() {
  mkdir -p "$PREFIX/downloads"
  head -c 100 "$WORLD/wheels/torch-2.11.0-x.whl" >"$PREFIX/downloads/torch-2.11.0-x.whl"
  isobar setup
  expect "it says so" says "damaged or another; fetching it again"
  expect "fetched" called "pip torch"
  expect "complete" complete
}
case_file_brought_by_hand() {
  mkdir -p "$PREFIX/downloads"
  cp "$WORLD"/wheels/* "$PREFIX/downloads/"
  touch "$WORLD/offline"
  isobar setup
  expect "no network needed" complete
  expect "the files stay" [ -f "$PREFIX/downloads/torch-2.11.0-x.whl" ]
}
case_offline() {
  touch "$WORLD/offline"
  isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "file and folder" says "bring torch-2.11.0-x.whl"
  expect "the folder" says "$PREFIX/downloads/"
  expect "no leftovers" no_leftovers
}
case_interrupted_download() {
  touch "$WORLD/slow"
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" exec ./isobar setup >/dev/null 2>&1) &
  local pid=$!
  expect "it came so far" until_there "$WORLD/pip-pid"
  kill -TERM $pid
  wait $pid
  expect "code 143" [ $? = 143 ]
  expect "no leftovers" no_leftovers
  expect "not complete" [ ! -e "$PREFIX/libtorch-2.11.0" ]
  rm "$WORLD/slow"
  isobar setup
  expect "the next run finishes" complete
}
case_killed_while_unpacking() {
  mkdir -p "$PREFIX/libtorch-2.11.0/torch" "$PREFIX/libtorch-2.11.0.part-1/torch"
  isobar setup
  expect "a folder without its mark is not believed" complete
  expect "leftovers of a killed run are gone" no_leftovers
  expect "unpacked whole" [ -f "$PREFIX/libtorch-2.11.0/nvidia/cu13/lib/libcudart.so.13" ]
}
case_archive_that_leads_outside() {
  (cd "$WORLD/src" && python3 -c '
import zipfile
with zipfile.ZipFile("../wheels/nvidia_a-1.whl", "w") as z:
    z.writestr("nvidia/cu13/lib/../../../../evil", "x")
    for n in range(5000): z.writestr(f"nvidia/cu13/lib/a-file-with-a-long-name-{n:06}", "")')
  local sha
  sha=$(sha256sum "$WORLD/wheels/nvidia_a-1.whl" | cut -d' ' -f1)
  sed -i "s/^nvidia_a==1 .*/nvidia_a==1 --hash=sha256:$sha/" "$TREE/cmake/setup/wheels.txt"
  isobar setup
  expect "refused" says "lead outside"
  expect "code 1" [ "$CODE" = 1 ]
  expect "nothing outside" [ ! -e "$PREFIX/evil" ]
}
case_apt_fails() {
  touch "$WORLD/no-packages" "$WORLD/apt-fails"
  isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "its words" says "Unable to locate package"
  expect "the log" says "$PREFIX/logs/apt.log"
}
case_other_system() {
  rm "$WORLD/bin/apt-get" "$WORLD/bin/dpkg-query"
  CODE=0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$WORLD/nosudo" ISOBAR_PREFIX=$PREFIX ./isobar setup 2>&1 </dev/null) || CODE=$?
  expect "code 1" [ "$CODE" = 1 ]
  expect "what is missing" says "these programs are missing: g++"
  expect "how else" says "CMAKE_PREFIX_PATH"
}
case_disk_full() {
  touch "$WORLD/disk-full"
  isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "figures" says "660 MB are needed, 1 MB are free"
  expect "nothing fetched" count_is pip 0
}
case_two_at_once() {
  local first second
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar setup >"$WORLD/one" 2>&1) &
  first=$!
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar setup >"$WORLD/two" 2>&1) &
  second=$!
  wait $first
  expect "the first succeeds" [ $? = 0 ]
  wait $second
  expect "the second succeeds" [ $? = 0 ]
  expect "fetched once" count_is "pip torch" 1
  OUT=$(cat "$WORLD/one" "$WORLD/two")
  expect "one waited and said so" says "another set-up (process"
}
case_other_machine() {
  touch "$WORLD/other-machine"
  isobar setup
  expect "refused in words" says "x86_64, this machine is aarch64"
}
case_prefix_that_cannot_be_written() {
  PREFIX=/proc/isobar isobar setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "a way out" says "export ISOBAR_PREFIX="
}
case_relative_prefix() {
  PREFIX=cache isobar setup
  expect "code 0" [ "$CODE" = 0 ]
  expect "below the working folder" [ -f "$TREE/cache/libtorch-2.11.0/.complete" ]
}
case_wrong_words() {
  isobar rnu
  expect "code 2" [ "$CODE" = 2 ]
  expect "the nearest" says "did you mean run?"
  isobar
  expect "help" says "./isobar run LESSON"
}
case_bench_names() {
  isobar bench strat
  expect "code 2" [ "$CODE" = 2 ]
  expect "the nearest" says "did you mean st"
  expect "all names" says "the benches: step start loader fusion rungs comm ddp normalise emulated telemetry gui"
  isobar bench
  expect "code 2 without a name" [ "$CODE" = 2 ]
  expect "which" says "which bench?"
  isobar bench --help
  expect "help is no error" [ "$CODE" = 0 ]
  expect "nothing was set up to say it" [ ! -s "$WORLD/calls" ]
  isobar bench telemetry --json
  expect "code 0" [ "$CODE" = 0 ]
  expect "built" called "ninja bench_telemetry"
  expect "no peers for it" [ ! -e "$PREFIX/peers-2.11.0" ]
}
case_bench_brings_peers() {
  sed -i '1s/ [0-9]*$/ 3000000000/' "$TREE/cmake/setup/peers.txt"
  isobar --yes bench step --quick
  expect "code 0" [ "$CODE" = 0 ]
  expect "sizes are said" says "fetch PyTorch 2.11.0 for Python with what it needs (3000 MB)"
  expect "unpacked" [ -f "$PREFIX/peers-2.11.0/torch/lib/libtorch_cpu.so" ]
  expect "marked" [ -f "$PREFIX/peers-2.11.0/.complete" ]
  expect "no leftovers" no_leftovers
  expect "the downloads are not kept" [ -z "$(ls "$PREFIX/downloads")" ]
  : >"$WORLD/calls"
  isobar bench step
  expect "not fetched again" count_is pip 0
  rm "$PREFIX/peers-2.11.0/.complete"
  isobar bench start --help
  expect "help fetches nothing" count_is "pip torch" 0
  isobar bench start
  expect "a folder without its mark is not believed" called "pip torch"
}
case_bench_offline() {
  isobar setup
  touch "$WORLD/offline"
  isobar bench step --json 2>/dev/null
  expect "code 1" [ "$CODE" = 1 ]
  expect "the file to bring" says "bring torch-2.11.0-x.whl"
  expect "no half folder" [ -z "$(ls -d "$PREFIX"/peers-* 2>/dev/null)" ]
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar bench step --json 2>/dev/null </dev/null)
  expect "with --json nothing of the set-up is on stdout" [ -z "$OUT" ]
}
case_help_installs_nothing() {
  local command commands
  touch "$WORLD/no-packages"
  isobar help
  commands=$(sed -n 's,^  \./isobar \([a-z]*\) .*,\1,p' <<<"$OUT" | grep -vx help | sort -u)
  expect "the page of isobar names them" [ "$(wc -l <<<"$commands")" -ge 20 ]
  for command in $commands; do
    isobar "$command" --help
    expect "$command: code 0" [ "$CODE" = 0 ]
    expect "$command: a page" says "./isobar"
    case $command in
      setup | test | bundle | doctor) expect "$command: its own page" [ "$(wc -l <<<"$OUT")" -lt 8 ] && expect "$command: named" says " $command" ;;
    esac
  done
  expect "nothing was fetched or built" [ ! -s "$WORLD/calls" ]
  isobar setup everything
  expect "setup takes no words: code 2" [ "$CODE" = 2 ]
}
case_json_of_a_first_call() {
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar show last --json 2>/dev/null </dev/null)
  expect "nothing of set-up and build is on stdout" [ "$OUT" = "cli <show> <last> <--json>" ]
}
case_no_home() {
  CODE=0
  OUT=$(cd "$TREE" && env -u HOME -u ISOBAR_PREFIX -u XDG_CACHE_HOME PATH="$WORLD/bin:$PATH" ./isobar doctor 2>&1) || CODE=$?
  expect "code 2" [ "$CODE" = 2 ]
  expect "a way out" says "export ISOBAR_PREFIX="
}
case_home_that_cannot_be_written() {
  mkdir "$WORLD/elsewhere"
  local place
  for place in '' "$WORLD/elsewhere"; do
    CODE=0
    OUT=$(cd "$TREE" && env -u XDG_CACHE_HOME -u CCACHE_DIR HOME=/proc ISOBAR_PREFIX="$place" PATH="$WORLD/bin:$PATH" ./isobar --yes run 01_baseline 2>&1) || CODE=$?
    if [ -z "$place" ]; then
      expect "code 1" [ "$CODE" = 1 ]
      expect "what cannot be written" says "the folder for cached files cannot be written"
      expect "where" says "/proc/.cache/isobar"
      expect "a way out" says "export ISOBAR_PREFIX="
    else
      expect "with it, code 0" [ "$CODE" = 0 ]
    fi
  done
}
case_exit_codes_pass_through() {
  echo 75 >"$WORLD/cli-code"
  isobar run 01_baseline
  expect "code 75" [ "$CODE" = 75 ]
}
case_build_fails() {
  touch "$WORLD/build-fails"
  isobar run 01_baseline
  expect "code 1" [ "$CODE" = 1 ]
  expect "the compiler's line" says "main.cpp:3:1: error: expected ;"
  expect "the log" says "build/build.log"
}
case_compiler_crashes() {
  mkdir -p "$TREE/build/cmake/precompiled/plain.dir"
  touch "$WORLD/compiler-crashes" "$TREE/build/cmake/precompiled/plain.dir/cmake_pch.hxx.gch"
  isobar run 01_baseline
  expect "code 0" [ "$CODE" = 0 ]
  expect "what is done" says "once more, with precompiled headers made anew"
  expect "the header is gone" [ ! -e "$TREE/build/cmake/precompiled/plain.dir/cmake_pch.hxx.gch" ]
  echo always >"$WORLD/compiler-crashes"
  isobar run 01_baseline
  expect "always: code 1" [ "$CODE" = 1 ]
  expect "its words" says "internal compiler error: Segmentation fault"
}
case_configure_fails() {
  touch "$WORLD/cmake-fails"
  isobar run 01_baseline
  expect "code 1" [ "$CODE" = 1 ]
  expect "cmake's words" says "no fmt"
  isobar doctor
  expect "doctor does not call it configured" says "not configured"
}
case_tests_are_passed_through() {
  isobar test -L unit
  expect "everything is built" called "ninja all"
  expect "ctest gets the words" called "ctest --test-dir"
  expect "the label" called "-L unit"
}
case_tiers_of_tests() {
  isobar test --quick
  expect "only what quick tests need is built" called "ninja isobar_quick_tests"
  expect "quick: its label" called "-L ^quick\$"
  isobar test --nightly --list
  expect "nightly: its label, and its configuration" called "-C nightly -L ^nightly\$ -N"
  isobar test core comm_nightly --verbose
  expect "names, those of the night too" called "--verbose -C nightly -R ^(core|comm_nightly)\$"
  isobar test cor
  expect "an unknown name: code 2" [ "$CODE" = 2 ]
  expect "its way out" says "did you mean core? ./isobar test --list names them"
  isobar test 'co re'
  expect "no name: code 2" [ "$CODE" = 2 ]
}
case_tests_need_room() {
  script df <<BODY
[[ "\$*" = *small* ]] || exec $(type -P df) "\$@"
printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\nfull 1000 900 100 90%% /tmp\n'
BODY
  mkdir "$WORLD/small"
  TMPDIR=$WORLD/small isobar test
  expect "code 1" [ "$CODE" = 1 ]
  expect "what is needed and what is there" says "too little disk for the files of tests: 2000 MB are needed, 0 MB are free"
  expect "the way out" says "TMPDIR=FOLDER ./isobar test"
  expect "no test began" count_is "ctest" 0
}
case_predict_builds_what_measures() {
  isobar predict 01_baseline
  expect "what measures, once" called "ninja isobar-cli make_fields isobar-rates"
  touch "$PREFIX/rates.toml"
  isobar predict 01_baseline
  expect "not again" [ "$(tail -n 1 "$WORLD/calls")" = "ninja isobar-cli make_fields" ]
  isobar predict 01_baseline --measure
  expect "but where it is asked for" [ "$(tail -n 1 "$WORLD/calls")" = "ninja isobar-cli make_fields isobar-rates" ]
  rm "$PREFIX/rates.toml"
  isobar predict 01_baseline --device H200
  expect "not for another device" [ "$(tail -n 1 "$WORLD/calls")" = "ninja isobar-cli make_fields" ]
}
case_setup_of_programs() {
  isobar setup --programs
  expect "code 0" [ "$CODE" = 0 ]
  expect "the programs and no tests" called "ninja isobar-run isobar-cli make_fields 01_baseline"
  isobar setup --programs 1
  expect "a lesson by its number" [ "$(tail -n 1 "$WORLD/calls")" = "ninja isobar-run isobar-cli make_fields 01_baseline" ]
  isobar setup --programs 99_nothing
  expect "code 2" [ "$CODE" = 2 ]
  expect "the name" says 'there is no lesson "99_nothing"'
  isobar setup everything
  expect "code 2 for other words" [ "$CODE" = 2 ]
  isobar --no-cuda submit 01_baseline --dry-run
  expect "no lesson is built to show a script" [ "$(tail -n 1 "$WORLD/calls")" = "ninja isobar-cli make_fields" ]
  isobar submit 01_baseline --nodes 1
  expect "a lesson is built to be submitted" [ "$(tail -n 1 "$WORLD/calls")" = "ninja isobar-cli make_fields 01_baseline" ]
  isobar submit 01_baseline --nodes '1; touch canary' '$(touch canary)'
  expect "arguments unchanged" says 'cli <submit> <01_baseline> <--nodes> <1; touch canary> <$(touch canary)>'
}
case_asks_where_a_person_is() {
  type -P script >/dev/null || return 0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" timeout 60 script -qec "./isobar setup" /dev/null <<<n 2>&1)
  expect "it asks" says "Go on? [Y/n]"
  expect "nothing was fetched" count_is pip 0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" timeout 60 script -qec "./isobar --yes setup" /dev/null </dev/null 2>&1)
  expect "--yes does not ask" [ "${OUT/Go on/}" = "$OUT" ]
  expect "and goes on" complete
}

# chosen NAME PATTERN...: no pattern chooses all; a pattern that begins with ^ leaves out.
chosen() {
  local name=$1 pattern all=1
  shift
  for pattern in "$@"; do
    # shellcheck disable=SC2053  # a pattern
    case $pattern in
      ^*) [[ $name != ${pattern#^} ]] || return 1 ;;
      *) all=; [[ $name != $pattern ]] || return 0 ;;
    esac
  done
  [ -n "$all" ]
}

for name in $(declare -F | sed -n 's/^declare -f \(case_.*\)$/\1/p'); do
  chosen "${name#case_}" "$@" || continue
  new_world
  problem=
  "$name"
  if [ -z "$problem" ]; then
    echo "ok   ${name#case_}"
  else
    echo "FAIL ${name#case_}$problem"
    sed 's/^/       | /' <<<"$OUT" | head -n 15
    failures=$((failures + 1))
  fi
done
[ $failures = 0 ]
