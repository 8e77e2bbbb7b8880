# A small world for ./isobar: stand-ins for apt, dpkg, pip, cmake and ninja that record how they were called, and three tiny
# wheels with their true hashes. Nothing leaves this folder. Sourced by run_all.sh.
# shellcheck shell=bash

# script NAME: the body comes from standard input.
script() {
  { printf '#!/usr/bin/env bash\nlog() { printf "%%s\\n" "$*" >>"$WORLD/calls"; }\n'; cat; } >"$WORLD/bin/$1"
  chmod +x "$WORLD/bin/$1"
}

make_wheels() {
  mkdir -p "$WORLD/wheels" "$WORLD/src/torch/lib" "$WORLD/src/torch/include" "$WORLD/src/nvidia/cu13/lib"
  echo tensors >"$WORLD/src/torch/lib/libtorch_cpu.so"
  cp "$WORLD/src/torch/lib/libtorch_cpu.so" "$WORLD/src/torch/lib/libc10.so"
  cp "$WORLD/src/torch/lib/libtorch_cpu.so" "$WORLD/src/torch/lib/libgomp.so.1"
  echo header >"$WORLD/src/torch/include/a.h"
  echo cuda >"$WORLD/src/nvidia/cu13/lib/libcudart.so.13"
  (cd "$WORLD/src" && python3 -m zipfile -c ../wheels/torch-2.11.0-x.whl torch && python3 -m zipfile -c ../wheels/nvidia_a-1.whl nvidia)
  : >"$TREE/cmake/setup/wheels.txt"
  local file
  for file in torch-2.11.0-x.whl nvidia_a-1.whl; do
    printf '#file %s %s\n%s==1 --hash=sha256:%s\n' "$file" "$(stat -c %s "$WORLD/wheels/$file")" "${file%%-*}" \
      "$(sha256sum "$WORLD/wheels/$file" | cut -d' ' -f1)" >>"$TREE/cmake/setup/wheels.txt"
  done
  cp "$TREE/cmake/setup/wheels.txt" "$TREE/cmake/setup/peers.txt"
}

make_programs() {
  script dpkg-query <<'BODY'
[ -e "$WORLD/no-packages" ] || for name in "${@:4}"; do printf 'ii  %s\n' "$name"; done
BODY
  script apt-get <<'BODY'
log "apt-get $*"
case "$*" in
  *--assume-no*) echo "0 upgraded, 3 newly installed, 0 to remove and 0 not upgraded."; echo "Need to get 112 MB of archives."; exit 1 ;;
  *' install'*) [ ! -e "$WORLD/apt-fails" ] || { echo "E: Unable to locate package g++"; exit 100; }; echo "Setting up g++"; rm -f "$WORLD/no-packages" ;;
esac
BODY
  script id <<'BODY'
[ -e "$WORLD/no-root" ] && echo 1000 || echo 0
BODY
  script uname <<'BODY'
[ -e "$WORLD/other-machine" ] && echo aarch64 || echo x86_64
BODY
  script df <<'BODY'
[ -e "$WORLD/disk-full" ] && space=1000 || space=90000000
printf 'Filesystem 1024-blocks Used Available Capacity Mounted\nx 1 1 %s 1%% /\n' $space
BODY
  # pip: finds the wheel by the name in the requirements file, and can misbehave.
  script python3 <<BODY
[ "\$1 \$2" = "-m pip" ] || exec $(command -v python3) "\$@"
while [ \$# -gt 0 ]; do
  [ "\$1" != --dest ] || dest=\$2
  [ "\$1" != --requirement ] || wanted=\$2
  shift
done
name=\$(sed 's/==.*//' "\$wanted")
log "pip \$name"
[ ! -e "\$WORLD/offline" ] || { echo "ERROR: No matching distribution found for \$name"; exit 1; }
[ ! -e "\$WORLD/slow" ] || sleep 5
mkdir -p "\$dest"
cp "\$WORLD"/wheels/\$name-*.whl "\$dest/"
[ ! -e "\$WORLD/altered" ] || for file in "\$dest"/*; do printf x >>"\$file"; done
BODY
  script cmake <<'BODY'
log "cmake $*"
[ ! -e "$WORLD/cmake-fails" ] || { echo "CMake Error at CMakeLists.txt: no fmt"; exit 1; }
mkdir -p build && : >build/build.ninja
BODY
  script ninja <<'BODY'
log "ninja ${*: -1}"
[ ! -e "$WORLD/build-fails" ] || { echo "1/2 Building x"; echo "FAILED: x.o"; echo "main.cpp:3:1: error: expected ;"; exit 1; }
mkdir -p "$2/bin"
printf '#!/bin/sh\nprintf "cli"; printf " <%%s>" "$@"; exit %s\n' "$(cat "$WORLD/cli-code" 2>/dev/null || echo 0)" >"$2/bin/isobar-cli"
for name in isobar-cli bench_step bench_start bench_telemetry; do cp "$2/bin/isobar-cli" "$2/bin/$name" 2>/dev/null || true; done
chmod +x "$2"/bin/*
BODY
  script ctest <<'BODY'
log "ctest $*"
echo "100% tests passed"
BODY
}

# new_world: a fresh tree and stand-ins in $WORLD; removes the last one.
new_world() {
  [ -z "${WORLD:-}" ] || rm -rf "$WORLD"
  WORLD=$(mktemp -d)
  TREE=$WORLD/tree
  PREFIX=$WORLD/prefix
  export WORLD
  mkdir -p "$WORLD/bin" "$TREE/cmake" "$TREE/lessons/01_baseline"
  cp "$ROOT/isobar" "$TREE/"
  cp -r "$ROOT/cmake/setup" "$TREE/cmake/"
  cp "$ROOT/lessons/01_baseline/lesson.toml" "$TREE/lessons/01_baseline/"
  : >"$WORLD/calls"
  make_wheels
  make_programs
}

# isobar ARGS...: sets OUT (both streams) and CODE.
isobar() {
  CODE=0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" ./isobar "$@" 2>&1 </dev/null) || CODE=$?
}
