# Cases of run_all.sh: packages without root, and systems that are none of Debian's.
# shellcheck shell=bash

# as_user ARGS...: ./isobar where nobody may become root, with a PATH that has only what the scripts take.
as_user() {
  CODE=0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$WORLD/nosudo" ISOBAR_PREFIX=$PREFIX timeout 900 ./isobar "$@" 2>&1 </dev/null 5>&-) || CODE=$?
}

# user_machine: packages are missing, nobody is root, and apt can fetch three packages: a compiler, a library, and one
# with a path of its own in it. A package is what dpkg-deb would give of it, a tar.
user_machine() {
  local root=$WORLD/deb-root
  touch "$WORLD/no-packages" "$WORLD/no-root"
  mkdir -p "$WORLD/debs" "$root/bin" "$root/usr/bin" "$root/usr/lib/x86_64-linux-gnu/pkgconfig" "$root/usr/share/doc/x" "$root/usr/share/ca-certificates/mozilla"
  printf '#!/bin/sh\necho "g++ of the packages: $*"\n' >"$root/usr/bin/g++"
  chmod +x "$root/usr/bin/g++"
  cp "$root/usr/bin/g++" "$root/bin/early"  # of a package that does not know that /bin is /usr/bin
  echo library >"$root/usr/lib/x86_64-linux-gnu/libnowhere.so.1"
  ln -s /usr/lib/x86_64-linux-gnu/libnowhere.so.1 "$root/usr/lib/x86_64-linux-gnu/libnowhere.so"
  printf 'prefix=/usr\nlibdir=/usr/lib/x\n' >"$root/usr/lib/x86_64-linux-gnu/pkgconfig/nowhere.pc"
  echo text >"$root/usr/share/doc/x/README"
  echo certificate >"$root/usr/share/ca-certificates/mozilla/a.crt"
  tar -C "$root" -cf "$WORLD/debs/a_1_amd64.deb" ./usr/bin ./bin
  tar -C "$root" -cf "$WORLD/debs/b_1_amd64.deb" ./usr/lib ./usr/share
  script dpkg-deb <<'BODY'
log "dpkg-deb $*"
[ ! -e "$WORLD/deb-fails" ] || exit 2
cat "$2"
BODY
}

case_no_root_and_no_compiler() {
  user_machine
  as_user run 01_baseline
  expect "code 0" [ "$CODE" = 0 ]
  expect "the plan" says "unpack them as you, without root, in $PREFIX/system"
  expect "apt's own state is not touched" called "Dir::State=$PREFIX/apt/state"
  expect "with all that a compiler rests on" called "Dir::State::status=$PREFIX/apt/status"
  expect "the compiler has its root" [ "$("$PREFIX/system/tools/g++" x)" = "g++ of the packages: --sysroot=$PREFIX/system x" ]
  expect "it goes by cc and c++ too" [ -x "$PREFIX/system/tools/c++" ]
  expect "/bin is /usr/bin" [ -x "$PREFIX/system/usr/bin/early" ]
  expect "links lead into it" [ "$(readlink -f "$PREFIX/system/usr/lib/x86_64-linux-gnu/libnowhere.so")" = "$PREFIX/system/usr/lib/x86_64-linux-gnu/libnowhere.so.1" ]
  expect "libraries that the machine lacks" [ "$(cat "$PREFIX/system/libs/libnowhere.so.1")" = library ]
  expect "names in files" grep -qx "prefix=$PREFIX/system/usr" "$PREFIX/system/usr/lib/x86_64-linux-gnu/pkgconfig/nowhere.pc"
  expect "no manuals" [ ! -e "$PREFIX/system/usr/share/doc" ]
  expect "certificates" [ "$(cat "$PREFIX/system/certificates.crt")" = certificate ]
  expect "programs that find their libraries" called "-DCMAKE_BUILD_RPATH=$PREFIX/system/libs"
  expect "no leftovers" [ ! -e "$PREFIX/apt" ]
  expect "the lesson runs" says "cli <run> <01_baseline>"
  : >"$WORLD/calls"
  as_user run 01_baseline
  expect "the next one only builds" [ "$(cat "$WORLD/calls")" = "ninja isobar-run make_fields 01_baseline" ]
  as_user doctor
  expect "doctor knows" says "of which some in $PREFIX/system"
  as_user clean system --yes
  expect "clean removes it" [ ! -e "$PREFIX/system" ]
}
case_no_root_beside_a_compiler() {
  user_machine
  script g++ <<'BODY'
echo 12
BODY
  as_user setup
  expect "code 0" [ "$CODE" = 0 ]
  expect "only what is missing" called "Dir::State::status=/var/lib/dpkg/status"
  expect "the machine's compiler" [ ! -e "$PREFIX/system/tools/g++" ]
}
case_no_root_broken_off() {
  user_machine
  touch "$WORLD/deb-fails"
  as_user run 01_baseline
  expect "code 1" [ "$CODE" = 1 ]
  expect "in words" says "could not be unpacked"
  expect "nothing marked" [ ! -e "$PREFIX/system" ]
  expect "no leftovers" [ -z "$(ls -d "$PREFIX"/system.part-* 2>/dev/null)" ]
  rm "$WORLD/deb-fails"
  touch "$WORLD/apt-fails"
  as_user run 01_baseline
  expect "fetching fails: code 1" [ "$CODE" = 1 ]
  expect "apt's words" says "Unable to locate package"
  rm "$WORLD/apt-fails"
  as_user run 01_baseline
  expect "the next run finishes" [ "$CODE" = 0 ]
}
case_other_system_names_what_to_bring() {
  rm "$WORLD/bin/apt-get" "$WORLD/bin/dpkg-query"
  as_user run 01_baseline
  expect "code 1" [ "$CODE" = 1 ]
  expect "libraries by their own names" says "g++ 12, CMake 3.25, Ninja, fmt 9, HDF5 1.10 for C, toml++ 3.3"
  expect "neither the window's" [ "${OUT/ImGui/}" = "$OUT" ]
  expect "nor the tests'" [ "${OUT/Catch2/}" = "$OUT" ]
  as_user gui
  expect "for the window its own too" says "Dear ImGui 1.86"
}
