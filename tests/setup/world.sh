# A small world for ./isobar: stand-ins for apt, dpkg, pip, cmake, ninja and nvcc that record how they were called, tiny wheels
# with their true hashes, and a machine described by files. Nothing leaves this folder. Sourced by run_all.sh.
# shellcheck shell=bash

# script NAME: the body comes from standard input.
script() {
  { printf '#!%s\nlog() { printf "%%s\\n" "$*" >>"$WORLD/calls"; }\n' "$BASH"; cat; } >"$WORLD/bin/$1"
  chmod +x "$WORLD/bin/$1"
}

# list_wheel LIST FILE: appends a wheel to a list of cmake/setup.
list_wheel() {
  printf '#file %s %s\n%s==1 --hash=sha256:%s\n' "$2" "$(stat -c %s "$WORLD/wheels/$2")" "${2%%-*}" \
    "$(sha256sum "$WORLD/wheels/$2" | cut -d' ' -f1)" >>"$TREE/cmake/setup/$1"
}

make_wheels() {
  local src=$WORLD/src cu=nvidia/cu13 file
  mkdir -p "$WORLD/wheels" "$src"/{cpu,cuda,nvcc}
  (
    cd "$src/cpu" || exit
    mkdir -p torch/lib torch/include $cu/lib
    for file in torch_cpu c10 torch_cuda torch_cuda_linalg c10_cuda caffe2_nvrtc torch_nvshmem; do echo "tensors $file" >torch/lib/lib$file.so; done
    echo openmp >torch/lib/libgomp.so.1
    echo header >torch/include/a.h
    echo cuda >$cu/lib/libcudart.so.13
    python3 -m zipfile -c "$WORLD/wheels/torch-2.11.0-x.whl" torch
    python3 -m zipfile -c "$WORLD/wheels/nvidia_a-1.whl" nvidia
    cd ../cuda || exit
    mkdir -p nvidia/nccl/lib nvidia/nccl/include $cu/lib
    echo collectives >nvidia/nccl/lib/libnccl.so.2
    printf '#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n#define NCCL_PATCH 9\n' >nvidia/nccl/include/nccl.h
    echo matrices >$cu/lib/libcublas.so.13
    python3 -m zipfile -c "$WORLD/wheels/nvidia_b-1.whl" nvidia
    cd ../nvcc || exit
    mkdir -p $cu/bin $cu/nvvm/bin
    printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.88"\n' >$cu/bin/nvcc
    echo optimiser >$cu/nvvm/bin/cicc
    python3 -m zipfile -c "$WORLD/wheels/nvidia_nvcc-1.whl" nvidia
  )
  rm "$TREE"/cmake/setup/wheels*.txt
  list_wheel wheels.txt torch-2.11.0-x.whl
  list_wheel wheels.txt nvidia_a-1.whl
  list_wheel wheels_cuda.txt nvidia_b-1.whl
  list_wheel wheels_nvcc.txt nvidia_nvcc-1.whl
  cp "$TREE/cmake/setup/wheels.txt" "$TREE/cmake/setup/peers.txt"
}

# make_machine: what the files of /proc, /sys and /dev say of it; two cores, 16 GB, no GPU.
make_machine() {
  unset ISOBAR_CPU_CAPABILITY ATEN_CPU_CAPABILITY ONEDNN_MAX_CPU_ISA MKL_ENABLE_INSTRUCTIONS  # of the suite, when it is held to less
  mkdir -p "$MACHINE/proc/self" "$MACHINE/sys/devices/system/cpu" "$MACHINE/sys/fs/cgroup" "$MACHINE/dev"
  cpu_flags "fma avx2"
  echo 0-1 >"$MACHINE/sys/devices/system/cpu/online"
  printf 'Cpus_allowed_list:\t0-1\n' >"$MACHINE/proc/self/status"
  printf 'MemTotal: 16000000 kB\nMemAvailable: 9000000 kB\n' >"$MACHINE/proc/meminfo"
  echo 0::/ >"$MACHINE/proc/self/cgroup"
  : >"$MACHINE/sys/fs/cgroup/cgroup.controllers"
}
cpu_flags() { printf 'processor : 0\nmodel name : A Processor 9000\nflags : fpu %s\n\nprocessor : 1\n' "$1" >"$MACHINE/proc/cpuinfo"; }

