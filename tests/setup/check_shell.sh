#!/usr/bin/env bash
# Checks the scripts of the set-up with shellcheck and the tree's .shellcheckrc.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mapfile -t scripts < <(find cmake submit tests lessons gui datasets \( -name '*.sh' -o -name '*.sbatch' \) -type f)
shellcheck -x isobar "${scripts[@]}"
echo "${#scripts[@]} scripts and ./isobar: clean"
