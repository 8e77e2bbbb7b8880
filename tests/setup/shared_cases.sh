# Cases of run_all.sh: a file system without locks, waiting for the build of another, and a checkout that this user cannot
# write.
# shellcheck shell=bash

no_locks() {
  script flock <<'BODY'
echo "flock: ${*: -1}: Function not implemented" >&2
exit 65
BODY
}
case_shared_no_locks() {
  no_locks
  isobar run 01_baseline
  expect "the first command succeeds" [ "$CODE" = 0 ]
  expect "once it reports that there are no locks" [ "$(grep -c 'knows no locks, so let only one command' <<<"$OUT")" = 1 ]
  expect "nobody is waited for" [ "${OUT/waiting/}" = "$OUT" ]
  expect "no word of flock's own" [ "${OUT/flock/}" = "$OUT" ]
  isobar run 01_baseline
  expect "what is built starts without a word" [ "$OUT" = "cli <run> <01_baseline>" ]
  isobar clean --all --yes
  expect "clean goes on too" [ ! -e "$TREE/build" ]
}

# another_builds: the lock is held, and its log stands at 412 of 1030.
another_builds() {
  exec 5>>"$TREE/build/.lock"
  flock 5
  echo "1234 setup" >"$TREE/build/.lock"
  touch -d "1 second ago" "$TREE/build/.lock"
  printf '411/1030 Building a\n412/1030 Building b\nb.cpp:1: warning: c\n' >"$TREE/build/build.log"
}
case_shared_waiting_is_told_how_far() {
  after isobar run 01_baseline
  another_builds
  touch "$TREE/lessons/01_baseline/main.cpp"
  begun run 01_baseline
  expect "how far the other is" in_the_end said "it has built 412 of 1030"
  kill -TERM "$PID"
  wait "$PID"
  expect "it ends by the signal" [ $? = 143 ]
  expect "and no word of bash's own" [ "$(grep -vc 'waiting for\|it has built' "$WORLD/said")" = 0 ]
  isobar run 01_baseline --help
  expect "a page is read meanwhile" [ "$OUT" = "cli <run> <01_baseline> <--help>" ]
  rm "$TREE/build/bin/isobar-run"
  isobar run 01_baseline --help
  expect "the general one where its program is not built" says "./isobar run LESSON [options]"
  exec 5>&-
}
case_shared_page_during_a_set_up() {
  mkdir -p "$PREFIX"
  exec 5>>"$PREFIX/.lock"
  flock 5
  isobar run 01_baseline --help
  exec 5>&-
  expect "the general page is read meanwhile" says "./isobar run LESSON [options]"
}
case_shared_what_ninja_knows_need_not_wait() {
  after isobar run 01_baseline
  rm -r "$TREE/build/.built"  # built by ninja alone
  another_builds
  touch "$WORLD/ninja-has-done"
  isobar run 01_baseline
  exec 5>&-
  expect "it starts" [ "$OUT" = "cli <run> <01_baseline>" ]
}

# as_another ARGS...: ./isobar of a user who cannot write the checkout; where nobody is root, of a checkout that nobody can.
as_another() {
  local -a user=()
  [ "$(/usr/bin/id -u)" != 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  CODE=0
  OUT=$(cd "${STAND:-$WORLD/elsewhere}" && PATH="$WORLD/bin:$PATH" HOME=$WORLD/their TMPDIR=$WORLD/their timeout 900 "${user[@]}" env -u ISOBAR_PREFIX -u XDG_CACHE_HOME -u ISOBAR_MY \
    "$TREE/isobar" "$@" 2>&1 </dev/null 5>&-) || CODE=$?
}
# move_to_all: to where another user can go, too: the folders above TMPDIR may be private.
move_to_all() {
  local place made
  [ "$(/usr/bin/id -u)" = 0 ] || return 0
  for place in "${TMPDIR:-/tmp}" /dev/shm /var/tmp /tmp; do
    made=$(mktemp -d -p "$place") || continue
    chmod 755 "$made"
    if setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$made"; then
      cp -a "$WORLD/." "$made"
      rm -rf "$WORLD"
      enter_world "$made"
      return
    fi
    rmdir "$made"
  done
}
hand_to_another() {
  chmod 755 "$WORLD"
  mkdir -p "$WORLD/their" "$WORLD/elsewhere"
  if [ "$(/usr/bin/id -u)" = 0 ]; then
    chown 65534 "$WORLD/their" "$WORLD/elsewhere" "$WORLD/calls"
  else
    chmod -R a-w "$TREE"
  fi
}
take_back() { chmod -R u+w "$TREE"; }
case_shared_checkout_of_another() {
  local why="it is read-only"
  [ "$(/usr/bin/id -u)" != 0 ] || why="you cannot write it"
  move_to_all
  hand_to_another
  as_another run 01_baseline
  expect "not built: code 1" [ "$CODE" = 1 ]
  expect "in words" says "error: nothing is built in this checkout, and $why"
  as_another run 01_baseline --help
  expect "a page all the same" says "./isobar run LESSON [options]"
  as_another run 01_baseline
  expect "with a way out" says "./isobar setup  "
  take_back
  isobar run 01_baseline
  isobar learn
  isobar gui
  printf '#!/bin/sh\nprintf "%%s %%s %%s" "$ISOBAR_MY" "$ISOBAR_PREFIX" "$PWD"\n' >"$TREE/build/bin/isobar-run"
  hand_to_another
  : >"$WORLD/calls"
  as_another learn
  expect "learn starts: $OUT" [ "$OUT" = "cli <learn>" ]
  as_another run 01_baseline
  expect "run too, with folders of its own: $OUT" [ "$OUT" = "$WORLD/their/isobar/my $WORLD/their/.cache/isobar $WORLD/elsewhere" ]
  expect "nothing was built" [ ! -s "$WORLD/calls" ]
  expect "the data set is the owner's" [ -e "$WORLD/their/.cache/isobar/data/fields-72x144-v1/dataset.toml" ]
  STAND=$TREE as_another run 01_baseline
  expect "below the checkout, runs are kept at home" says "note: $TREE cannot be written: runs are kept in $WORLD/their/isobar/runs"
  expect "and it stands there" says "$WORLD/their/.cache/isobar $WORLD/their/isobar"
  as_another gui
  expect "the window starts: $OUT" [ "$OUT" = "cli <>" ]
  as_another --cuda gui
  expect "a part that is missing: in words" says "this checkout is not set up for that, and $why"
  expect "and what its owner runs" says "./isobar gui  "
  as_another test
  expect "tests are refused" says "./isobar test writes into the checkout, and $why"
  take_back
  touch "$TREE/lessons/01_baseline/main.cpp"
  hand_to_another
  as_another run 01_baseline
  expect "out of date: in words" says "this checkout has changed since it was built"
  touch "$WORLD/ninja-has-done"
  as_another run 01_baseline
  expect "which ninja knows better" [ "$CODE" = 0 ]
  rm "$PREFIX/libtorch-2.11.0/.complete"
  as_another run 01_baseline
  expect "libtorch that cannot be read: in words" says "you cannot read what this checkout was built with"
  expect "no word of bash's own" [ "${OUT/line /}" = "$OUT" ]
  take_back
}
