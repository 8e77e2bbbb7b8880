#pragma once
#include "model/parameters.h"
#include "record/gradient_histogram.h"

namespace isobar {

/// The sizes of all gradients as they are now; what lies between parameters in their buffer is left out. From
/// a CUDA device they are copied to the host first, which waits for them. Where ranks share parameters out,
/// all of their group call it, and get the sizes of all shares.
GradientHistogram gradient_sizes(const Parameters& parameters);

}  // namespace isobar
