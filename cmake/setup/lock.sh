# Locks: one command builds or sets up at a time, where the file system has locks. Sourced by the parts that lock.
# shellcheck shell=bash

# try_lock DESCRIPTOR: 0 = locked, 1 = another holds it, 2 = it cannot be locked here, as on Lustre without -o flock.
try_lock() {
  local status=0
  flock -n -E 9 "$1" 2>/dev/null || status=$?
  case $status in
    0) ;;
    9) return 1 ;;
    *) return 2 ;;
  esac
}

told_no_locks=
# report_no_locks FOLDER: once.
report_no_locks() {
  [ -n "$told_no_locks" ] || say "note: the file system of $1 knows no locks, so let only one command set up or build there at a time"
  told_no_locks=1
}

# await_lock DESCRIPTOR [COMMAND...]: until it is free. COMMAND is called twice a second, and ends the waiting with 1 by 1.
await_lock() {
  local descriptor=$1 status=0
  shift
  flock "$descriptor" 2>/dev/null &
  background=$!  # not in the foreground, where a signal would wait too
  while kill -0 "$background" 2>/dev/null; do
    sleep 0.5
    [ $# = 0 ] || "$@" || { status=1; kill "$background" 2>/dev/null || true; break; }
  done
  { wait "$background" || true; } 2>/dev/null
  background=
  live_end
  return $status
}
