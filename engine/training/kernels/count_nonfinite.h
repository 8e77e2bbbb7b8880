#pragma once
// How many values are not finite (NaN or an infinity): asked of the gradients before they reach the weights.
#include <cstdint>

#include "vector/instruction_set.h"

struct CUstream_st;  // what cudaStream_t points to

namespace isobar {

/// Values among `values[0 .. n)` in host memory that are not finite. Bits are looked at, so no compiler
/// option about floating point changes the answer. Uses the threads of tensor operations where n is large.
std::int64_t count_nonfinite(const float* values, std::int64_t n,
                             InstructionSet set = best_instruction_set());

/// Counts in device memory: adds the count to `*counter`, also in device memory, on `stream`; does not
/// wait. Only the CUDA plugin has it. Error (exit code 1) when the launch is refused.
void count_nonfinite_cuda(const float* values, std::int64_t n, std::int64_t* counter, CUstream_st* stream);

}  // namespace isobar
