#pragma once
// How a loop of plain C++ becomes one machine loop for each instruction set. The body of a kernel is written
// once, as the operator() of a struct, and it and all it calls is inlined into the three functions below,
// each of which is compiled for its own set. A function that is not inlined there would stay SSE2 and slow.
#include <cstdint>

#include "vector/instruction_set.h"

#define ISOBAR_INLINE [[gnu::always_inline]] inline

namespace isobar {

template <typename Loop>
void run_sse2(const Loop& loop, std::int64_t begin, std::int64_t end) {
  loop(begin, end);
}

template <typename Loop>
__attribute__((target("avx2,fma,f16c"))) void run_avx2(const Loop& loop, std::int64_t begin,
                                                       std::int64_t end) {
  loop(begin, end);
}

template <typename Loop>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))) void run_avx512(
    const Loop& loop, std::int64_t begin, std::int64_t end) {
  loop(begin, end);
}

template <typename Loop>
auto form_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::avx512:
      return run_avx512<Loop>;
    case InstructionSet::avx2:
      return run_avx2<Loop>;
    case InstructionSet::sse2:
      break;
  }
  return run_sse2<Loop>;
}

}  // namespace isobar
