# Cases of run_all.sh: what ./isobar doctor says of machines that are described by files.
# shellcheck shell=bash

case_doctor() {
  touch "$WORLD/no-packages"
  isobar doctor
  expect "code 0" [ "$CODE" = 0 ]
  expect "missing packages" says "missing: g++"
  expect "nothing was called that installs" [ ! -s "$WORLD/calls" ]
  expect "nothing was made" [ ! -e "$PREFIX" ]
  after isobar setup
  isobar doctor
  expect "libtorch" says "ok, 2.11.0"
  rm "$WORLD/bin/apt-get" "$WORLD/bin/dpkg-query"
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$WORLD/nosudo" ISOBAR_PREFIX=$PREFIX ./isobar doctor 2>&1)
  expect "code 1 where nothing can be set up" [ $? = 1 ]
}
case_doctor_system() {
  local name
  mkdir -p "$MACHINE/etc"
  for name in "debian 12 tried" "debian 13 tried" "ubuntu 24.04 untried" "ubuntu 26.04 untried" "fedora 41 unknown"; do
    # shellcheck disable=SC2086  # words
    set -- $name
    printf 'PRETTY_NAME="%s %s"\nID=%s\nVERSION_ID="%s"\n' "${1^}" "$2" "$1" "$2" >"$MACHINE/etc/os-release"
    isobar doctor
    case $3 in
      tried) expect "$name" says "${1^} $2, x86_64, tried" ;;
      untried) expect "$name" says "${1^} $2, x86_64, untried: the package table knows it" ;;
      *) expect "$name" says "${1^} $2, x86_64, untried: the package table does not know it" ;;
    esac
  done
}
case_doctor_processor() {
  cpu_flags "fma avx2 avx512f avx512vl avx512bw avx512dq avx512_bf16 amx_bf16"
  isobar doctor
  expect "AVX512" says "torch takes its AVX512 ones"
  expect "AMX" says "AMX: matrix products"
  expect "no fp16" says "no AVX512-FP16: fp16 is emulated"
  cpu_flags "fma avx2 avx512f avx512vl avx512bw avx512dq avx512_bf16 avx512_fp16 amx_bf16"
  isobar doctor
  expect "fp16" says "AVX512-FP16: matrix products in fp16"
  cpu_flags "fma avx2 avx512f avx512vl avx512bw avx512dq avx512_bf16"
  isobar doctor
  expect "AVX512-BF16" says "AVX512-BF16: matrix"
  cpu_flags "fma avx2 avx512f"
  isobar doctor
  expect "avx512f alone is not enough" says "its AVX2 ones"
  expect "bf16" says "neither AMX nor AVX512-BF16"
  cpu_flags "sse4_2"
  isobar doctor
  expect "an old one" says "its DEFAULT ones"
  cpu_flags "fma avx2 avx512f avx512vl avx512bw avx512dq avx512_bf16"
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ATEN_CPU_CAPABILITY=avx2 ./isobar doctor 2>&1)
  expect "the environment's word" says "told to take avx2"
  expect "and what it takes away" says "nor AVX512-BF16 is allowed: bf16 is emulated"
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ATEN_CPU_CAPABILITY=avx9 ./isobar doctor 2>&1)
  expect "a word that torch does not know" says 'ATEN_CPU_CAPABILITY is "avx9", which torch does not know'
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_CPU_CAPABILITY=avx2 ./isobar doctor 2>&1)
  expect "our own word" says "held to avx2 by ISOBAR_CPU_CAPABILITY"
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_CPU_CAPABILITY=AVX2 ./isobar doctor 2>&1)
  expect "a wrong word of ours" says 'ISOBAR_CPU_CAPABILITY is "AVX2", which is no set of instructions'
  CODE=0
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_CPU_CAPABILITY=AVX2 ./isobar show last 2>&1) || CODE=$?
  expect "and a command refuses it" [ "$CODE" = 2 ]
  expect "in words" says "default, avx2 or avx512"
}
case_doctor_limits() {
  echo 0-7 >"$MACHINE/sys/devices/system/cpu/online"
  printf 'Cpus_allowed_list:\t0-1,4\n' >"$MACHINE/proc/self/status"
  echo 0::/job/step >"$MACHINE/proc/self/cgroup"
  mkdir -p "$MACHINE/sys/fs/cgroup/job/step"
  echo "150000 100000" >"$MACHINE/sys/fs/cgroup/job/cpu.max"
  echo "max 100000" >"$MACHINE/sys/fs/cgroup/job/step/cpu.max"
  echo max >"$MACHINE/sys/fs/cgroup/job/step/memory.max"
  echo 4000000000 >"$MACHINE/sys/fs/cgroup/job/memory.max"
  echo 1000000000 >"$MACHINE/sys/fs/cgroup/job/memory.current"
  isobar doctor
  expect "affinity" says "3 of 8 may be used"
  expect "the outer group's time" says "the time of 1.50"
  expect "no advice: a run keeps to it by itself" [ "${OUT/OMP_NUM_THREADS/}" = "$OUT" ]
  expect "memory" says "4.0 GB allowed by the control group, 1.0 GB of it used (the machine has 16.4 GB)"
}
# doctor_with THREADS: ./isobar doctor where OMP_NUM_THREADS is set.
doctor_with() { OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" OMP_NUM_THREADS=$1 ./isobar doctor 2>&1); }

case_doctor_threads() {
  echo 0::/job >"$MACHINE/proc/self/cgroup"
  mkdir -p "$MACHINE/sys/fs/cgroup/job" "$TREE/build/bin"
  echo "50000 100000" >"$MACHINE/sys/fs/cgroup/job/cpu.max"
  doctor_with 1
  expect "what is set" says "the time of 0.50; a run takes 1 thread: OMP_NUM_THREADS"
  expect "advice that is followed is not given again" [ "${OUT/export OMP_NUM_THREADS/}" = "$OUT" ]
  doctor_with ' 8 ,2'
  expect "more than there are" says "a run takes 8 threads: OMP_NUM_THREADS"
  expect "what to do" says "wait for each other: unset OMP_NUM_THREADS, or export OMP_NUM_THREADS=1"
  doctor_with many
  expect "no number" [ "${OUT/a run takes/}" = "$OUT" ]
  printf '#!/bin/sh\necho "$1" >>%s\necho "1 quota of 0.50 processors"\necho "OMP_NUM_THREADS is wrong"\n' "$WORLD/asked" >"$TREE/build/bin/isobar-run"
  chmod +x "$TREE/build/bin/isobar-run"
  doctor_with many
  expect "the program is asked where it is built" [ "$(grep -v needs "$WORLD/asked")" = threads ]
  expect "and believed" says "a run takes 1 thread: quota of 0.50 processors; OMP_NUM_THREADS is wrong"
  printf '#!/bin/sh\nexit 1\n' >"$TREE/build/bin/isobar-run"
  doctor_with 1
  expect "one of another version" says "a run takes 1 thread: OMP_NUM_THREADS"
}
case_doctor_without_proc() {
  rm -r "$MACHINE/proc" "$MACHINE/sys"
  isobar doctor
  expect "code 0" [ "$CODE" = 0 ]
  expect "in words" says "/proc/meminfo cannot be read"
  expect "to the end" says "Lessons"
  mkdir -p "$MACHINE/proc/self"
  printf 'flags\n' >"$MACHINE/proc/cpuinfo"
  printf 'MemTotal: many\n' >"$MACHINE/proc/meminfo"
  printf 'Cpus_allowed_list:\tx-y\n' >"$MACHINE/proc/self/status"
  isobar doctor
  expect "rubbish there: code 0" [ "$CODE" = 0 ]
}
case_doctor_limits_of_version_1() {
  rm "$MACHINE/sys/fs/cgroup/cgroup.controllers"
  printf '4:cpu,cpuacct:/box\n3:memory:/box\n' >"$MACHINE/proc/self/cgroup"
  mkdir -p "$MACHINE"/sys/fs/cgroup/{cpu,memory}/box
  echo 100000 | tee "$MACHINE/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us" >"$MACHINE/sys/fs/cgroup/cpu/box/cpu.cfs_period_us"
  echo 2000000000 >"$MACHINE/sys/fs/cgroup/memory/box/memory.limit_in_bytes"
  echo 9223372036854771712 >"$MACHINE/sys/fs/cgroup/memory/memory.limit_in_bytes"
  isobar doctor
  expect "time" says "the time of 1.00"
  expect "memory" says "2.0 GB allowed by the control group, 0.0 GB of it used"
}
case_doctor_gpu() {
  isobar doctor
  expect "none" says "no NVIDIA driver"
  driver 580.65.06
  isobar doctor
  expect "the driver's own words where nvidia-smi is not" says "NVIDIA A Card"
  expect "new enough" says "580.65.06 (CUDA 13 needs 580 or later)"
  echo "NVIDIA B Card, 40960 MiB, 8.0" >"$WORLD/smi"
  isobar doctor
  expect "nvidia-smi" says "NVIDIA B Card, 40960 MiB, compute capability 8.0"
  echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." >"$WORLD/smi"
  isobar doctor
  expect "an error is no card" says "NVIDIA A Card"
  expect "and not shown as one" [ "${OUT/has failed/}" = "$OUT" ]
  echo "NVIDIA C Card, 16160 MiB, 7.0" >"$WORLD/smi"
  driver 535.183.01
  isobar doctor
  expect "an old card" says "Isobar needs 8.0 or later"
  expect "an old driver" says "535.183.01 is too old for CUDA 13"
  echo rubbish >"$MACHINE/proc/driver/nvidia/version"
  isobar doctor
  expect "an unreadable driver" says "its version cannot be read"
}
case_doctor_rates() {
  cpu_flags "fma avx2"
  isobar doctor
  expect "none yet" says "./isobar predict 01_baseline measures them once"
  mkdir -p "$PREFIX"
  cat >"$PREFIX/rates.toml" <<'RATES'
schema = 1
machine = "A Processor 9000, 2 processors"
measured = "2026-11-01T12:00:00Z"
processor_wait = 0.02
read_bytes_per_s = 2e+09

[link]  # between two ranks
latency_us = 80.5
bytes_per_us = 1789

[threads.1]
memory_bytes_per_s = 3e+09
fp32.peak_flops_per_s = 2e+10
bf16.peak_flops_per_s = 9e+10

[threads.2]
memory_bytes_per_s = 4.5e+09
fp32.peak_flops_per_s = 4e+10
RATES
  isobar doctor
  expect "those of the most threads" says "products fp32 40 GFLOP/s with 2 threads, memory 4.5 GB/s, reading 2.0 GB/s, two ranks 80 us and 1.8 GB/s; measured 2026-11-01"
  sed -i 's/processor_wait = 0.02/processor_wait = 0.63/' "$PREFIX/rates.toml"
  isobar doctor
  expect "beside other programs" says "beside other programs: too low"
  sed -i 's/A Processor 9000/Another/' "$PREFIX/rates.toml"
  isobar doctor
  expect "of another machine" says "of another machine: Another, 2 processors"
  echo rubbish >"$PREFIX/rates.toml"
  isobar doctor
  expect "no rates" says "is no file of rates"
}
case_doctor_parts() {
  isobar doctor
  expect "the CUDA part is not there" says "./isobar --cuda setup brings it"
  after isobar --cuda setup
  mkdir -p "$TREE/build/lib" && cp "$(type -P true)" "$TREE/build/lib/libisobar_cuda.so"
  isobar doctor
  expect "it is" says "ok, NCCL 2.28.9"
  expect "nvcc of the wheels" says "13.0, $PREFIX/libtorch-2.11.0/nvidia/cu13/bin/nvcc"
  expect "the plugin" says "built, and all its libraries are found"
}
case_doctor_data() {
  local set=$PREFIX/data/fields-4x8-v1
  mkdir -p "$set/train"
  printf 'name = "fields-4x8"\nsynthetic = true\ngenerator = 1\ngrid = [4, 8]\nchannels = 2\n\n[records]\n"train/2001.h5" = 3\n' >"$set/dataset.toml"
  head -c 800 /dev/zero >"$set/train/2001.h5"
  isobar doctor
  expect "intact" says "fields-4x8, 0 MB, synthetic, files have their size"
  head -c 700 /dev/zero >"$set/train/2001.h5"
  isobar doctor
  expect "cut short" says "train/2001.h5 is cut short"
  rm "$set/train/2001.h5"
  isobar doctor
  expect "missing" says "train/2001.h5 is missing"
  printf 'name = "x"\n"$(touch %s/canary)" = 3\n' "$WORLD" >"$set/dataset.toml"
  isobar doctor
  expect "a name is only a name" [ ! -e "$WORLD/canary" ]
  : >"$set/dataset.toml"
  isobar doctor
  expect "an empty sheet" says "dataset.toml names no files"
}
case_doctor_ranks() {
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_NTASKS=4 RANK=1 ./isobar doctor 2>&1)
  expect "Slurm" says "job 7, rank 2 of 4"
  expect "ranks" says "RANK=1, WORLD_SIZE=not set"
}
case_doctor_lessons() {
  mkdir -p "$TREE/lessons/77_gpu"
  printf 'title = "t"\nneeds = "cuda"\n' >"$TREE/lessons/77_gpu/lesson.toml"
  isobar doctor
  expect "without a GPU" says "needs an NVIDIA GPU"
  expect "what to do" says "./isobar show 77_gpu --recorded"
  driver 580.65.06
  isobar doctor
  expect "with one" [ "${OUT/needs an NVIDIA GPU/}" = "$OUT" ]
}
case_doctor_json() {
  driver 580.65.06
  printf 'NVIDIA "Q" \\ Card, 1 MiB, 9.0\n' >"$WORLD/smi"
  isobar doctor --json
  expect "code 0" [ "$CODE" = 0 ]
  expect "one JSON object with all sections" python3 -c '
import json, sys
sheet = json.loads(sys.argv[1])
assert [*sheet] == ["machine", "set-up", "lessons", "can_set_up"], [*sheet]
rows = sheet["machine"] + sheet["set-up"] + sheet["lessons"]
assert all(set(row) == {"name", "state", "fact", "hint"} and row["state"] in ("ok", "note", "missing") for row in rows)
assert any("NVIDIA \"Q\" \\ Card" in row["fact"] for row in rows)
assert sheet["can_set_up"] is True' "$OUT"
  isobar doctor --jsn
  expect "another word: code 2" [ "$CODE" = 2 ]
}
