#!/usr/bin/env bash
# with_display.sh WIDTHxHEIGHT COMMAND...: runs a command on a display of its own, in memory (Xvfb, Mesa's software OpenGL).
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: with_display.sh WIDTHxHEIGHT COMMAND..." >&2; exit 2; }
size=$1
shift
command -v Xvfb >/dev/null || { printf 'isobar: error: Xvfb is not installed\n  hint:  as root: apt-get install --no-install-recommends xvfb libgl1-mesa-dri\n' >&2; exit 1; }
folder=$(mktemp -d)
server=
# shellcheck disable=SC2317
clean_up() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkfifo "$folder/number"
# Without -r a key whose release comes late on a busy machine is typed again.
Xvfb -r -displayfd 7 -screen 0 "${size}x24" -nolisten tcp -noreset 7>"$folder/number" 2>"$folder/log" >/dev/null &
server=$!
# Not by "read -t 20": see build.sh. It ends with its pipe when the server does.
read -r number <"$folder/number" || { cat "$folder/log" >&2; echo "isobar: error: the display in memory did not start" >&2; exit 1; }
DISPLAY=:$number LIBGL_ALWAYS_SOFTWARE=1 "$@"
