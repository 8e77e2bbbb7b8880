#!/usr/bin/env bash
# Draws gui/recorded/watch.png, compare.png and timeline.png anew: a run of each lesson that this machine can run, four with different
# learning rates and the default run, then the window in a display in memory. About two minutes on a laptop.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$home/isobar" run 01_baseline --run-dir runs/default | tail -n 1
for lesson in 02_workers 03_gpu_loader 04_amp 05_fusion 06_ddp 07_tensor_parallel; do
  "$home/isobar" run "$lesson" --preset cpu_micro --run-dir "runs/$lesson" --set train.steps=200 | tail -n 1
done
"$home/isobar" run 06_ddp --ranks 2 --preset cpu_micro --run-dir runs/two-ranks --set train.steps=200 | tail -n 1
for rate in 2e-4 1e-3 2e-3 4e-3; do
  "$home/isobar" run 01_baseline --preset cpu_micro --run-dir "runs/lr-$rate" --set "optim.lr=$rate" --set train.steps=400 | tail -n 1
done
mkdir -p "$home/gui/recorded"
picture() { # picture NAME PLACE... OPTION...
  local name=$1
  shift
  "$home/isobar" gui "$@" --screenshot "$home/gui/recorded/$name.png" --size 1600x1400
}
picture watch runs --run runs/default --panel watch --theme dark
picture compare runs/lr-* --panel compare --theme light
picture timeline runs --run runs/two-ranks --panel timeline --theme light
