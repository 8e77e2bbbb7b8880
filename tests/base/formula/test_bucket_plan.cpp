// Buckets of gradients against the published plans of the course's models.
#include <numeric>

#include "formula/bucket_plan.h"
#include "formula/vit_counts.h"
#include "support/catch.h"

namespace isobar::test_bucket_plan {

namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::vector<double> megabytes(const VitShape& shape, double cap_mib, double first_mib = 1,
                              bool joins_qkv = false) {
  std::vector<double> out;
  for (const PlannedBucket& bucket :
       bucket_plan(gradient_bytes(shape, joins_qkv), static_cast<std::int64_t>(first_mib * kMiB),
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

TEST_CASE("q, k and v that are joined are one gradient of weights and one of biases: fewer small buckets") {
  const auto calls = [](double cap_mib) { return megabytes(kBase, cap_mib, 1, /*joins_qkv=*/true).size(); };
  CHECK(calls(0.25) == 51);
  CHECK(calls(1) == 39);
  CHECK(calls(5) == 14);
  CHECK(calls(25) == 5);
  CHECK(megabytes(kTiny, 0.25, 1, /*joins_qkv=*/true).size() == 9);
}

TEST_CASE("the gradients of a model are as many bytes as its parameters, the head first, positions last") {
  for (const VitShape& shape : {kBase, kMp, kTiny}) {
    for (const bool joined : {false, true}) {
      const std::vector<std::int64_t> bytes = gradient_bytes(shape, joined);
      CHECK(bytes.size() == static_cast<std::size_t>((joined ? 12 : 16) * shape.depth + 6));
      CHECK(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}) ==
            4 * count_parameters(shape).total());
      CHECK(bytes.front() == 4 * count_parameters(shape).head);
      CHECK(bytes.back() == 4 * count_parameters(shape).positions);
    }
  }
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

}  // namespace isobar::test_bucket_plan
