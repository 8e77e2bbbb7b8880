# Debian packages: what is missing, how large it is, and bringing it. Sourced by ./isobar.
# shellcheck shell=bash

# wanted_packages PART...: of the parts base, gui (the window), display (a display in memory) and slurm (a cluster for
# tests); default: $parts.
wanted_packages() {
  local part
  # shellcheck disable=SC2086,SC2048
  for part in ${*:-$parts}; do sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$setup/packages_$part.txt"; done
}

# missing_packages PART...: the wanted ones that dpkg does not have.
missing_packages() {
  local have
  # shellcheck disable=SC2046  # one word a package
  have=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $(wanted_packages "$@") 2>/dev/null | awk '$1 ~ /^.i/ { print $2 }')
  wanted_packages "$@" | grep -Fvx -e "${have:-none}" || true
}

# as_root COMMAND...: as it is, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# parts_here: the parts that can be built and used now.
parts_here() {
  local part here=base
  for part in gui display slurm; do
    if have_debian; then [ -z "$(missing_packages $part)" ] || continue; elif ! other_part_here $part; then continue; fi
    here="$here $part"
  done
  printf '%s' "$here"
}

# other_part_here PART: on a system without dpkg.
other_part_here() {
  case $1 in
    gui) pkg-config --exists imgui glfw3 md4c freetype2 2>/dev/null ;;
    slurm) return 0 ;;  # without it its tests say why they are skipped
    *) command -v Xvfb >/dev/null ;;
  esac
}

have_debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }
can_be_root() { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }

# Elsewhere than on Debian: everything may come from modules or another package manager.
check_other_system() {
  local missing='' tool
  for tool in g++ cmake ninja python3 unzip; do command -v "$tool" >/dev/null || missing="$missing $tool"; done
  [ -z "$missing" ] || die "this is not a Debian or Ubuntu system, and these programs are missing:$missing" "PATH" \
    "bring them (modules, your package manager), and the libraries of cmake/setup/packages_*.txt; CMAKE_PREFIX_PATH is honoured"
}

apt_logged() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y "$@" >>"$prefix/logs/apt.log" 2>&1
}

# refresh_lists: once, when no package list is there or one of the wanted ones is unknown.
refresh_lists() {
  # shellcheck disable=SC2086
  apt-get install -s --no-install-recommends $1 >/dev/null 2>&1 && return
  say "reading the Debian package lists ..."
  apt_logged update || die "the Debian package lists cannot be read" "apt-get update (log: $prefix/logs/apt.log)" \
    "is the network there? The set-up needs it once; run the same command again later"
}

# package_sizes NAMES: sets package_count, package_sentence
package_sizes() {
  local plan
  # shellcheck disable=SC2086
  plan=$(LC_ALL=C apt-get install --assume-no --no-install-recommends $1 2>/dev/null || true)
  package_count=$(printf '%s\n' "$plan" | sed -n 's/.* \([0-9]*\) newly installed.*/\1/p')
  package_sentence=$(printf '%s\n' "$plan" | sed -n -e 's/^Need to get \(.*\) of archives\.$/\1 to fetch/p' \
    -e 's/^After this operation, \(.*\) of additional disk space will be used\.$/\1 on disk/p' | paste -sd, | sed 's/,/, /g')
}

install_packages() {
  local names=$1 count=$2 pid before done_count last=0
  need_space / 1000000000 "the Debian packages"
  before=$(grep -c '^Setting up' "$prefix/logs/apt.log" 2>/dev/null || true)  # the log goes on from one set-up to the next
  # shellcheck disable=SC2086
  apt_logged install --no-install-recommends $names &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.5
    done_count=$(($(grep -c '^Setting up' "$prefix/logs/apt.log" || true) - ${before:-0}))
    if [ -t 1 ] || [ "$done_count" -ge $((last + 40)) ]; then
      live "  packages: $done_count of ${count:-?} set up"
      last=$done_count
    fi
  done
  wait "$pid" || {
    live_end
    tail -n 5 "$prefix/logs/apt.log" >&2
    die "the Debian packages could not be installed" "log: $prefix/logs/apt.log" "run the same command again, or as root: apt-get install --no-install-recommends $names"
  }
  live_end
}
