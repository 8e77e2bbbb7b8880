# Cases of run_all.sh: parts of the set-up at work beside each other, and what happens when one fails or all is broken
# off.
# shellcheck shell=bash

# begun COMMAND...: ./isobar in the background, as $PID, with what it says in $WORLD/said.
begun() {
  : >"$WORLD/said"
  (cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" exec ./isobar "$@" >"$WORLD/said" 2>&1 </dev/null 5>&-) &
  PID=$!
}
no_parts_left() { ! compgen -G "$PREFIX/logs/.parts-*" >/dev/null && ! compgen -G "$PREFIX/data/*.part-*" >/dev/null && no_leftovers; }

case_parts_run_beside_each_other() {
  touch "$WORLD/no-packages" "$WORLD/no-catch2" "$WORLD/pip-waits"
  isobar run 01_baseline
  expect "code 0" [ "$CODE" = 0 ]
  expect "libtorch was begun before the packages were there, and came after: without it what needs none is built" \
    [ "$(grep -nF 'ISOBAR_TORCH=OFF' "$WORLD/calls" | cut -d: -f1 | head -n 1)" -lt "$(grep -nF 'pip nvidia_a' "$WORLD/calls" | cut -d: -f1)" ]
  expect "the programs of a run first" called "ninja isobar-run make_fields"
  expect "configured again with it" called "ISOBAR_TORCH=ON"
  expect "without tests" called "-DISOBAR_TESTS=OFF"
  expect "the lesson" called "ninja isobar-run make_fields 01_baseline"
  expect "the data set once" count_is "make_fields --grid 72x144" 1
  expect "no leftovers" in_the_end no_parts_left
}
case_what_is_configured_is_built_beside_packages() {
  local line='(ninja all|packages are there)'
  touch "$WORLD/no-catch2"
  isobar run 01_baseline
  : >"$WORLD/calls"
  isobar test
  expect "not what cmake has to look at first: $(cat "$WORLD/calls")" [ "$(grep -oE "$line" "$WORLD/calls" | paste -sd,)" = "packages are there,ninja all" ]
  touch "$WORLD/ninja-has-done"
  : >"$WORLD/calls"
  isobar test
  expect "code 0" [ "$CODE" = 0 ]
  expect "else before the packages, and all of it after" [ "$(grep -oE "$line" "$WORLD/calls" | paste -sd,)" = "ninja all,packages are there,ninja all" ]
}
case_data_is_only_made_for_a_plain_run() {
  local words
  for words in "--preset cpu_small" "--config x.toml" "--set data.root=/x" "--set data.source=synthetic" "--set run.measure=synthetic" "--help"; do
    # shellcheck disable=SC2086  # words
    isobar run 01_baseline $words
  done
  isobar quartet 01_baseline
  isobar show last
  expect "other calls leave the data to the program" count_is "make_fields --grid" 0
  isobar run 01_baseline --set train.steps=5
  expect "a plain run has it made" count_is "make_fields --grid 72x144" 1
  expect "counted right" [ "${OUT/error/}" = "$OUT" ]
}
case_packages_are_counted_right() {
  touch "$WORLD/no-packages"
  local said
  isobar setup --programs 01_baseline
  # Two apt-get calls set up three packages each, and another with a trigger: three of three.
  said=$(
    # shellcheck disable=SC2034  # read by the parts
    prefix=$PREFIX package_list="g++ cpp libc6-dev" packages_from=1
    . "$ROOT/cmake/setup/packages.sh"
    packages_done
  )
  expect "never more than there are, not $said" [ "$said" = "packages 3 of 3" ]
}
case_a_lesson_that_stands_alone_takes_neither_libtorch_nor_data() {
  mkdir "$TREE/lessons/00_sgd"
  cp "$ROOT/lessons/00_sgd/lesson.toml" "$TREE/lessons/00_sgd/"
  isobar run 00_sgd --ranks 4
  expect "code 0" [ "$CODE" = 0 ]
  expect "handed over" says "cli <run> <00_sgd> <--ranks> <4>"
  expect "only what it runs" called "ninja isobar-run 00_sgd"
  expect "configured without libtorch" called "ISOBAR_TORCH=OFF"
  expect "libtorch was not fetched" count_is pip 0
  expect "no data set" count_is "make_fields --grid" 0
  isobar run 01_baseline
  expect "the next one brings it" called "ISOBAR_TORCH=ON"
}
case_libtorch_not_for_readers() {
  local command
  for command in "show last" "runs" "predict 08_cuda_graphs" "predict 01_baseline --device H200" "data check x" "gui" "ladder --list" "submit 01_baseline --dry-run"; do
    # shellcheck disable=SC2086  # words
    isobar $command
    expect "$command: code 0" [ "$CODE" = 0 ]
  done
  expect "nothing was fetched" count_is pip 0
  expect "configured without it" count_is "ISOBAR_TORCH=ON" 0
  isobar run 01_baseline
  expect "a run brings it" complete
  expect "and configures again" called "ISOBAR_TORCH=ON"
}
case_one_part_fails_the_others_stop() {
  local part fails
  for part in network package compiler data disk; do
    rm -rf "$PREFIX" "$TREE/build" "$WORLD"/{no-packages,fetch-packages,offline-later,apt-fails,apt-slow,pip-waits,build-fails,data-fails,data-slow,data-pid,apt-pid,unzip-full}
    touch "$WORLD/no-packages"
    case $part in
      network) fails="offline-later apt-slow" ;;
      package) fails="apt-full-later slow" ;;
      compiler) fails="build-fails pip-waits slow" ;;
      data) fails="data-fails pip-waits slow" ;;
      disk) fails="unzip-full pip-waits data-slow" ;;
    esac
    for fails in $fails; do touch "$WORLD/$fails"; done
    isobar run 01_baseline
    expect "$part: code 1" [ "$CODE" = 1 ]
    expect "$part: one message" [ "$(grep -c 'isobar: error\|make_fields: error' <<<"$OUT")" = 1 ]
    [ ! -s "$WORLD/apt-pid" ] || expect "$part: apt is gone" in_the_end gone "$(cat "$WORLD/apt-pid")"
    [ ! -s "$WORLD/data-pid" ] || expect "$part: make_fields is gone" in_the_end gone "$(cat "$WORLD/data-pid")"
    expect "$part: no leftovers" in_the_end no_parts_left
    expect "$part: nothing marked by halves" right_or_unmarked
    expect "$part: not called ready" [ ! -e "$TREE/build/.ready" -o "$part" = data ]
    rm -f "$WORLD"/{offline-later,apt-slow,apt-full-later,pip-waits,slow,build-fails,data-fails,data-slow,unzip-full}
    isobar run 01_baseline
    expect "$part: the next run finishes" [ "$CODE" = 0 ]
    expect "$part: complete" complete
  done
}
case_stopped_in_each_part() {
  local part signal file code
  # A signal that is caught in each of them, and one that is not where a wheel is half there.
  for signal in TERM KILL; do
    for part in network package compiler data; do
      [ $signal = TERM ] || [ $part = network ] || [ -n "${ISOBAR_PRODUCTS:-}" ] || continue
      rm -rf "$PREFIX" "$TREE/build" "$WORLD"/{no-packages,fetch-packages,apt-pid,data-pid,pip-pid,ninja-pid}
      touch "$WORLD/no-packages"
      case $part in
        network) file=pip-pid; touch "$WORLD/slow" ;;
        package) file=apt-pid; touch "$WORLD/apt-slow" ;;
        compiler) file=ninja-pid; touch "$WORLD/ninja-slow" ;;
        data) file=data-pid; touch "$WORLD/data-slow" ;;
      esac
      begun run 01_baseline
      expect "$part, $signal: it came so far" in_the_end test -s "$WORLD/$file"
      kill -$signal $PID
      code=0
      { wait $PID || code=$?; } 2>/dev/null
      [ $signal = KILL ] || expect "$part: code 143, not $code: $(tail -n 3 "$WORLD/said")" [ $code = 143 ]
      expect "$part, $signal: its program is gone" in_the_end gone "$(cat "$WORLD/$file")"
      [ $signal = KILL ] || expect "$part: no leftovers" in_the_end no_parts_left
      expect "$part, $signal: nothing marked by halves" right_or_unmarked
      rm -f "$WORLD"/{slow,apt-slow,ninja-slow,data-slow}
      isobar run 01_baseline
      expect "$part, $signal: the next run finishes" [ "$CODE" = 0 ]
      expect "$part, $signal: complete" complete
      expect "$part, $signal: no leftovers after it" in_the_end no_parts_left
    done
  done
}
case_no_network_after_half() {
  touch "$WORLD/no-packages" "$WORLD/offline-later"
  isobar run 01_baseline
  expect "code 1" [ "$CODE" = 1 ]
  expect "what could not be fetched" says "nvidia_a==1 could not be fetched"
  expect "what came stays" [ -f "$PREFIX/downloads/torch-2.11.0-x.whl" ]
  rm "$WORLD/offline-later"
  : >"$WORLD/calls"
  isobar run 01_baseline
  expect "it goes on with what is complete" count_is "pip torch" 0
  expect "and finishes" complete
}
case_broken_off_for_another_prefix() {
  after isobar run 01_baseline
  : >"$WORLD/calls"
  touch "$WORLD/pip-waits" "$WORLD/altered"
  PREFIX=$WORLD/other isobar run 01_baseline
  expect "the other fails" [ "$CODE" = 1 ]
  expect "after it was configured without libtorch" called "ISOBAR_TORCH=OFF"
  rm "$WORLD/pip-waits" "$WORLD/altered"
  : >"$WORLD/calls"
  isobar run 01_baseline
  expect "the first is configured again" called "ISOBAR_TORCH=ON"
  expect "and runs" [ "$CODE" = 0 ]
}
case_a_link_from_another_folder() {
  after isobar run 01_baseline
  mkdir -p "$WORLD/elsewhere"
  ln -s "$TREE/isobar" "$WORLD/elsewhere/isobar"
  ln -s elsewhere/isobar "$WORLD/again"
  CODE=0
  OUT=$(cd / && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" "$WORLD/again" run 01_baseline 2>&1 </dev/null) || CODE=$?
  expect "code 0" [ "$CODE" = 0 ]
  expect "it runs" says "cli <run> <01_baseline>"
}
case_blanks_in_every_path() {
  mv "$TREE" "$WORLD/a tree"
  TREE="$WORLD/a tree" PREFIX="$WORLD/a prefix"
  touch "$WORLD/no-packages"
  isobar run 01_baseline --set 'a=b  c'
  expect "code 0" [ "$CODE" = 0 ]
  expect "it runs" says "cli <run> <01_baseline> <--set> <a=b  c>"
  expect "into that prefix" complete
  isobar doctor
  expect "doctor too" [ "$CODE" = 0 ]
  isobar clean --all --yes
  expect "and clean" [ ! -e "$PREFIX/libtorch-2.11.0" ]
}
case_building_beside_running() {
  after isobar run 01_baseline
  exec 5>>"$TREE/build/.lock"
  flock 5
  echo "1234 test" >"$TREE/build/.lock"
  : >"$WORLD/calls"
  isobar run 01_baseline
  expect "what is up to date runs at once" [ "$OUT" = "cli <run> <01_baseline>" ]
  expect "without a second ninja" [ ! -s "$WORLD/calls" ]
  touch "$TREE/lessons/01_baseline/main.cpp"
  begun run 01_baseline
  expect "what is not waits, and says for whom" \
    in_the_end said "waiting for ./isobar test (process 1234), which builds; Ctrl-C stops waiting"
  kill -TERM $PID
  wait $PID
  expect "a signal ends the waiting" [ $? = 143 ]
  begun run 01_baseline
  expect "another waits" in_the_end said waiting
  exec 5>&-
  wait $PID
  expect "the lock's end too" [ $? = 0 ]
  expect "then it builds" called "ninja isobar-run make_fields 01_baseline"
  expect "its words are in the lock" grep -qx "[0-9]* run 01_baseline" "$TREE/build/.lock"
}
case_ctrl_c_on_a_terminal() {
  touch "$WORLD/no-packages" "$WORLD/apt-slow"
  cat >"$WORLD/terminal.py" <<'BODY'
import os, pty, select, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execvpe("bash", ["bash", "./isobar", "--yes", "run", "01_baseline"], {**os.environ, "TERM": "xterm"})  # whatever runs the tests
said, sent, begin = b"", False, time.time()
while time.time() - begin < 800:
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            said += os.read(terminal, 65536)
        except OSError:
            break
    if not sent and os.path.exists(sys.argv[1]) and "packages 3 of 3 · libtorch".encode() in said:
        os.write(terminal, b"\3")
        sent = True
print(said.decode(errors="replace"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
BODY
  CODE=0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" timeout 900 python3 "$WORLD/terminal.py" "$WORLD/apt-pid" 2>&1) || CODE=$?
  expect "code 130, not $CODE" [ "$CODE" = 130 ]
  expect "one line of all parts" says "packages 3 of 3 · libtorch"
  expect "apt is gone" in_the_end gone "$(cat "$WORLD/apt-pid")"
  expect "no leftovers" in_the_end no_parts_left
}
