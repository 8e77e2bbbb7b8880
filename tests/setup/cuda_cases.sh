# Cases of run_all.sh: the CUDA part of the set-up.
# shellcheck shell=bash

cuda_complete() { [ -f "$PREFIX/libtorch-2.11.0/.complete-cuda" ]; }
in_libtorch() { [ -f "$PREFIX/libtorch-2.11.0/$1" ]; }

case_cuda_by_name() {
  isobar --cuda setup
  expect "code 0" [ "$CODE" = 0 ]
  expect "sizes in the plan" says "fetch the CUDA part of libtorch and the compiler nvcc (0 MB), unpack it (3260 MB)"
  expect "fetched once though two parts need it" count_is "pip torch" 1
  expect "the CUDA libraries of torch" in_libtorch torch/lib/libtorch_cuda.so
  expect "NCCL" in_libtorch nvidia/nccl/lib/libnccl.so.2
  expect "marked" cuda_complete
  expect "the compiler can be run" [ -x "$PREFIX/libtorch-2.11.0/nvidia/cu13/nvvm/bin/cicc" ]
  expect "the linker's names" [ -e "$PREFIX/libtorch-2.11.0/nvidia/cu13/lib64/libcudart.so" ]
  expect "configured with it" called "-DISOBAR_CUDA=ON -DCMAKE_CUDA_COMPILER=$PREFIX/libtorch-2.11.0/nvidia/cu13/bin/nvcc"
  expect "the plugin is built" called "ninja isobar_cuda"
  expect "no leftovers" no_leftovers
  expect "no download kept" [ -z "$(ls "$PREFIX/downloads")" ]
}
case_cuda_is_remembered() {
  isobar run 01_baseline --cuda
  : >"$WORLD/calls"
  isobar run 01_baseline
  expect "only ninja is asked, for the plugin too" [ "$(cat "$WORLD/calls")" = "ninja isobar-run make_fields 01_baseline isobar_cuda" ]
  expect "--cuda is no word of the lesson" [ "$OUT" = "cli <run> <01_baseline>" ]
  touch -d '1 hour ago' "$TREE/build/.ready"
  isobar ladder
  expect "a new set-up keeps it" called "-DISOBAR_CUDA=ON"
  isobar ladder --no-cuda
  expect "until it is refused" called "-DISOBAR_CUDA=OFF"
  : >"$WORLD/calls"
  isobar run 01_baseline
  expect "which is remembered too" [ "$(cat "$WORLD/calls")" = "ninja isobar-run make_fields 01_baseline" ]
}
case_cuda_with_a_toolkit() {
  echo 13.1 >"$WORLD/toolkit"
  isobar --cuda setup
  expect "its nvcc is taken" called "-DCMAKE_CUDA_COMPILER=$WORLD/bin/nvcc"
  expect "none is fetched" count_is "pip nvidia_nvcc" 0
  expect "nor announced" [ "${OUT/compiler nvcc/}" = "$OUT" ]
}
case_cuda_with_an_old_toolkit() {
  echo 12.4 >"$WORLD/toolkit"
  isobar --cuda setup
  expect "its nvcc is not taken" count_is "CMAKE_CUDA_COMPILER=$WORLD/bin/nvcc" 0
  expect "one is fetched" called "pip nvidia_nvcc"
}
case_cuda_after_a_cpu_setup() {
  after isobar setup
  rm -rf "$TREE/build"
  isobar --cuda setup
  expect "the torch file comes again, and the plan says so" says "with the torch file once more"
  expect "twice in all" count_is "pip torch" 2
  expect "the CPU part is not unpacked again" count_is "pip nvidia_a" 1
  expect "both parts" complete
  expect "complete" cuda_complete
}
case_driver_without_a_word() {
  driver 580.65.06
  isobar run 01_baseline
  expect "announced" says "This machine has an NVIDIA driver"
  expect "how to leave it out" says "no-cuda leaves it out"
  expect "brought" cuda_complete
  expect "no question without a terminal" [ "${OUT/This too/}" = "$OUT" ]
}
case_driver_and_a_reader() {
  after isobar setup
  driver 580.65.06
  isobar show last
  expect "a command that trains nothing brings nothing" [ ! -e "$PREFIX/libtorch-2.11.0/.complete-cuda" ]
  isobar run 01_baseline
  expect "one that trains does" cuda_complete
}
case_driver_and_a_person() {
  type -P script >/dev/null || return 0
  after isobar setup
  driver 580.65.06
  OUT=$(cd "$TREE" && PATH="$WORLD/bin:$PATH" ISOBAR_PREFIX="$PREFIX" timeout 900 script -qec "./isobar setup" /dev/null <<<n 2>&1)
  expect "a question of its own" says "This too? [Y/n]"
  expect "the answer is kept" says "left out; ./isobar --cuda setup brings it later"
  expect "without CUDA" [ ! -e "$PREFIX/libtorch-2.11.0/.complete-cuda" ]
  : >"$WORLD/calls"
  isobar run 01_baseline
  expect "and not asked again" [ "$(cat "$WORLD/calls")" = "ninja isobar-run make_fields 01_baseline" ]
}
case_failing_cuda_leaves_the_cpu() {
  driver 580.65.06
  isobar setup
  rm -rf "$TREE/build" "$PREFIX/libtorch-2.11.0"/.complete-cuda
  touch "$WORLD/offline"
  isobar run 01_baseline
  expect "code 0" [ "$CODE" = 0 ]
  expect "why" says "torch==1 could not be fetched"
  expect "what now" says "so lessons run on the processor; ./isobar --cuda setup tries again"
  expect "without CUDA" called "-DISOBAR_CUDA=OFF"
  expect "the lesson runs" says "cli <run> <01_baseline>"
  : >"$WORLD/calls"
  isobar run 01_baseline
  expect "not tried at every call" [ "$(cat "$WORLD/calls")" = "ninja isobar-run make_fields 01_baseline" ]
  isobar doctor
  expect "doctor knows" says "the set-up of the CUDA part failed"
  isobar --cuda run 01_baseline
  expect "asked for by name it is an error" [ "$CODE" = 1 ]
  rm "$WORLD/offline"
  isobar --cuda run 01_baseline
  expect "and tried again" [ "$CODE" = 0 ]
}
case_plugin_that_does_not_build() {
  driver 580.65.06
  touch "$WORLD/plugin-fails"
  isobar run 01_baseline
  expect "the compiler's line" says "kernel.cu:7:1: error"
  expect "the lesson runs all the same" says "cli <run> <01_baseline>"
  rm "$WORLD/plugin-fails"
  isobar --cuda setup
  touch "$WORLD/plugin-fails"
  isobar run 01_baseline
  expect "once it was built, an error in it is an error" [ "$CODE" = 1 ]
}
case_cuda_that_does_not_configure() {
  driver 580.65.06
  touch "$WORLD/cuda-cmake-fails"
  isobar run 01_baseline
  expect "code 0" [ "$CODE" = 0 ]
  expect "configured without it" called "-DISOBAR_CUDA=OFF"
  isobar --cuda run 01_baseline
  expect "asked for by name: code 1" [ "$CODE" = 1 ]
}
case_wrong_cuda_file() {
  after isobar setup
  touch "$WORLD/altered"
  isobar --cuda setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "it says so" says "not the pinned one; it was thrown away"
  expect "not unpacked" [ ! -e "$PREFIX/libtorch-2.11.0/torch/lib/libtorch_cuda.so" ]
  expect "the CPU part stays" complete
}
case_no_space_for_cuda() {
  after isobar setup
  touch "$WORLD/disk-full"
  isobar --cuda setup
  expect "code 1" [ "$CODE" = 1 ]
  expect "figures" says "MB are needed, 1 MB are free"
}
case_new_libtorch_takes_cuda_along() {
  after isobar --cuda setup
  echo other >"$PREFIX/libtorch-2.11.0/.complete"
  isobar --no-cuda setup
  expect "the CPU part is new" complete
  expect "an old CUDA part is not believed beside it" [ ! -e "$PREFIX/libtorch-2.11.0/.complete-cuda" ]
}
case_cuda_is_not_brought_for_help() {
  driver 580.65.06
  isobar run 01_baseline --help
  expect "code 0" [ "$CODE" = 0 ]
  isobar bench step -h
  expect "code 0 of a bench" [ "$CODE" = 0 ]
  expect "no CUDA part" [ ! -e "$PREFIX/libtorch-2.11.0/.complete-cuda" ]
  expect "no word of it" [ "${OUT/NVIDIA/}" = "$OUT" ]
  expect "no packages to compare with" [ ! -e "$PREFIX/peers-2.11.0" ]
}
case_cuda_bench_builds_the_plugin() {
  after isobar --cuda setup
  : >"$WORLD/calls"
  isobar --yes bench step --quick
  expect "with the bench" called "ninja bench_step isobar_cuda"
}
