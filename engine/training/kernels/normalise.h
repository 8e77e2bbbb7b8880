#pragma once
// From the units of the data to what the model takes, while a field is on its way from the file to its batch.
#include <cstdint>

#include "vector/instruction_set.h"

namespace isobar {

/// Whether results are wanted soon by this core, or by somebody else much later.
enum class Stores {
  cached,    ///< through the cache: what is read next is there
  streaming  ///< past it: memory is neither read before it is written nor does it push out what is in use
};

/// out[i] = (in[i] - mean) / spread for i in 0 .. n - 1: IEEE subtract, then divide, in float32, the same
/// bits with every instruction set. Returns how many of the results are not finite (NaN or an infinity).
/// `out` is `in` or does not overlap it; both may lie at any multiple of four bytes. Visible to other threads
/// by the usual means (mutex, release store) with either kind of stores.
std::int64_t normalise_values(const float* in, float* out, std::int64_t n, float mean, float spread,
                              Stores stores);

/// `normalise_values` with one instruction set, for tests and benches; a set that is not here is an illegal
/// instruction.
std::int64_t normalise_values_with(InstructionSet set, const float* in, float* out, std::int64_t n,
                                   float mean, float spread, Stores stores);

}  // namespace isobar
