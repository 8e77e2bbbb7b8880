#!/usr/bin/env bash
# Compiles the CUDA plugin again, from the sources beside it, with the nvcc, g++ and torch of this machine: for who mends a kernel where the
# GPU is. What was there stays as lib/libisobar_cuda.so.before. Called by ./run.sh rebuild-plugin, which names the folder of torch.
#   rebuild_plugin.sh TORCH [ARCHITECTURE...]   architectures such as 90 (default: 80 90)
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fail() {
  printf 'isobar: error: %s\n  hint:  %s\n' "$1" "$2" >&2
  exit "${3:-1}"
}
torch=${1:?which torch?}
shift
[ $# -gt 0 ] || set -- 80 90
nvcc=${CUDACXX:-$(type -P nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || fail "there is no nvcc here" "export CUDACXX=/the/nvcc, of CUDA 13"
"$nvcc" --version | grep -q 'release 13\.' || fail "$nvcc is not of CUDA 13, as this PyTorch is" "export CUDACXX=/another/nvcc"
compiler=${CXX:-$(type -P g++ || true)}
[ -n "$compiler" ] || fail "there is no g++ here" "export CXX=/the/g++, version 12 or newer"
[ -d "$torch/include/ATen" ] || fail "there are no headers in $torch/include" "a PyTorch that pip installs has them"
site=${torch%/*}
cuda=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
generate=()
for architecture in "$@"; do
  [[ $architecture =~ ^[0-9]{2,3}a?$ ]] || fail "\"$architecture\" is no architecture" "./run.sh rebuild-plugin 90" 2
  generate+=("--generate-code=arch=compute_$architecture,code=[compute_$architecture,sm_$architecture]")
done
work=$(mktemp -d)
trap 'rm -rf "${work:?}"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# The headers of fmt are those that torch brings.
options=(-DAT_PER_OPERATOR_HEADERS -DNDEBUG -DUSE_C10D_NCCL -DUSE_DISTRIBUTED -DFMT_HEADER_ONLY "-I$home/engine/training" "-I$home/engine/base")
for folder in "$torch/include" "$torch/include/torch/csrc/api/include" "$site/nvidia/nccl/include" "$site/nvidia/cu13/include" "$cuda/include"; do
  [ ! -d "$folder" ] || options+=(-isystem "$folder")
done
sources=("$home"/engine/training/kernels/*_cuda.cu "$home"/engine/training/cuda/*.cpp "$home/engine/training/device/cuda_plugin.cpp"
  "$home/engine/base/core/error.cpp" "$home/engine/base/core/text.cpp" "$home/engine/base/core/utf8.cpp")
# One line an option, as nvcc and g++ read them from a file.
printf '%s\n' "${options[@]}" >"$work/options"
printf '%s\n' "${generate[@]}" >"$work/generate"
compile() { # compile SOURCE
  local to=$work/${1##*/}.o
  case $1 in
    *.cu) "$nvcc" -ccbin "$compiler" -std=c++17 -O3 --compress-mode=none -Xcompiler=-fPIC,-fvisibility=hidden --options-file "$work/generate" \
      --options-file "$work/options" -c "$1" -o "$to" ;;
    *) "$compiler" -std=c++20 -O2 -fPIC -fvisibility=hidden "@$work/options" -c "$1" -o "$to" ;;
  esac
  echo "  ${1##*/}"
}
echo "compiling ${#sources[@]} files for sm_${*// / sm_} with $nvcc ..."
export -f compile
export nvcc compiler work
printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'compile "$0" || exit 255' {} ||
  fail "a file does not compile: what the compiler says is above" "mend it and call this again"
links=()
for folder in "$torch/lib" "$site/nvidia/nccl/lib" "$site/nvidia/cu13/lib" "$cuda/lib64" "$cuda/targets/x86_64-linux/lib"; do
  [ ! -d "$folder" ] || links+=("-L$folder" "-Wl,-rpath-link,$folder")
done
for folder in "$site"/nvidia/*/lib; do links+=("-Wl,-rpath-link,$folder"); done
"$compiler" -shared -Wl,-z,defs -Wl,-soname,libisobar_cuda.so -o "$work/libisobar_cuda.so" "$work"/*.o "${links[@]}" -Wl,--no-as-needed \
  -l:libnccl.so.2 -ltorch_cuda -lc10_cuda -ltorch_cpu -lc10 -l:libcudart.so.13
mkdir -p "$home/lib"
[ ! -f "$home/lib/libisobar_cuda.so" ] || [ -f "$home/lib/libisobar_cuda.so.before" ] || cp "$home/lib/libisobar_cuda.so" "$home/lib/libisobar_cuda.so.before"
mv "$work/libisobar_cuda.so" "$home/lib/libisobar_cuda.so"
echo "lib/libisobar_cuda.so is new; the one before is lib/libisobar_cuda.so.before"
