#!/usr/bin/env bash
# check_format.sh ROOT CLANG_FORMAT: every C++ and CUDA file is as .clang-format of ROOT wants it. Other versions of the
# program than 14, of Debian 12, break lines elsewhere.
set -euo pipefail
cd "$1"
find cmake engine gui lessons tests datasets examples \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 -n 50 "$2" --dry-run --Werror
