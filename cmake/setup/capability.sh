# ISOBAR_CPU_CAPABILITY holds libtorch, its MKL and oneDNN, and our own kernels to a set of instructions: one word for
# all. What stands in a variable of theirs already stays. Sourced by ./isobar.
# shellcheck shell=bash

capability_words='default avx2 avx512'

# is_capability WORD
is_capability() { [[ " $capability_words " = *" $1 "* && $1 != *' '* && -n $1 ]]; }

hold_to_capability() {
  local word=${ISOBAR_CPU_CAPABILITY:-} onednn mkl
  [ -n "$word" ] || return 0
  is_capability "$word" || die "\"$word\" is no set of instructions" "the variable ISOBAR_CPU_CAPABILITY" "default, avx2 or avx512; without it all that the processor has is used" 2
  case $word in
    default) onednn=SSE41 mkl=SSE4_2 ;;
    avx2) onednn=AVX2 mkl=AVX2 ;;
    avx512) onednn=AVX512_CORE mkl=AVX512 ;;
  esac
  export ATEN_CPU_CAPABILITY=${ATEN_CPU_CAPABILITY:-$word}
  export ONEDNN_MAX_CPU_ISA=${ONEDNN_MAX_CPU_ISA:-$onednn} MKL_ENABLE_INSTRUCTIONS=${MKL_ENABLE_INSTRUCTIONS:-$mkl}
}
