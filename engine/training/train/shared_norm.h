#pragma once
// The length of a gradient that ranks have in shares.
#include <ATen/core/Tensor.h>

#include "comm/comm.h"
#include "core/seam.h"
#include "model/parameters.h"

namespace isobar {

/// `sums` [2] float64 holds the squares of this rank's own gradients, added up, and how many of them are not
/// finite; both become those of all ranks of `group`. The squares are given to a learner's part, which may
/// add them up anew.
inline void add_up_shares(const Parameters& /*parameters*/, const at::Tensor& sums, Comm& group) {
  group.all_reduce(sums, Reduce::sum, "gradient norm").wait();
}

namespace seams {

inline constinit Seam<void(const Parameters& parameters, const at::Tensor& sums, Comm& group)> add_up_shares{
    isobar::add_up_shares};

}  // namespace seams
}  // namespace isobar
