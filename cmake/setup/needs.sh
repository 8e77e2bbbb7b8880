# What a command needs (needs.txt): answered by isobar-run, and by the shell where that is not built yet. Sourced by ./isobar.
# shellcheck shell=bash

every_lesson=()
for file in "$home"/lessons/*/lesson.toml; do
  file=${file%/*}
  every_lesson+=("${file##*/}")
done
# find_lesson WORD: sets lesson to the one that is meant; empty where that is none or several. By the rules of lessons_like
# (engine/base/config/lesson.h).
find_lesson() {
  local name number found=()
  lesson=''
  [[ $1 =~ ^[0-9a-z_]+$ ]] || return 0
  for name in "${every_lesson[@]}"; do
    number=${name%%_*}
    if [ "$name" = "$1" ]; then
      found=("$name")
      break
    elif [[ $1 =~ ^0*([0-9]*)$ ]]; then
      [[ ! $number =~ ^0*${BASH_REMATCH[1]}$ ]] || found+=("$name")
    elif [[ $name = "$1"* || ${name#*_} = "$1"* ]]; then
      found+=("$name")
    fi
  done
  [ ${#found[@]} != 1 ] || lesson=${found[0]}
}

# find_question WORD: sets lesson to that of the question ("06.wire", "wire").
find_question() {
  local file
  find_lesson "${1%%.*}"
  [[ -z $lesson && $1 =~ ^[0-9a-z_]+$ ]] || return 0
  for file in "$home"/lessons/*/questions.toml; do
    ! grep -qE "^id = \"[0-9]+\.$1\"" "$file" 2>/dev/null || { file=${file%/*} lesson=${file##*/}; }
  done
}

# add_facts NAME...: to has, but names that no row has.
add_facts() {
  local name
  for name in "$@"; do [[ ! $name =~ ^[-+0-9A-Za-z_=.,:/]+$ ]] || has[$name]=1; done
}

# holds CONDITION: whether one of its names, with commas between them, is a fact.
holds() {
  local name
  for name in ${1//,/ }; do
    if [[ $name = !* ]]; then [ -n "${has[${name#!}]-}" ] || return 0; else [ -z "${has[$name]-}" ] || return 0; fi
  done
  return 1
}

# take_words WORD...: facts of the command line. Sets named to what is no option.
take_words() {
  local word option='' rest=''
  for word in "$@"; do
    if [ -n "$option" ]; then
      add_facts "$option" "$option=$word"
      option=''
    elif [ -z "$rest" ] && [ "$word" = -- ]; then
      rest=1
    elif [ -n "$rest" ] || [[ $word != -?* ]]; then
      named+=("$word")
    elif [[ $values = *" $word "* ]]; then
      option=$word
    else
      add_facts "${word%%=*}" "$word"
    fi
  done
  [ ${#named[@]} = 0 ] || add_facts word "word=${named[0]}"
}

# take_lesson COMMAND: facts of the lesson that is named, and of the machine.
take_lesson() {
  local name sheet exercise
  case $1 in quiz | learn) find_question "${named[0]-}" ;; *) find_lesson "${named[0]-}" ;; esac
  ! driver_here || has[driver]=1
  [ ! -t 0 ] || has[terminal]=1
  [ ! -f "$ISOBAR_PREFIX/rates.toml" ] || has[rates]=1
  [ -n "$lesson" ] || return 0
  sheet=$home/lessons/$lesson/lesson.toml exercise=$home/lessons/$lesson/exercise/exercise.toml
  add_facts lesson all_alone
  ! has_line "$sheet" 'stands_alone = true' || has[alone]=1
  ! has_line "$sheet" 'needs = "cuda"' || has[cuda]=1
  [ ! -f "$exercise" ] || has[exercise]=1
  ! has_line "$exercise" 'name = "race"' || has[race]=1
  for name in "${every_lesson[@]}"; do
    [[ $name > $lesson ]] || has_line "$home/lessons/$name/lesson.toml" 'stands_alone = true' || unset 'has[all_alone]'
  done
}

# build NAME...: adds targets that are not there yet.
build() {
  local name
  for name in "$@"; do [[ " ${targets[*]-} " = *" $name "* ]] || targets+=("$name"); done
}

# take_what WORD...: what a row gives.
take_what() {
  local one name asked=$lesson
  for one in "$@"; do
    one=${one//_WORD/_${named[0]-}} one=${one//_LESSON/_$lesson}
    case $one in
      +EVERY) build "${every_lesson[@]}" ;;
      +NAMED)
        [ ${#named[@]} != 0 ] || build "${every_lesson[@]}"
        for name in ${named[@]+"${named[@]}"}; do
          find_lesson "$name"
          [ -z "$lesson" ] || build "$lesson"
        done
        lesson=$asked ;;
      +LESSONS) for name in "${every_lesson[@]}"; do [[ $name > $lesson ]] || build "$name"; done ;;
      +LESSON) build "$lesson" ;;
      +*) build "${one#+}" ;;
      by:*) program=${one#by:} ;;
      part:*) parts="$parts ${one#part:}" ;;
      -*) unset "has[${one#-}]" ;;
      *) has[$one]=1 ;;
    esac
  done
}

# needs_by_table COMMAND WORD...
needs_by_table() {
  local commands conditions what condition named=() values=' ' rows=() row
  local -A has=()
  while IFS='|' read -r commands conditions what; do
    case $commands in
      '' | '#'*) ;;
      'value ') [[ " $conditions " != *' * '* && " $conditions " != *" $1 "* ]] || values+="$what " ;;
      *) [[ $commands != '* ' && " $commands" != *" $1 "* ]] || rows+=("$conditions|$what") ;;
    esac
  done <"$setup/needs.txt"
  take_words "${@:2}"
  take_lesson "$1"
  for row in "${rows[@]}"; do
    for condition in ${row%%|*}; do holds "$condition" || continue 2; done
    # shellcheck disable=SC2086
    take_what ${row#*|}
  done
  facts=" ${!has[*]} "
}

# read_needs COMMAND WORD...: sets lesson, program, targets, parts and facts (names with blanks around them).
read_needs() {
  local answer=()
  lesson='' program='' targets=() facts=' ' parts='base fetch'
  [ ! -x "$build/bin/isobar-run" ] || mapfile -t answer < <("$build/bin/isobar-run" --needs "$@" 2>/dev/null)
  if [[ ${#answer[@]} = 5 && ${answer[0]} = lesson=* && ${answer[4]} = facts=* ]]; then
    lesson=${answer[0]#*=} program=${answer[1]#*=} parts=${answer[3]#*=} facts=" ${answer[4]#*=} "
    read -r -a targets <<<"${answer[2]#*=}"
  else
    needs_by_table "$@"
  fi
}

# given NAME: whether it is a fact of this command line.
given() { [[ $facts = *" $1 "* ]]; }
