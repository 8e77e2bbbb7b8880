#!/usr/bin/env bash
# Draws lessons/*/pictures/*.svg anew, from lessons/*/view. ISOBAR_BUILD names another build folder than build/.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${ISOBAR_BUILD:-$here/../build}
cmake --build "$build" --target draw_pictures
"$build/bin/draw_pictures" "$here"
