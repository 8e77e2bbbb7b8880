# Words for a person: plain lines, a live line on a terminal, errors with what, where and hint. Sourced by ./isobar.
# shellcheck shell=bash

# A descriptor that was closed stands for /dev/null, so that no file gets its number and what is printed with it; as the
# programs have it (engine/base/core/standard_output.h).
true 3>&2 || exec 2>/dev/null
{ true 3<&0; } 2>/dev/null || exec </dev/null
{ true 3>&1; } 2>/dev/null || exec 1</dev/null

say() { printf '%s\n' "$*"; }

# die WHAT WHERE HINT [CODE]: an error a person can act on; 1 = failed, 2 = wrong input.
die() {
  live_end
  {
    printf 'isobar: error: %s\n' "$1"
    [ -z "${2:-}" ] || printf '  where: %s\n' "$2"
    [ -z "${3:-}" ] || printf '  hint:  %s\n' "$3"
  } >&2
  exit "${4:-1}"
}

# is_live: whether a line on standard output can be overwritten.
is_live() { [ -t 1 ] && [ "${TERM:-}" != dumb ]; }

live_shown=
# live TEXT: overwrites itself on a terminal; elsewhere it is a line of its own, so call it seldom there.
live() {
  if is_live; then
    printf '\r\033[K%s' "${1:0:${COLUMNS:-80}-1}"
    live_shown=1
  else
    printf '%s\n' "$1"
  fi
}
live_end() {
  [ -z "$live_shown" ] || printf '\n'
  live_shown=
}

# megabytes BYTES
megabytes() { printf '%d MB' $((($1 + 500000) / 1000000)); }

# read_space FOLDER: sets space to the free bytes of the file system that FOLDER, or the nearest folder above it that
# exists, is on.
read_space() {
  local folder=$1
  while [ ! -d "$folder" ]; do
    case $folder in /*/*) folder=${folder%/*} ;; /*) folder=/ ;; */*) folder=${folder%/*} ;; *) folder=. ;; esac
  done
  { read -r _ && read -r _ _ _ space _; } < <(exec df -Pk "$folder") || space=0
  space=$((space * 1024))
}

# need_space FOLDER BYTES WHAT [WAY OUT]
need_space() {
  local space
  read_space "$1"
  [ "$space" -ge "$2" ] || die "too little disk for $3: $(megabytes "$2") are needed, $(megabytes "$space") are free" "$1" \
    "free some space, or ${4:-keep the cached files elsewhere: export ISOBAR_PREFIX=/another/folder}"
}

# has_line FILE BEGINNING: whether a line of it begins so. Begins no process.
has_line() {
  local text=''
  [ ! -r "$1" ] || IFS= read -r -d '' text <"$1" || true
  [[ $'\n'$text = *$'\n'"$2"* ]]
}

# nearest WORD CANDIDATE...: the candidate that shares the longest beginning, if any.
nearest() {
  local word=$1 best='' length=0 candidate n
  shift
  for candidate in "$@"; do
    n=0
    while [ $n -lt ${#word} ] && [ "${word:0:n+1}" = "${candidate:0:n+1}" ]; do n=$((n + 1)); done
    [ $n -le $length ] || { length=$n best=$candidate; }
  done
  printf '%s' "$best"
}

# gigabytes BYTES: to a tenth.
gigabytes() { printf '%d.%d GB' $((($1 + 50000000) / 1000000000)) $((($1 + 50000000) % 1000000000 / 100000000)); }
