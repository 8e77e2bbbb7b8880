#!/bin/sh
# ccache.sh CCACHE SOURCE FOLDER COMPILER...: compiles through ccache, which keeps in FOLDER (-: where it does by itself).
# Copies of this tree share what they compile, but for units of several files, which CMake lists by absolute paths. What a unit includes is
# taken from the compiler's own list, not found out by one more run of the preprocessor. Precompiled headers count by a sum beside them: ccache
# would read 200 MB for each unit.
ccache=$1
export CCACHE_DEPEND=1 CCACHE_BASEDIR="$2" CCACHE_NOHASHDIR=1 CCACHE_ABSSTDERR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1
[ "$3" = - ] || export CCACHE_DIR="$3"
shift 3
output='' before=''
for word in "$@"; do
  [ "$before" != -o ] || output=$word
  before=$word
done
case $output in
  *.gch) ;;
  *) exec "$ccache" "$@" ;;
esac
rm -f "$output.sum"
"$ccache" "$@" && md5sum <"$output" >"$output.sum"
