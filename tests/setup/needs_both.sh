#!/usr/bin/env bash
# What commands need: the program and the shell read cmake/setup/needs.txt alike, and the table has the options that the commands have.
#   needs_both.sh FOLDER     of built programs
set -uo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
setup=$home/cmake/setup build=$(mktemp -d) bin=$1
trap 'rm -rf "$build"' EXIT
machine='' ISOBAR_PREFIX=$build ISOBAR_HOME=$home
export ISOBAR_PREFIX ISOBAR_HOME
for part in say machine needs; do
  # shellcheck source=/dev/null
  . "$setup/$part.sh"
done
failures=0
fail() { printf '%s\n' "$@"; failures=$((failures + 1)); }
sorted() { tr ' ' '\n' <<<"$1" | sed '/^$/d' | sort | paste -sd' '; }

# Sets by_program and by_shell: what a command line needs.
both() {
  by_program=$("$bin/isobar-run" --needs "$@" </dev/null) || { fail "refused: $*"; return; }
  by_program=${by_program/facts=*/facts=$(sorted "${by_program#*facts=}")}
  by_shell=$({ read_needs "$@"; printf 'lesson=%s\nprogram=%s\ntargets=%s\nparts=%s\nfacts=%s' "$lesson" "$program" "${targets[*]-}" "$parts" "$(sorted "$facts")"; } </dev/null)
}

lines=0
compare() { # compare COMMAND WORD...
  lines=$((lines + 1))
  both "$@"
  [ "$by_program" = "$by_shell" ] || fail "they differ: $*" "$(diff <(echo "$by_program") <(echo "$by_shell"))"
}
# What a value must not change.
plain() { grep -E '^(program|targets|parts)=' <<<"$by_program"; }

commands='run learn quiz demo quartet sweep scale record submit predict check'
for command in $commands; do
  for lesson_word in '' 00 0 1 01_baseline base 06 9 buckets nothing 06.wire wire '--'; do
    compare "$command" ${lesson_word:+"$lesson_word"}
  done
done
for words in help --help 'show last --json' 'show --recorded' 'compare a b' 'report a -o b --replace' 'import x --into y' 'verdict last' 'runs --all' 'ladder' \
  'ladder --list' 'ladder --repeats 2' 'explain --json' 'exercise 06' 'exercise 06 --print' 'check 09 --watch' 'check 10 --hint' 'gui' 'gui --browser --port 80' \
  'gui --screenshot a.png --size=100x100' 'data make --grid 72x144' 'data check f' 'test' 'test --quick' 'test core --nightly' 'test -R --quick' 'setup' \
  'setup --programs' 'setup --programs 01 9' 'setup --programs none' 'bundle b.tar.gz' 'first-gpu f --seconds 100' 'first-gpu --dry-run' 'clean' 'doctor --json' \
  'bench' 'bench step --device cuda' 'bench gui' 'bench gui --browser' 'bench start' 'bench rungs --help' 'bench check --json' 'bench comm --size 4' \
  'submit 06 --dry-run' 'submit 06 --status' 'submit 06 --nodes 2 --hint multithread' 'quiz 06 --hint' 'quiz 06 --list' 'quiz 06.wire --answer 3' \
  'quiz --when-quiet' 'quiz --when-quiet --wait 5 --json' 'quiz 02 --record' 'quiz wire --with last' 'quiz --again 06' 'learn 06 --json' 'predict 01 --device here' 'predict 01 --device=here' 'predict 01 --device H200' 'predict 08' \
  'predict 01 --measure' 'run 06 --ranks 2' 'run --ranks 2 06' 'run 06 --mine' 'run 06 --set a=b --mine' 'run 06 --set --mine' 'run 06 --set=a=--mine' \
  'run 06 -- --mine' 'run 09 --mine --json' 'sweep 06 train.lr=1,2 --json' 'scale 06 --slurm --programs /x' 'record 05 --from last' 'tour 01'; do
  # shellcheck disable=SC2086
  compare $words
done
compare run 06 --set 'run.group=x --mine y --ranks 3'
compare run 06 --set run.group=$'a\nfacts=torch' --run-dir 'a b'
compare run 06 --set 'run.group=$(touch canary) `x` * ] [' '' '[0]' 'a[1]'
compare show "x'y\"z" --json --curve 'a "b'
[ "$lines" -ge 200 ] || fail "only $lines command lines were compared"

both run 06
expected=$(plain)
for value in 'x --mine y' --mine 'a --ranks 2 b' --ranks --json --help; do
  both run 06 --set "$value"
  [ "$(plain)" = "$expected" ] || fail "a value, \"$value\", is taken for an option"
  [ "$by_program" = "$by_shell" ] || fail "they differ: --set $value"
done

# Options of the pages, and whether they take a value.
for command in run show learn quiz step tour exercise check compare report import verdict demo quartet sweep scale predict record submit runs ladder explain; do
  values=' '
  while IFS='|' read -r kind whose names; do
    [[ $kind != 'value ' || ($whose != *'*'* && $whose != *" $command "*) ]] || values+="$names "
  done <"$setup/needs.txt"
  page=$("$bin/isobar-cli" "$command" --help | grep -E '^ +-')
  while read -r names kind; do
    for name in ${names//,/ }; do
      case $kind in
        TEXT* | INT* | FLOAT* | '{'*) [[ $values = *" $name "* ]] || fail "$command: $name takes a value, and needs.txt does not have it" ;;
        *) [[ $values != *" $name "* ]] || fail "$command: $name takes no value, and needs.txt has one" ;;
      esac
    done
  done <<<"$page"
done

echo 'run | a row of two columns' >"$build/needs.txt"
mkdir -p "$build/cmake/setup" && mv "$build/needs.txt" "$build/cmake/setup/"
! ISOBAR_HOME=$build "$bin/isobar-run" --needs run 01 2>"$build/errors" || fail "a row of two columns is taken"
grep -q 'a row of three columns is wanted' "$build/errors" || fail "$(<"$build/errors")"
! "$bin/isobar-run" --needs run 01 --set 2>/dev/null || fail "an option without its value is taken"

echo "$lines command lines were read by both, $failures differ"
[ "$failures" = 0 ]
