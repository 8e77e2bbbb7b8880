#pragma once
#include <ATen/core/Tensor.h>

namespace isobar {

/// Adds to `counter` (a scalar int64 tensor on the device of `values`) how many of `values` (contiguous
/// float32, any shape) are NaN or infinite. On a CUDA device on the current stream, and without waiting: read
/// the counter when a report is due.
void add_nonfinite(const at::Tensor& values, at::Tensor& counter);

}  // namespace isobar
