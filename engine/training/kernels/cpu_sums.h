#pragma once
// The second half of a sum over rows (kernels/column_sums.h), for the CPU.
#include <cstdint>

#include "vector/instruction_set.h"

namespace isobar {

/// sums[c] = pieces[0][c] + pieces[1][c] + ..., in this order. pieces: [count, columns].
struct PieceSums {
  std::int64_t count = 0;
  std::int64_t columns = 0;
  const float* pieces = nullptr;
  float* sums = nullptr;
};

void add_pieces(InstructionSet set, const PieceSums& job);

}  // namespace isobar
