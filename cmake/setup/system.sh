# Debian packages without root: fetched by apt as the user, unpacked in $prefix/system, and made to work there. With a
# compiler on the machine only what is missing comes (beside); without one all that it rests on comes too, and g++
# takes it as its root (whole). Sourced by ./isobar.
# shellcheck shell=bash

# read_system: sets system_kind (whole, beside, or nothing) and system_names.
read_system() {
  system_kind='' system_names=''
  [ ! -f "$prefix/system/.complete" ] || { read -r system_kind && read -r system_names; } <"$prefix/system/.complete" || true
}

# use_system: programs and libraries of $prefix/system after the machine's own.
use_system() {
  local root=$prefix/system
  read_system
  pip_path=
  [ -n "$system_kind" ] || return 0
  [ -z "${system_library_path-}" ] || return 0  # once: the second call comes when more packages joined
  system_library_path=${LD_LIBRARY_PATH-none}
  export PATH=$root/tools:$PATH:$root/usr/bin
  export LD_LIBRARY_PATH=$root/libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export CMAKE_PREFIX_PATH=$root/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
  export PKG_CONFIG_PATH=$root/usr/lib/x86_64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
  export LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu${LIBRARY_PATH:+:$LIBRARY_PATH}
  [ "$system_kind" != whole ] || export CC=$root/tools/gcc CXX=$root/tools/g++
  pip_path=$root/usr/lib/python3/dist-packages
  if [ ! -e /etc/ssl/certs/ca-certificates.crt ] && [ -e "$root/certificates.crt" ]; then
    export SSL_CERT_FILE=${SSL_CERT_FILE:-$root/certificates.crt} PIP_CERT=${PIP_CERT:-$root/certificates.crt}
  fi
}

# hand_over PROGRAM ARGUMENT...: what was built finds its libraries by itself.
hand_over() {
  if [ "${system_library_path-none}" = none ]; then
    [ -z "$system_kind" ] || unset LD_LIBRARY_PATH
  else
    export LD_LIBRARY_PATH=$system_library_path
  fi
  exec "$@"
}

# add_system_options: to options, for cmake. DT_RPATH, since DT_RUNPATH is not asked for what a library needs.
add_system_options() {
  local flag=-Wl,--disable-new-dtags
  [ -z "$system_kind" ] ||
    options+=("-DCMAKE_BUILD_RPATH=$prefix/system/libs" "-DCMAKE_EXE_LINKER_FLAGS=$flag" "-DCMAKE_SHARED_LINKER_FLAGS=$flag")
}

# plan_system: what will come, and how; reads the package lists as the user. Sets system_kind, system_apt and what
# package_sizes sets.
plan_system() {
  local apt=$prefix/apt status=/var/lib/dpkg/status major
  command -v dpkg-deb >/dev/null && command -v tar >/dev/null ||
    die "packages cannot be unpacked here: dpkg-deb or tar is missing" "this machine" "as root: apt-get install --no-install-recommends $1"
  read_system
  if [ -z "$system_kind" ]; then
    major=$(g++ -dumpversion 2>/dev/null | cut -d. -f1) || true
    if [ "${major:-0}" -ge 12 ]; then system_kind=beside; else system_kind=whole; fi
  fi
  system_names=$(tr ' ' '\n' <<<"$system_names $1" | sed '/^$/d' | sort -u | paste -sd' ')
  mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
  [ "$system_kind" = beside ] || { status=$apt/status; : >"$status"; }
  system_apt=(-o "Dir::State=$apt/state" -o "Dir::Cache=$apt/cache" -o "Dir::State::status=$status"
    -o "Dir::State::extended_states=$apt/extended" -o Debug::NoLocking=1 -o Acquire::Languages=none)
  say "reading the Debian package lists ..."
  apt-get "${system_apt[@]}" update >>"$prefix/logs/apt.log" 2>&1 ||
    die "the Debian package lists cannot be read" "apt-get update (log: $prefix/logs/apt.log)" \
      "is the network there? The set-up needs it once; run the same command again later"
  package_sizes "$system_names" "${system_apt[@]}"
}

