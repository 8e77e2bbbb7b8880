#!/usr/bin/env bash
# Draws gui/recorded/watch.png, lesson.png, compare.png, predict.png, timeline.png and memory.png anew: the default run and a run of each lesson that this machine
# can run, then the window in a display in memory. About four minutes on a laptop that does nothing else; beside other programs the pictures say so.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$home/isobar" run 01 --run-dir runs/default | tail -n 1
for page in "$home"/lessons/0[2-7]_*/main.cpp; do
  lesson=$(basename "$(dirname "$page")")
  "$home/isobar" run "$lesson" --preset cpu_micro --run-dir "runs/$lesson" --set train.steps=200 | tail -n 1
done
"$home/isobar" run 06 --ranks 2 --preset cpu_micro --run-dir runs/two-ranks --set train.steps=200 | tail -n 1
"$home/isobar" predict 01 | sed -n 1p  # measures this machine where that was not done
mkdir -p "$home/gui/recorded"
picture() { # picture NAME PLACE... OPTION...
  local name=$1
  shift
  "$home/isobar" gui "$@" --screenshot "$home/gui/recorded/$name.png" --replace --size 1600x1400
}
picture watch runs --run runs/default --panel watch --theme dark
ISOBAR_PROGRESS=$work/progress.jsonl picture lesson runs --lesson 02 --panel lesson --theme light  # of who did nothing yet
picture compare "$home"/lessons/0[1-5]_*/recorded/h200-*-short --panel compare --theme light
picture predict runs --run runs/default --panel predict --theme dark
picture timeline runs --run runs/two-ranks --panel timeline --theme light
picture memory runs --run runs/05_fusion --panel memory --theme light
python3 "$home/tests/repo/check_window_pictures.py" "$home" --write
