#pragma once
// Which gradients travel together.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formula/vit_counts.h"

namespace isobar {

/// One bucket: the gradients [first, first + count) of those that were planned.
struct PlannedBucket {
  std::size_t first = 0;
  std::size_t count = 0;
  std::int64_t bytes = 0;
};

/// Walks `sizes_bytes` in the order in which gradients become ready and closes a bucket as soon as it holds
/// its cap: the first min(first_cap_bytes, cap_bytes), all others cap_bytes (the rule of PyTorch's
/// DistributedDataParallel; Li et al. 2020, section 4.2). A gradient is never divided, so a bucket may hold
/// more than its cap; the last one may hold less.
std::vector<PlannedBucket> bucket_plan(const std::vector<std::int64_t>& sizes_bytes,
                                       std::int64_t first_cap_bytes, std::int64_t cap_bytes);

/// comm.bucket_mb and comm.first_bucket_mb are in MiB.
inline std::int64_t mebibytes(double mb) { return static_cast<std::int64_t>(mb * 1024 * 1024); }

/// "0-1, 2-4, 5": which gradients each bucket holds; "none" without a bucket.
std::string plan_text(const std::vector<PlannedBucket>& plan);

/// Bytes of the gradients of a vision transformer in float32, in the order of gradient_matrices
/// (formula/gradient_matrix.h).
std::vector<std::int64_t> gradient_bytes(const VitShape& shape, bool joins_qkv);

}  // namespace isobar
