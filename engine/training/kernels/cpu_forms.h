#pragma once
// How a loop of plain C++ becomes one machine loop for each instruction set. The body of a kernel is written
// once, as the operator() of a struct, and it and all it calls is inlined into the three functions below,
// each of which is compiled for its own set. A function that is not inlined there would stay SSE2 and slow.
#include <omp.h>

#include <cstdint>

#include "kernels/instruction_set.h"

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

/// Values below which waking the other threads costs more than they save. One thread or all of them: a team
/// of another size makes libgomp end threads and start them again.
inline constexpr std::int64_t kWorthThreads = 16'384;

/// Calls loop(begin, end) for consecutive parts of 0 .. items - 1, one a thread; `values` is the work in all.
template <typename Loop>
void for_parts(InstructionSet set, std::int64_t items, std::int64_t values, const Loop& loop) {
  const auto form = form_of<Loop>(set);
  if (items < 2 || values < kWorthThreads) return form(loop, 0, items);
#pragma omp parallel
  {
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t thread = omp_get_thread_num();
    form(loop, items * thread / threads, items * (thread + 1) / threads);
  }
}

}  // namespace isobar
