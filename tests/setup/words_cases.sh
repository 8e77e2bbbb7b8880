# Cases of run_all.sh: what words mean, and what is built for a command.
# shellcheck shell=bash

case_yes_reaches_what_asks() {
  after isobar run 01_baseline
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
  after isobar run 01_baseline
  : >"$WORLD/calls"
  isobar run 01_baseline
  expect "only ninja is asked" [ "$(cat "$WORLD/calls")" = "ninja isobar-run make_fields 01_baseline" ]
  expect "no word of set-up" [ "$OUT" = "cli <run> <01_baseline>" ]
}
case_measuring_builds_its_lesson() {
  after isobar setup
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
  after isobar setup
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
  after isobar setup
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
  expect "all names" says "the benches: step start loader fusion rungs comm ddp compress zero pipeline context normalise emulated telemetry gui"
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
case_version_needs_nothing() {
  touch "$WORLD/no-packages"
  cp "$ROOT/CMakeLists.txt" "$TREE/"
  isobar --version
  expect "code 0" [ "$CODE" = 0 ]
  expect "the version of CMake's project" [ "$OUT" = "isobar $(sed -n 's/^project(isobar VERSION \([0-9.]*\) .*/\1/p' "$ROOT/CMakeLists.txt")" ]
  expect "nothing was fetched or built" [ ! -s "$WORLD/calls" ]
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
      setup | test | bundle | doctor) expect "$command: its own page" [ "$(wc -l <<<"$OUT")" -lt 10 ] && expect "$command: named" says " $command" ;;
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
case_exit_codes_pass_through() {
  after isobar run 01_baseline
  echo 75 >"$WORLD/cli-code"
  isobar run 01_baseline
  expect "code 75" [ "$CODE" = 75 ]
}
case_build_fails() {
  after isobar run 01_baseline
  touch "$WORLD/build-fails"
  isobar run 01_baseline
  expect "code 1" [ "$CODE" = 1 ]
  expect "the compiler's line" says "main.cpp:3:1: error: expected ;"
  expect "the log" says "build/build.log"
}
case_compiler_crashes() {
  after isobar run 01_baseline
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
  after isobar test -L unit
  expect "everything is built" called "ninja all"
  expect "ctest gets the words" called "ctest --test-dir"
  expect "the label" called "-L unit"
}
case_tiers_of_tests() {
  after isobar test -L unit
  isobar test --quick
  expect "only what quick tests need is built" called "ninja isobar_quick_tests"
  expect "quick: its label" called "-L ^quick\$"
  isobar test --nightly --list
  expect "nightly: its label, and its configuration" called "-C nightly -L ^nightly\$ -N"
  expect "nightly: what only it runs is built too" called "ninja all isobar_everything"
  : >"$WORLD/calls"
  isobar test core --verbose
  expect "a name of the full tier: no more is built" count_is isobar_everything 0
  isobar test core comm_nightly --verbose
  expect "names, those of the night too" called "--verbose -C nightly -R ^(core|comm_nightly)\$"
  expect "whose programs are built then" called "ninja isobar_everything"
  : >"$WORLD/calls"
  isobar test --nightly --build-only
  expect "code 0" [ "$CODE" = 0 ]
  expect "no test runs" count_is ctest 0
  isobar test cor
  expect "an unknown name: code 2" [ "$CODE" = 2 ]
  expect "its way out" says "did you mean core? ./isobar test --list names them"
  isobar test 'co re'
  expect "no name: code 2" [ "$CODE" = 2 ]
}
case_tests_need_room() {
  after isobar test -L unit
  : >"$WORLD/calls"
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
  after isobar setup
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
