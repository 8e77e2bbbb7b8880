#!/usr/bin/env bash
# Makes recorded/curve.svg, the curve of the README, anew: 4,000 steps of the preset cpu_tiny, about two minutes on 2 cores.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$here/../../isobar" run 01_baseline --preset cpu_tiny --set train.steps=4000 --run-dir "$folder/run"
"$here/../../isobar" show "$folder/run" --curve "$here/recorded/curve.svg"
