# Parts of the work beside each other: each in a process group of its own, with its word about how far it is. The
# first that fails stops the others; none outlives ./isobar, however that ends. Sourced by ./isobar.
# shellcheck shell=bash

parts_folder=  # what the parts say: NAME.at (how far), NAME.out, NAME.err; empty while none was started
part_names=()  # names in the line of progress
declare -A part_pid=()
parts_shown=0  # when the line was written last, in seconds

open_parts() {
  [ -z "$parts_folder" ] || return 0
  mkdir -p "$prefix/logs"
  parts_folder=$prefix/logs/.parts-$$
  rm -rf "$parts_folder"
  mkdir "$parts_folder"
  mkfifo "$parts_folder/guard"
  set -m
  guard_parts <"$parts_folder/guard" >/dev/null 2>&1 &
  set +m
  disown
  exec 6>"$parts_folder/guard"
}

# guard_parts: reads which processes begin (+N) and end (-N). Its input ends with ./isobar, which may have been
# killed; whatever is at work then is ended.
guard_parts() {
  local word
  local -A at_work=()
  trap '' INT TERM HUP
  exec 8>&- 9>&-
  while read -r word; do
    case $word in
      +*) at_work[${word#+}]=1 ;;
      *) unset "at_work[${word#-}]" ;;
    esac
  done
  for word in TERM KILL; do
    [ ${#at_work[@]} = 0 ] || kill -$word -- "${!at_work[@]}" || return 0
    [ $word = KILL ] || sleep 2
  done
}

# start_part NAME COMMAND...: in the background.
start_part() {
  local name=$1
  shift
  open_parts
  [[ " ${part_names[*]-} " = *" $name "* ]] || part_names+=("$name")
  : >"$parts_folder/$name.at"
  set -m
  (
    set +m
    exec 6>&- </dev/null >"$parts_folder/$name.out" 2>"$parts_folder/$name.err"
    trap - EXIT INT
    trap 'exit 143' TERM
    part_state=$parts_folder/$name.at
    "$@"
  ) &
  part_pid[$name]=$!
  set +m
  printf '+-%s\n' "$!" >&6
}

part_at_work() { [ -n "${part_pid[$1]:-}" ]; }

# report TEXT: how far a part is; outside of a part on the screen, and seldom where that is no terminal.
part_state=
reported=0
report() {
  if [ -n "$part_state" ]; then
    printf '%s\n' "$1" >"$part_state" || true  # a full disk is found by who writes what counts
  elif is_live || [ $((SECONDS - reported)) -ge 10 ]; then
    live "  $1"
    reported=$SECONDS
  fi
}

# show_parts TEXT: one line of all parts at work, and of what is done beside them here; where no terminal is, every
# ten seconds.
show_parts() {
  local name text line=''
  is_live || [ $((SECONDS - parts_shown)) -ge 10 ] || return 0
  for name in ${part_names[@]+"${part_names[@]}"}; do
    part_at_work "$name" && read -r text <"$parts_folder/$name.at" || continue
    line="$line${line:+ · }$text"
  done
  line="$line${1:+${line:+ · }$1}"
  [ -z "$line" ] || live "  $line"
  parts_shown=$SECONDS
}

# reap_parts: takes note of those that ended; the first that failed ends all of it, with its own words.
reap_parts() {
  local name pid status
  for name in ${part_names[@]+"${part_names[@]}"}; do
    pid=${part_pid[$name]:-}
    [ -n "$pid" ] && ! kill -0 "$pid" 2>/dev/null || continue
    status=0
    { wait "$pid" || status=$?; } 2>/dev/null
    printf -- '--%s\n' "$pid" >&6
    unset "part_pid[$name]"
    if [ -s "$parts_folder/$name.out" ]; then
      live_end
      cat "$parts_folder/$name.out"
    fi
    [ "$status" != 0 ] || continue
    stop_parts
    live_end
    [ ! -s "$parts_folder/$name.err" ] || { cat "$parts_folder/$name.err" >&2; exit 1; }
    die "the part \"$name\" of the set-up was ended (code $status)" "$parts_folder" "run the same command again; it goes on with what is complete"
  done
}

# join NAME...: waits for these parts, with progress of all.
join() {
  local name
  for name in "$@"; do
    while part_at_work "$name"; do
      reap_parts
      part_at_work "$name" || break
      show_parts ""
      sleep 0.1
    done
  done
  live_end
}

# stop_parts: ends what is at work, and waits until it is gone.
stop_parts() {
  local name tries
  [ ${#part_pid[@]} -gt 0 ] || return 0
  for name in "${!part_pid[@]}"; do kill -TERM -- "-${part_pid[$name]}" 2>/dev/null || true; done
  for name in "${!part_pid[@]}"; do
    tries=0
    while kill -0 -- "-${part_pid[$name]}" 2>/dev/null && [ $tries -lt 50 ]; do
      tries=$((tries + 1))
      sleep 0.1
    done
    kill -KILL -- "-${part_pid[$name]}" 2>/dev/null || true
    { wait "${part_pid[$name]}" || true; } 2>/dev/null
    printf -- '--%s\n' "${part_pid[$name]}" >&6
  done
  part_pid=()
}

# close_parts: none is at work any more; the guard goes.
close_parts() {
  [ -n "$parts_folder" ] || return 0
  exec 6>&-
  rm -rf "$parts_folder"
  parts_folder='' part_names=()
}
