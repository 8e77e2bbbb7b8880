#pragma once
// Shapes, types and places of operands by a seeded draw, within what each kernel says it takes.
#include "kernels/fused_checks.h"

namespace isobar {

enum class DrawnKernel {
  bias_gelu,
  residual_norm,
  head_loss,
  adam,
  gradient_norm,
  count_nonfinite,
  normalise
};

inline constexpr int kDrawnShapes = 200;

/// Number `index` of the shapes of `kernel`, always the same; the first ones are at the edges.
void check_drawn(KernelPlace& place, DrawnKernel kernel, int index);

}  // namespace isobar