# driver VERSION: a machine with an NVIDIA driver and one GPU.
driver() {
  mkdir -p "$MACHINE/proc/driver/nvidia/gpus/0000:01:00.0"
  echo "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  $1  Release Build" >"$MACHINE/proc/driver/nvidia/version"
  printf 'Model: \t\t NVIDIA A Card\nIRQ: 1\n' >"$MACHINE/proc/driver/nvidia/gpus/0000:01:00.0/information"
}

make_programs() {
  script dpkg-query <<'BODY'
for name in "${@:4}"; do
  case $name in
    python3 | python3-pip | unzip | ca-certificates) [ ! -e "$WORLD/no-packages" ] || [ -e "$WORLD/fetch-packages" ] || continue ;;
    catch2) [ ! -e "$WORLD/no-catch2" ] || continue ;;
    *) [ ! -e "$WORLD/no-packages" ] || continue ;;
  esac
  printf 'ii  %s\n' "$name"
done
BODY
  # apt knows three packages that g++ takes and one for each of the rest; a word in $WORLD breaks it.
  script apt-get <<'BODY'
log "apt-get $*"
case "$*" in
  *--assume-no*) echo "0 upgraded, 3 newly installed, 0 to remove and 0 not upgraded."; echo "Need to get 112 MB of archives."; exit 1 ;;
  '-s '* | *' -s '* | *'install -s'*) printf 'Inst %s (1)\nConf %s (1)\n' g++ g++ cpp cpp libc6-dev libc6-dev ;;
  *' -d '*)  # as a user: into a cache of its own
    [ ! -e "$WORLD/apt-fails" ] || { echo "E: Unable to locate package g++"; exit 100; }
    [[ $* =~ Dir::Cache=([^ ]*) ]] && cp "$WORLD"/debs/* "${BASH_REMATCH[1]}/archives/" ;;
  *' install'*)
    [ ! -e "$WORLD/apt-fails" ] || { echo "E: Unable to locate package g++"; exit 100; }
    [ ! -e "$WORLD/apt-full" ] || { echo "E: You don't have enough free space"; exit 100; }
    [[ ! -e "$WORLD/apt-full-later" || $* != *g++* ]] || { echo "E: You don't have enough free space"; exit 100; }
    echo "Get:1 http://x bookworm/main amd64 g++ amd64 1 [1 kB]"
    # Until what is configured is being built, where it is: so long packages take.
    [ ! -e "$WORLD/ninja-has-done" ] || for ((tries = 0; tries < 300; ++tries)); do ! grep -q '^ninja all' "$WORLD/calls" || break; sleep 0.1; done
    log "packages are there"
    [[ ! -e "$WORLD/apt-slow" || $* != *g++* ]] || { echo $$ >"$WORLD/apt-pid"; exec sleep 600; }
    for name in cpp:amd64 libc6-dev:amd64 g++ others-trigger; do echo "Setting up $name (1) ..."; done
    if [[ $* = *g++* ]]; then rm -f "$WORLD/no-packages"; else touch "$WORLD/fetch-packages"; fi ;;
esac
BODY
  script apt-cache </dev/null
  script dpkg </dev/null
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
case \$2 in *'(3, 11)'*) exit 0 ;; esac  # the Python that the peers are pinned for, whatever is here
[ "\$1 \$2" = "-m pip" ] || exec $(command -v python3) "\$@"
while [ \$# -gt 0 ]; do
  [ "\$1" != --dest ] || dest=\$2
  [ "\$1" != --requirement ] || wanted=\$2
  shift
done
name=\$(sed 's/==.*//' "\$wanted")
log "pip \$name"
[ ! -e "\$WORLD/offline" ] || { echo "ERROR: No matching distribution found for \$name"; exit 1; }
[[ ! -e "\$WORLD/offline-later" || \$name != nvidia_a ]] || { sleep 1; echo "ERROR: No matching distribution found for \$name"; exit 1; }
[ ! -e "\$WORLD/slow" ] || { echo \$\$ >"\$WORLD/pip-pid"; exec sleep 600; }
# Until the first programs are built: so long a real file takes.
[[ ! -e "\$WORLD/pip-waits" || \$name != torch* ]] || until grep -q '^ninja' "\$WORLD/calls"; do sleep 0.1; done
mkdir -p "\$dest"
cp "\$WORLD"/wheels/\$name-*.whl "\$dest/"
[ ! -e "\$WORLD/altered" ] || for file in "\$dest"/*; do printf x >>"\$file"; done
BODY
  script nvcc <<'BODY'
[ -e "$WORLD/toolkit" ] || exit 1
echo "Cuda compilation tools, release $(cat "$WORLD/toolkit"), V$(cat "$WORLD/toolkit").1"
BODY
  script nvidia-smi <<'BODY'
[ -e "$WORLD/smi" ] || exit 9
cat "$WORLD/smi"
BODY
  script cmake <<'BODY'
log "cmake $*"
[[ ! -e "$WORLD/cuda-cmake-fails" || "$*" != *ISOBAR_CUDA=ON* ]] || { echo "CMake Error at CMakeLists.txt: no CUDA"; exit 1; }
[ ! -e "$WORLD/cmake-fails" ] || { echo "CMake Error at CMakeLists.txt: no fmt"; exit 1; }
mkdir -p build && : >build/build.ninja
[[ $* != *ISOBAR_TORCH=ON* ]] || [ -f "$ISOBAR_PREFIX/libtorch-2.11.0/.complete" ] || { echo "CMake Error: no libtorch"; exit 1; }
BODY
  script ninja <<'BODY'
if [[ " $* " = *" -n "* ]]; then  # which only looks
  [ ! -e "$WORLD/ninja-has-done" ] && echo "[1/1] Building x" || echo "ninja: no work to do."
  exit
fi
log "ninja ${*:5}"
[ ! -e "$WORLD/ninja-slow" ] || { echo $$ >"$WORLD/ninja-pid"; exec sleep 600; }
[[ ! -e "$WORLD/plugin-fails" || "$*" != *isobar_cuda* ]] || { echo "1/2 Building x"; echo "FAILED: x.o"; echo "kernel.cu:7:1: error: expected ;"; exit 1; }
[ ! -e "$WORLD/build-fails" ] || { echo "1/2 Building x"; echo "FAILED: x.o"; echo "main.cpp:3:1: error: expected ;"; exit 1; }
[ ! -e "$WORLD/compiler-crashes" ] || { [ -s "$WORLD/compiler-crashes" ] || rm "$WORLD/compiler-crashes"; echo "FAILED: x.o"; echo "c++: internal compiler error: Segmentation fault"; exit 1; }
mkdir -p "$2/bin"
code=0
[ ! -e "$WORLD/cli-code" ] || read -r code <"$WORLD/cli-code"
for name in isobar-cli 01_baseline isobar-run isobar-gui isobar-browser bench_step bench_start bench_telemetry; do
  printf '#!/bin/sh\nprintf "cli"; printf " <%%s>" "$@"; exit %s\n' "$code" >"$2/bin/$name"
done
cp "$WORLD/make_fields" "$2/bin/make_fields"
chmod +x "$2"/bin/*
BODY
  cat >"$WORLD/make_fields" <<'BODY'
#!/usr/bin/env bash
printf 'make_fields %s\n' "$*" >>"$WORLD/calls"
[ ! -e "$WORLD/data-fails" ] || { echo "make_fields: error: the data set needs 585 MB, 1 MB are free" >&2; exit 1; }
folder=$ISOBAR_PREFIX/data/fields-72x144-v1
mkdir -p "$folder.part-$$"
trap 'rm -rf "$folder.part-$$"; exit 143' TERM
[ ! -e "$WORLD/data-slow" ] || { echo $$ >"$WORLD/data-pid"; sleep 600 & wait $!; }
echo "  data  100 %  4 of 4 records"
printf 'name = "f"\nsynthetic = true\ngenerator = 1\n' >"$folder.part-$$/dataset.toml"
mv -T "$folder.part-$$" "$folder"
BODY
  chmod +x "$WORLD/make_fields"
  script unzip <<BODY
[[ ! -e "\$WORLD/unzip-full" || "\$1" != -q ]] || { echo "write error (disk full?)" >&2; exit 50; }
exec $(type -P unzip) "\$@"
BODY
  script ctest <<'BODY'
log "ctest $*"
[[ " $* " != *" -N "* ]] || printf '  Test #1: core\n'
[[ " $* " != *"-C nightly"*" -N "* ]] || printf '  Test #2: comm_nightly\n'
echo "100% tests passed"
BODY
}

# A PATH without sudo and compilers: the few tools that the scripts themselves need.
plain_tools() {
  local tool
  mkdir -p "$WORLD/nosudo"
  for tool in bash env sed awk grep cat mkdir dirname basename flock paste wc head tail tr cut sort ls rm rmdir mv nproc du printf date readlink chmod find touch mktemp mkfifo sleep python3 unzip sha256sum stat setsid cp xargs tar timeout ln; do
    ln -sf "$(command -v $tool)" "$WORLD/nosudo/$tool"
  done
}

# enter_world FOLDER: where the parts of a world are.
enter_world() {
  WORLD=$1
  TREE=$WORLD/tree
  PREFIX=$WORLD/prefix
  MACHINE=$WORLD/machine
  export WORLD ISOBAR_SYSROOT=$MACHINE
}

make_world() {
  make_machine
  mkdir -p "$WORLD/bin" "$TREE/cmake" "$TREE/lessons/01_baseline"
  cp "$ROOT/isobar" "$TREE/"
  cp -r "$ROOT/cmake/setup" "$TREE/cmake/"
  cp "$ROOT/lessons/01_baseline/lesson.toml" "$TREE/lessons/01_baseline/"
  mkdir "$TREE/lessons/presets"
  cp "$ROOT/lessons/presets/cpu_tiny.toml" "$TREE/lessons/presets/"
  : >"$WORLD/calls"
  make_wheels
  make_programs
  plain_tools
}

# put_world NAME: in the place of the last world, a copy of one that is kept. All stand in one place, since a set-up keeps paths.
put_world() {
  rm -rf "$WORLD"
  enter_world "$worlds/world"
  cp -a "$worlds/kept/$1" "$WORLD"
}

# new_world: a fresh tree and stand-ins in $WORLD.
new_world() {
  if [ -z "${worlds:-}" ]; then
    worlds=$(mktemp -d)
    trap 'rm -rf "${worlds:?}" "${WORLD:?}"' EXIT
    mkdir "$worlds/kept"
    enter_world "$worlds/world"
    make_world
    mv "$WORLD" "$worlds/kept/fresh"
  fi
  put_world fresh
}

# after COMMAND...: the case begins in a world as COMMAND left a fresh one; it is called once for all cases.
after() {
  if [ -d "$worlds/kept/$*" ]; then
    put_world "$*"
  else
    put_world fresh
    "$@"
    cp -a "$WORLD" "$worlds/kept/$*"
  fi
}

# isobar ARGS...: sets OUT (both streams) and CODE.
isobar() {
  CODE=0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" timeout 900 ./isobar "$@" 2>&1 </dev/null 5>&-) || CODE=$?
}
