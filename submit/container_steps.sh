#!/usr/bin/env bash
# container_steps.sh [--cuda] [LESSON...]: in a bare Debian 12, as root, brings what Isobar needs, builds its programs (all lessons, or
# these), tries them, and removes what only building took. submit/Containerfile runs it; so does tests/setup/bare_debian.sh, in a folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export ISOBAR_PREFIX=${ISOBAR_PREFIX:-/opt/isobar-prefix}
cuda=--no-cuda
[ "${1:-}" != --cuda ] || { cuda=--cuda; shift; }
lessons=("$@")

./isobar --yes "$cuda" setup --programs ${lessons[@]+"${lessons[@]}"}

# Two steps on made-up numbers: what cannot train here will not train on a node.
work=$(mktemp -d)
build/bin/"${lessons[0]:-01_baseline}" --preset cpu_micro --run-dir "$work/run" --set run.device=cpu --set data.source=synthetic --set train.steps=2 \
  --set run.measure=full >"$work/log" || { cat "$work/log"; exit 1; }
build/bin/isobar-cli show "$work/run"
rm -rf "$work"

find build -name '*.o' -delete
rm -rf "$ISOBAR_PREFIX/downloads" "$ISOBAR_PREFIX/logs" /var/lib/apt/lists/*
[ -n "${CCACHE_DIR:-}" ] || rm -rf "$HOME/.cache/ccache"
echo "the programs are in $PWD/build/bin"