# bring_system: a part of its own; plan_system came before.
bring_system() {
  local aside=$prefix/system.part-$$
  need_space "$prefix" 1500000000 "the Debian packages, unpacked as a user"
  # shellcheck disable=SC2086
  apt-get "${system_apt[@]}" -y -d --no-install-recommends install $system_names >>"$prefix/logs/apt.log" 2>&1 &
  await_apt $! fetched "run the same command again; it goes on with what is complete"
  apt-get "${system_apt[@]}" autoclean >>"$prefix/logs/apt.log" 2>&1 || true  # versions that an earlier try fetched
  rm -rf "$aside"
  unpack_packages "$aside"
  fit_system "$aside"
  printf '%s\n%s\n' "$system_kind" "$system_names" >"$aside/.complete"
  rm -f "$prefix/system/.complete"
  rm -rf "$prefix/system"
  mv -T "$aside" "$prefix/system"
  rm -rf "$prefix/apt"
}

# unpack_packages FOLDER: in the layout of today's systems, where /lib is /usr/lib. Without manuals.
unpack_packages() {
  local folder=$1 name pid status=0 cores
  local -a files=("$prefix"/apt/cache/archives/*.deb)
  read_cores
  for name in bin sbin lib lib64; do
    mkdir -p "$folder/usr/$name"
    ln -s "usr/$name" "$folder/$name"
  done
  : >"$prefix/apt/unpacked"
  printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$cores" bash -c 'set -eo pipefail
    dpkg-deb --fsys-tarfile "$3" | tar -xC "$1" --keep-directory-symlink --no-same-owner --exclude=./usr/share/doc \
      --exclude=./usr/share/locale --exclude=./usr/share/man --exclude=./usr/share/info --exclude=./usr/share/lintian
    echo >>"$2"' unpack "$folder" "$prefix/apt/unpacked" 2>"$prefix/apt/errors" &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    report "packages $(wc -l <"$prefix/apt/unpacked") of ${#files[@]} unpacked"
    sleep 0.3
  done
  wait "$pid" || status=$?
  [ $status = 0 ] || {
    tail -n 3 "$prefix/apt/errors" >&2
    die "the Debian packages could not be unpacked" "$prefix" "is the disk full? Run the same command again"
  }
}

# fit_system FOLDER: what the packages' own scripts would do, and the names that only hold at /.
fit_system() {
  local folder=$1 root=$prefix/system lib=$1/usr/lib/x86_64-linux-gnu link target file
  mkdir -p "$folder/tools" "$folder/libs"
  while IFS= read -r -d '' link; do
    target=$(readlink "$link")
    [ ! -e "$folder$target" ] || ln -sfn "$root$target" "$link"
  done < <(find "$folder/usr" -type l -lname '/*' -print0)
  # A development package beside a library that the machine itself has.
  for link in "$lib"/*.so; do
    [ -L "$link" ] && [ ! -e "$link" ] || continue
    target=$(readlink -f "/usr/lib/x86_64-linux-gnu/$(basename "$(readlink "$link")")") || continue
    for file in "$(basename "$(readlink "$link")")" "$(basename "$target")"; do
      [ -e "$lib/$file" ] || [ ! -e "$target" ] || ln -sfn "$target" "$lib/$file"
    done
  done
  for file in "$lib"/*.so*; do  # those that the machine lacks
    target=${file##*/}
    [ -e "/usr/lib/x86_64-linux-gnu/$target" ] || [ -e "/lib/x86_64-linux-gnu/$target" ] ||
      ln -s "$root/usr/lib/x86_64-linux-gnu/$target" "$folder/libs/$target"
  done
  find "$folder/usr/bin" "$folder/usr/lib" "$folder/usr/share" \( -name '*.pc' -o -name h5cc \) -type f \
    -exec sed -i "s#\\(^\\|[=\" ]\\)/usr\\b#\\1$root/usr#g" {} +
  cat "$folder"/usr/share/ca-certificates/mozilla/*.crt >"$folder/certificates.crt" 2>/dev/null ||
    rm -f "$folder/certificates.crt"
  [ "$system_kind" = whole ] || return 0
  for file in gcc g++; do
    printf '#!/bin/sh\nroot="%s"\nLD_LIBRARY_PATH="$root/libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$root/usr/bin/%s" --sysroot="$root" "$@"\n' \
      "$root" "$file" >"$folder/tools/$file"
    chmod +x "$folder/tools/$file"
  done
  ln -s gcc "$folder/tools/cc"
  ln -s g++ "$folder/tools/c++"
}
