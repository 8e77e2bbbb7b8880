#!/usr/bin/env bash
# bare_debian.sh SOURCE LIBTORCH_PREFIX: the steps of submit/Containerfile in a bare Debian 12 below a temporary folder. libtorch and
# compiled objects are this machine's, under the same names, so that it takes minutes. 77 = skipped, with the reason.
set -euo pipefail
source=$1
libtorch=$2
skip() { echo "skipped: $*"; exit 77; }

if [ "${ISOBAR_IN_BARE:-}" != 1 ]; then
  [ "$(id -u)" = 0 ] || skip "another root folder takes root"
  command -v debootstrap >/dev/null || skip "there is no debootstrap; on Debian: apt-get install --no-install-recommends debootstrap"
  unshare --mount --pid --fork --mount-proc true 2>/dev/null || skip "this machine allows no namespaces"
  work=$(mktemp -d "${TMPDIR:-/tmp}/isobar-bare-XXXXXX")
  # The folder is removed out here, where nothing was ever mounted in it: the mounts are the namespace's own and end with it.
  trap 'rm -rf --one-file-system "${work:?}"' EXIT
  code=0
  ISOBAR_IN_BARE=1 unshare --mount --pid --fork --mount-proc --kill-child=KILL -- "$0" "$source" "$libtorch" "$work" || code=$?
  exit $code
fi

work=$3
root=$work/root
mkdir -p "$root"
from=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1 | tr -d ' ') || true
[ -n "$from" ] || skip "this machine names no source of Debian packages"
debootstrap --variant=minbase bookworm "$root" "$from" >"$work/log" 2>&1 || { tail -n 3 "$work/log"; skip "no bare Debian can be fetched"; }

# How this machine reaches packages is how the folder does.
for file in /etc/apt/sources.list /etc/apt/sources.list.d /etc/resolv.conf /etc/hosts; do
  [ ! -e "$file" ] || cp -rLT "$file" "$root$file"
done
apt-config dump | grep -iE '^Acquire::.*(proxy|retries|timeout)' >"$root/etc/apt/apt.conf.d/90as-outside" || true
mkdir -p "$root$source" "$root$libtorch" "$root/ccache"
tar -C "$source" --exclude='./build*' --exclude=./runs --exclude=./.git -cf - . | tar -C "$root$source" -xf -
# What was compiled from these sources, so that only what the folder's own configuration changes is compiled again.
compiled=()
for part in .ninja_log .ninja_deps cmake CMakeFiles/libtorch_fmt.dir engine datasets lessons/CMakeFiles/01_baseline.dir; do
  [ ! -e "$source/build/$part" ] || compiled+=("build/$part")
done
[ ${#compiled[@]} = 0 ] || tar -C "$source" --format=posix -cf - "${compiled[@]}" | tar -C "$root$source" -xf -
mount --bind -o ro "$libtorch" "$root$libtorch"
if cache=$(ccache --get-config cache_dir 2>/dev/null) && [ -d "$cache" ]; then mount --bind -o ro "$cache" "$root/ccache"; fi
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"

inside() {
  env -i HOME=/root LANG=C.UTF-8 TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin CCACHE_DIR=/ccache CCACHE_READONLY=1 CCACHE_TEMPDIR=/tmp \
    ISOBAR_PREFIX="$(dirname "$libtorch")" ${CCACHE_BASEDIR:+CCACHE_BASEDIR="$CCACHE_BASEDIR"} ${CCACHE_NOHASHDIR:+CCACHE_NOHASHDIR=1} ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} chroot "$root" "$@" </dev/null
}
inside test ! -e /usr/bin/g++ || { echo "FAIL  the folder is not bare"; exit 1; }
if ! inside apt-get update >"$work/log" 2>&1; then
  tail -n 3 "$work/log"
  skip "its package lists cannot be read"
fi
inside "$source/submit/container_steps.sh" 01_baseline >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
cat "$work/log"
bad=0
expect() { # expect WHAT COMMAND...
  local what=$1
  shift
  if "$@" >"$work/out" 2>&1; then echo "ok    $what"; else echo "FAIL  $what"; cat "$work/out"; bad=1; fi
}
expect "it trained two steps" grep -q "steps *2 of 2" "$work/log"
expect "it says where the programs are" grep -q "the programs are in $source/build/bin" "$work/log"
expect "only what runs is left" test -z "$(find "$root$source/build" -name '*.o')"
expect "the program shows the script of a job" inside "$source/build/bin/isobar-cli" submit 01_baseline --dry-run --set data.root=/x
expect "the recipe runs the same steps" grep -q '^RUN /opt/isobar/submit/container_steps.sh' "$source/submit/Containerfile"
exit $bad
