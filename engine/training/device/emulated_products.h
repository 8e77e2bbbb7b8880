#pragma once
// Products of 16-bit matrices on processors without instructions for them. libtorch multiplies those in a
// plain loop, a hundred times slower than float32. Here the 16-bit operands, which are float32 values with
// fewer bits, are widened, multiplied and summed by the float32 kernels, and the result is rounded once, to
// nearest even: what AMX does, which also sums in float32.
#include <c10/core/ScalarType.h>

#include "core/cpu_instructions.h"

namespace isobar {

/// Whether products of `type` are emulated on a processor with these instructions. Only of float16 and
/// bfloat16.
bool emulates_products(c10::ScalarType type, const CpuInstructions& cpu);

/// From here on mm, addmm, bmm, baddbmm, fused attention and its gradient are emulated in this process for
/// CPU tensors of 16-bit types that cpu_instructions() cannot multiply; those of other types are libtorch's
/// own. Does nothing where all types have instructions, or when it was called before. Bound, of each value of
/// a product over k: k 2^-24 / (1 - k 2^-24) times the sum of |a_i b_i|, from summing in float32 in any order
/// (Higham, Accuracy and Stability of Numerical Algorithms, 3.5), and half a unit of the last place of the
/// result for rounding it.
void emulate_products();

}  // namespace isobar
