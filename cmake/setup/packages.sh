# Debian packages: what is missing, how large it is, and bringing it. Sourced by ./isobar.
# shellcheck shell=bash

# read_table PART...: sets entries to the lines of packages_PART.txt without remarks; alternatives of one package as a|b.
read_table() {
  local part entry
  entries=''
  # shellcheck disable=SC2048  # one word a part
  for part in $*; do
    while read -r entry _; do [[ -z $entry || $entry = '#'* ]] || entries+=$entry$'\n'; done <"$setup/packages_$part.txt"
  done
}

# known_elsewhere PART...: what the packages are called where they are none of Debian's.
known_elsewhere() {
  local part
  # shellcheck disable=SC2048
  for part in $*; do sed -n -e '1d' -e 's/^[^#].*(\([^()]*\))$/\1/p' "$setup/packages_$part.txt"; done
}

# look_for PACKAGE...: sets packages_here to those that dpkg or $prefix/system has, with a blank around each.
look_for() {
  local state name system_kind system_names
  packages_here=' '
  while read -r state name; do [[ $state != ?i* ]] || packages_here+="$name "; done < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null)
  read_system
  packages_here+="$system_names "
}

# read_missing [PART...]: sets lacking to the wanted ones that are not here, with blanks between them; default: $parts. Of alternatives the
# first that the package lists know. Of a browser's only what apt can bring.
read_missing() {
  lacking=''
  local entry name wanted optional entries packages_here=${packages_here-}
  read_table browsers
  optional=$'\n'$entries
  read_table "${*:-$parts}"
  wanted=$entries
  # shellcheck disable=SC2086  # one word a package
  [ -n "$packages_here" ] || look_for ${wanted//|/ }
  for entry in $wanted; do
    for name in ${entry//|/ }; do [[ $packages_here != *" $name "* ]] || continue 2; done
    name=${entry%%|*}
    if [ "$name" != "$entry" ] && ! apt-cache show "$name" >/dev/null 2>&1; then
      ! apt-cache show "${entry#*|}" >/dev/null 2>&1 || name=${entry#*|}
    fi
    [[ $optional != *$'\n'"$name"$'\n'* ]] || apt_brings "$name" || continue
    lacking+=${lacking:+ }$name
  done
}

# apt_brings NAME: not where the package lists were read and lack it, and not where it only stands for a snap, as
# Ubuntu's browsers do.
apt_brings() {
  local sheet
  compgen -G "$machine/var/lib/apt/lists/*_Packages*" >/dev/null || return 0
  sheet=$(apt-cache show "$1" 2>/dev/null) && ! grep -qiE '^(Version|Description[^:]*):.*snap' <<<"$sheet"
}

# say_no_browser: what of a browser's tests is not here, and stays so.
say_no_browser() {
  local name entries lost=''
  have_debian || return 0
  read_table browsers
  for name in $entries; do
    apt_brings "$name" || dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null | grep -q '^.i' || lost="$lost $name"
  done
  [ -z "$lost" ] || say "apt has no package for$lost (a snap does not count): tests that take it are skipped"
}

# as_root COMMAND...: as it is, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# find_here: sets here to the parts that can be built and used now.
find_here() {
  local part entries lacking packages_here others='test gui browser display slurm browsers'
  here='base fetch'
  read_table "$others"
  # shellcheck disable=SC2086  # one word a package
  ! have_debian || look_for ${entries//|/ }
  for part in $others; do
    if have_debian; then read_missing "$part"; [ -z "$lacking" ] || continue; elif ! other_part_here "$part"; then continue; fi
    here="$here $part"
  done
}

# other_part_here PART: on a system without dpkg.
other_part_here() {
  case $1 in
    gui) pkg-config --exists imgui glfw3 md4c freetype2 zlib 2>/dev/null ;;
    browser) has_header boost/beast.hpp ;;
    slurm | browsers) return 0 ;;  # without it its tests are skipped, and print why
    test) [[ " $parts " = *' test '* ]] ;;  # cmake looks for it, and names what is not there
    *) command -v Xvfb >/dev/null ;;
  esac
}

# has_header NAME: where the compiler looks, or below CMAKE_PREFIX_PATH.
has_header() {
  local -a folders
  IFS=: read -ra folders <<<"${CMAKE_PREFIX_PATH:-}"
  folders=(${folders[@]+"${folders[@]/#/-I}"})
  "${CXX:-g++}" -E -x c++ ${folders[@]+"${folders[@]/%//include}"} - <<<"#if !__has_include(<$1>)"$'\n#error\n#endif' >/dev/null 2>&1
}

have_debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

# can_be_root: sudo counts where it asks nothing, or where somebody can answer. ISOBAR_AS_USER is for those whom it
# refuses.
can_be_root() {
  [ "$(id -u)" != 0 ] || return 0
  [ -z "${ISOBAR_AS_USER:-}" ] && command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }
}

ask_sudo() {
  [ "$(id -u)" = 0 ] || sudo -v ||
    die "sudo refuses" "this machine" "ISOBAR_AS_USER=1 ./isobar ... brings the packages without root"
}

# system_file KEY: the value in /etc/os-release.
system_file() {
  local file=$machine/etc/os-release
  [ -r "$file" ] || file=/etc/os-release
  sed -n "/^$1=/{s/^$1=\"\{0,1\}\([^\"]*\)\"\{0,1\}$/\1/p;q}" "$file" 2>/dev/null
}
system_is() { printf '%s %s\n' "$(system_file ID)" "$(system_file VERSION_ID)"; }

