#include "formula/bucket_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "formula/gradient_matrix.h"

namespace isobar {

std::vector<PlannedBucket> bucket_plan(const std::vector<std::int64_t>& sizes_bytes,
                                       std::int64_t first_cap_bytes, std::int64_t cap_bytes) {
  std::vector<PlannedBucket> out;
  PlannedBucket open;
  for (const std::int64_t bytes : sizes_bytes) {
    ++open.count;
    open.bytes += bytes;
    if (open.bytes < (out.empty() ? std::min(first_cap_bytes, cap_bytes) : cap_bytes)) continue;
    out.push_back(open);
    open = {.first = open.first + open.count};
  }
  if (open.count > 0) out.push_back(open);
  return out;
}

std::string plan_text(const std::vector<PlannedBucket>& plan) {
  std::vector<std::string> buckets;
  for (const PlannedBucket& bucket : plan) {
    buckets.push_back(bucket.count == 0 ? "an empty one"
                      : bucket.count == 1
                          ? fmt::format("{}", bucket.first)
                          : fmt::format("{}-{}", bucket.first, bucket.first + bucket.count - 1));
  }
  return buckets.empty() ? "none" : joined(buckets);
}

std::vector<std::int64_t> gradient_bytes(const VitShape& shape, bool joins_qkv) {
  std::vector<std::int64_t> out;
  for (const GradientMatrix& matrix : gradient_matrices(shape, joins_qkv))
    out.push_back(matrix.count() * static_cast<std::int64_t>(sizeof(float)));
  return out;
}

}  // namespace isobar
