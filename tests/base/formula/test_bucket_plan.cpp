// Buckets of gradients against the published plans of the course's models.
#include <algorithm>

#include "formula/bucket_plan.h"
#include "formula/vit_counts.h"
#include "support/catch.h"

using namespace isobar;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// Bytes of all gradients, from the last parameter to the first.
std::vector<std::int64_t> reversed_sizes(const VitShape& shape) {
  const std::int64_t e = shape.embed;
  const std::int64_t values = shape.channels * shape.patch * shape.patch;
  std::vector<std::int64_t> out = {shape.tokens() * e, e * values, e};
  for (std::int64_t block = 0; block < shape.depth; ++block) {
    out.insert(out.end(), {e, e});                                  // norm1
    for (int i = 0; i < 4; ++i) out.insert(out.end(), {e * e, e});  // q, k, v, proj
    out.insert(out.end(), {e, e, 4 * e * e, 4 * e, 4 * e * e, e});  // norm2, fc1, fc2
  }
  out.insert(out.end(), {e, e, values * e});  // norm, head
  for (std::int64_t& size : out) size *= 4;
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<double> megabytes(const VitShape& shape, double cap_mib, double first_mib = 1) {
  std::vector<double> out;
  for (const PlannedBucket& bucket :
       bucket_plan(reversed_sizes(shape), static_cast<std::int64_t>(first_mib * kMiB),
                   static_cast<std::int64_t>(cap_mib * kMiB)))
    out.push_back(static_cast<double>(bucket.bytes) * 1e-6);
  return out;
}

constexpr VitShape kBase = {};
constexpr VitShape kMp = {.patch = 4, .embed = 1024};
constexpr VitShape kTiny = {.height = 72, .width = 144, .embed = 96, .depth = 4, .heads = 2};

}  // namespace

TEST_CASE("the published plans come out") {
  const std::vector<double> base = megabytes(kBase, 25);
  const std::vector<double> published = {1.97, 26.6, 27.8, 28.4, 10.6};
  REQUIRE(base.size() == published.size());
  for (std::size_t i = 0; i < base.size(); ++i) CHECK(base[i] == Approx(published[i]).margin(0.05));
  CHECK(megabytes(kBase, 5).size() == 14);
  CHECK(megabytes(kBase, 1).size() == 51);
  CHECK(megabytes(kBase, 100).size() == 2);
  CHECK(megabytes(kMp, 25).size() == 20);
  CHECK(megabytes(kTiny, 0.25).size() == 9);
  CHECK(megabytes(kTiny, 1).size() == 3);
  CHECK(megabytes(kTiny, 25, 25).size() == 1);
}

TEST_CASE("every gradient is in one bucket, and only the last may be short") {
  const std::vector<std::int64_t> sizes = {7, 1, 1, 100, 3, 3, 3, 3, 1};
  const std::vector<PlannedBucket> plan = bucket_plan(sizes, 5, 9);
  std::size_t next = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    CHECK(plan[i].first == next);
    next += plan[i].count;
    if (i + 1 < plan.size()) CHECK(plan[i].bytes >= (i == 0 ? 5 : 9));
  }
  CHECK(next == sizes.size());
  CHECK(plan.size() == 4);                               // 7 | 1 1 100 | 3 3 3 | 3 1
  CHECK(bucket_plan(sizes, 100, 9).front().bytes == 9);  // the smaller cap counts
  CHECK(bucket_plan({}, 5, 9).empty());
}
