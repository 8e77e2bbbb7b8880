#!/usr/bin/env bash
# Draws gui/recorded/watch.png and compare.png anew: four short runs with different learning rates and the default run, then
# the window in a display in memory. About a minute and a half on a laptop.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for rate in 2e-4 1e-3 2e-3 4e-3; do
  "$home/isobar" run 01_baseline --preset cpu_micro --set "optim.lr=$rate" --set train.steps=400 | tail -n 1
done
"$home/isobar" run 01_baseline | tail -n 1
mkdir -p "$home/gui/recorded"
newest=$(find runs -mindepth 1 -maxdepth 1 | sort | tail -n 1)
"$home/isobar" gui runs --run "$newest" --screenshot "$home/gui/recorded/watch.png" --size 1440x900 --panel watch --theme dark
mapfile -t short < <(find runs -mindepth 1 -maxdepth 1 | sort | head -n 4)
"$home/isobar" gui "${short[@]}" --screenshot "$home/gui/recorded/compare.png" --size 1440x900 --panel compare --theme light