# system_tried ID RELEASE: tried, untried or unknown, by systems.txt; a release later than those that it names is
# untried.
system_tried() {
  awk -v id="${1:-}" -v release="${2:-0}" '$1 == id { if ($2 == release) found = $3; else if (release + 0 > $2 + 0) later = "untried" }
    END { print found ? found : (later ? later : "unknown") }' "$setup/systems.txt"
}

# Elsewhere than on Debian: everything may come from modules or another package manager.
check_other_system() {
  local missing='' tool
  for tool in g++ cmake ninja python3 unzip; do command -v "$tool" >/dev/null || missing="$missing $tool"; done
  [ -z "$missing" ] || die "this is not a Debian or Ubuntu system, and these programs are missing:$missing" "PATH" \
    "bring what is not there (modules, your package manager): $(known_elsewhere "$parts" | paste -sd';' | sed 's/;/, /g'); CMAKE_PREFIX_PATH is honoured"
}

# apt_logged COMMAND...: --force-unsafe-io does without a sync a file; a machine that crashes then has half packages,
# which apt mends.
apt_logged() {
  local pid status=0
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o Dpkg::Options::=--force-unsafe-io -o APT::Install-Suggests=0 \
    -o Dpkg::Use-Pty=0 -o Acquire::Languages=none -o DPkg::Lock::Timeout=300 "$@" >>"$prefix/logs/apt.log" 2>&1 9>&- &
  pid=$!
  # Who is not root cannot signal what sudo started; sudo itself can.
  # shellcheck disable=SC2064
  [ -z "$part_state" ] || trap "[ \"\$(id -u)\" = 0 ] || sudo -n kill -TERM $pid; exit 143" TERM
  wait "$pid" || status=$?
  return $status
}

# refresh_lists NAMES: when no package list is there or one of the wanted ones is unknown.
refresh_lists() {
  # shellcheck disable=SC2086
  apt-get install -s --no-install-recommends $1 >/dev/null 2>&1 && return
  ask_sudo
  say "reading the Debian package lists ..."
  apt_logged update || die "the Debian package lists cannot be read" "apt-get update (log: $prefix/logs/apt.log)" \
    "is the network there? The set-up needs it once; run the same command again later"
}

# package_sizes NAMES [APT-GET-OPTION...]: what apt would set up, with what that takes; sets package_list,
# package_count, package_sentence
package_sizes() {
  local names=$1 plan
  shift
  # shellcheck disable=SC2086
  plan=$(LC_ALL=C apt-get "$@" -s --no-install-recommends install $names 2>/dev/null || true)
  package_list=$(awk '$1 == "Inst" { print $2 }' <<<"$plan" | sort -u | paste -sd' ')
  package_count=$(wc -w <<<"$package_list")
  # shellcheck disable=SC2086
  plan=$(LC_ALL=C apt-get "$@" --assume-no --no-install-recommends install $names 2>/dev/null || true)
  package_sentence=$(printf '%s\n' "$plan" | sed -n -e 's/^Need to get \([^/]*\/\)\{0,1\}\(.*\) of archives\.$/\2 to fetch/p' \
    -e 's/^After this operation, \(.*\) of additional disk space will be used\.$/\1 on disk/p' | paste -sd, | sed 's/,/, /g')
}

# packages_done: of package_list, by the lines of apt's log from number $packages_from on: fetched so far, then set up.
packages_done() {
  tail -n "+$packages_from" "$prefix/logs/apt.log" 2>/dev/null | awk -v list="$package_list" '
    BEGIN { total = split(list, names, " "); for (n in names) ours[names[n]] = 1 }
    /^Get:[0-9]+ / && ($5 in ours) && !got[$5]++ { fetched++ }
    /^Setting up / { name = $3; sub(/:.*/, "", name); if ((name in ours) && !set[name]++) done++ }
    END { if (!done && fetched) printf "packages %d of %d fetched", fetched, total; else printf "packages %d of %d", done, total }'
}

# await_apt PID DONE HINT: prints how far apt is until it ends; where it fails, that the packages could not be DONE.
await_apt() {
  while kill -0 "$1" 2>/dev/null; do
    report "$(packages_done)"
    sleep 0.3
  done
  wait "$1" || {
    tail -n 5 "$prefix/logs/apt.log" >&2
    die "the Debian packages could not be $2" "log: $prefix/logs/apt.log" "$3"
  }
}

# find_services: sets units to those of package_list. Tests start their servers themselves; as services, such as on port 80,
# these would start at once, and again with the machine. They are masked before they are installed, and stay so.
find_services() {
  local unit
  units=''
  [ -d "$machine/run/systemd/system" ] || return 0
  for unit in nginx munge slurmctld slurmd; do
    [[ " $package_list " != *" $unit "* ]] || units+=${units:+ }$unit.service
  done
}

mask_services() {
  local units
  find_services
  # shellcheck disable=SC2086
  [ -z "$units" ] || as_root systemctl mask $units >>"$prefix/logs/apt.log" 2>&1 ||
    die "services could not be masked: $units" "log: $prefix/logs/apt.log" "or install their packages yourself; the tests start what they need"
}

# install_packages NAMES: a part of its own; packages_from and package_list are set by who starts it.
install_packages() {
  need_space / 1000000000 "the Debian packages"
  if [ -n "$(dpkg --audit 2>/dev/null)" ]; then  # a set-up was broken off; apt reports what stays wrong
    as_root env DEBIAN_FRONTEND=noninteractive dpkg --configure -a --force-unsafe-io >>"$prefix/logs/apt.log" 2>&1 || true
  fi
  mask_services
  # shellcheck disable=SC2086
  apt_logged install --no-install-recommends $1 &
  await_apt $! installed "run the same command again, or as root: apt-get install --no-install-recommends $1"
  report "$(packages_done)"
}
