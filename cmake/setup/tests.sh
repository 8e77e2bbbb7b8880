# ./isobar test: which tests, and where their files lie. Sourced by ./isobar.
# shellcheck shell=bash

# test_words WORD...: the words for ctest, in the array `words`; names of tests come first.
test_words() {
  local word names=()
  while [ $# -gt 0 ] && [[ $1 != -* ]]; do
    [[ $1 =~ ^[0-9A-Za-z_]+$ ]] || die "\"$1\" is no name of a test" "./isobar test" "./isobar test --list names them" 2
    names+=("$1")
    shift
  done
  words=()
  for word in "$@"; do
    case $word in
      --quick) words+=(-L '^quick$') ;;
      --nightly) words+=(-C nightly -L '^nightly$') ;;
      --browser) given --nightly || words+=(-C browser -L '^browser$') ;;  # the night has them too
      --list) words+=(-N) ;;
      --build-only) ;;
      *) words+=("$word") ;;
    esac
  done
  [ ${#names[@]} = 0 ] || words+=(-C nightly -R "^($(IFS='|' && printf '%s' "${names[*]}"))\$")
}

# takes_browsers: whether tests with a browser are to run.
takes_browsers() { { given --browser || given --nightly; } && ! given --list; }

# add_browsers: to parts, what such tests take; the night does without.
add_browsers() {
  local lost='' lacking
  have_debian || other_part_here browser || parts=${parts/ browser/}
  takes_browsers || return 0
  if have_debian && ! can_be_root; then
    read_missing browsers
    lost=$lacking
  fi
  if [ -z "$lost" ]; then
    parts="$parts browsers"
  elif given --browser; then
    die "only root can install a browser" "this machine" "ask an administrator for: apt-get install --no-install-recommends $lost"
  else
    say "only root can install a browser: tests that take one are skipped. Missing: $lost"
  fi
}

names_of_tests() { ctest --test-dir "$build" "$@" -N | sed -n 's/^ *Test *#[0-9]*: *//p'; }

# check_test_names WORD...: once they are known, since the build is configured; builds what those of the night take.
check_test_names() {
  local all day night=''
  [ $# -gt 0 ] && [[ $1 != -* ]] || return 0
  all=$(names_of_tests -C nightly)
  day=$(names_of_tests)
  while [ $# -gt 0 ] && [[ $1 != -* ]]; do
    # shellcheck disable=SC2086
    grep -qxF "$1" <<<"$all" || die "there is no test \"$1\"" "./isobar test" "did you mean $(nearest "$1" $all)? ./isobar test --list names them" 2
    grep -qxF "$1" <<<"$day" || night=1
    shift
  done
  [ -z "$night" ] || build_targets isobar_everything
}

# Tests write small files by the ten thousand, and make sure that they are on the disk: in memory that costs nothing.
choose_test_folder() {
  local needed=2000000000 space free
  read_space /dev/shm
  read_free
  if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "$space" -gt $((2 * needed)) ] && [ "$free" -gt $((4 * needed)) ]; then
    test_folder=$(mktemp -d /dev/shm/isobar-tests-XXXXXX)
    export TMPDIR=$test_folder
  else
    need_space "${TMPDIR:-/tmp}" $needed "the files of tests" "name another folder: TMPDIR=FOLDER ./isobar test"
  fi
}

run_tests() {
  local words cores
  cd "$home" || return
  check_test_names "$@"
  ! given --build-only || return 0
  test_words "$@"
  choose_test_folder
  ! takes_browsers || say_no_browser
  export OMP_WAIT_POLICY=passive  # several programs share the processors: who waits for a thread must not spin
  read_cores  # two fill a processor, since most wait at times
  ctest --test-dir "$build" --output-on-failure --no-tests=error -j $((2 * cores + 1)) "${words[@]}"
}
