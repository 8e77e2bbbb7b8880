#pragma once
// Loops for each instruction set (vector/forms.h) on the threads of OpenMP.
#include <omp.h>

#include <cstdint>

#include "vector/forms.h"

namespace isobar {

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
