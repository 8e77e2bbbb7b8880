#pragma once
#include <ATen/core/Tensor.h>

#include "core/seam.h"

namespace isobar {

namespace seams {

/// What relative_l2 computes with.
extern constinit Seam<at::Tensor(const at::Tensor& prediction, const at::Tensor& target)> relative_l2;

}  // namespace seams

/// Relative L2 loss, a scalar: the mean over the batch of ||prediction - target|| / ||target||, norms over
/// all values of a sample. Both are [B, ...] of one shape. An untrained model starts near 1. A target of
/// zeros divides by zero.
at::Tensor relative_l2(const at::Tensor& prediction, const at::Tensor& target);

}  // namespace isobar
