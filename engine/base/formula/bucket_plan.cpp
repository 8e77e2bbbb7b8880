#include "formula/bucket_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

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

std::vector<std::int64_t> gradient_bytes(const VitShape& s, bool joins_qkv) {
  const std::int64_t e = s.embed, c = s.channels * s.patch * s.patch;
  std::vector<std::int64_t> values = {s.tokens() * e, e * c, e};
  for (std::int64_t block = 0; block < s.depth; ++block) {
    for (const std::int64_t norm : {e, e}) values.push_back(norm);
    const std::vector<std::int64_t> products =
        joins_qkv ? std::vector<std::int64_t>{3 * e, e} : std::vector<std::int64_t>(4, e);
    for (const std::int64_t rows : products) values.insert(values.end(), {rows * e, rows});
    for (const std::int64_t norm : {e, e}) values.push_back(norm);
    values.insert(values.end(), {4 * e * e, 4 * e, 4 * e * e, e});
  }
  values.insert(values.end(), {e, e, c * e});
  std::reverse(values.begin(), values.end());
  for (std::int64_t& value : values) value *= static_cast<std::int64_t>(sizeof(float));
  return values;
}

}  // namespace isobar
