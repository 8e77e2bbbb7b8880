// What compressed gradients send, against the published figures of the course's models.
#include <cmath>
#include <numeric>

#include "formula/bucket_plan.h"
#include "formula/compression.h"
#include "support/catch.h"

namespace isobar::test_compression {

namespace {

using enum CompressKind;

constexpr VitShape kBase = {};
constexpr VitShape kMp = {.embed = 1024};
constexpr VitShape kTiny = {.height = 72, .width = 144, .embed = 96, .depth = 4, .heads = 2};

CommConfig scheme(CompressKind kind, std::int64_t rank = 4) {
  CommConfig out;
  out.compress = kind;
  out.compress_rank = rank;
  return out;
}

double megabytes(const std::vector<GradientMatrix>& gradients, const CommConfig& config) {
  return bytes_a_step(planned_messages(gradients, config)) * 1e-6;
}

double ratio(const std::vector<GradientMatrix>& gradients, CompressKind kind, std::int64_t rank) {
  return megabytes(gradients, scheme(none)) / megabytes(gradients, scheme(kind, rank));
}

double calls(const std::vector<GradientMatrix>& gradients, CompressKind kind, double bucket_mb) {
  CommConfig config = scheme(kind);
  config.bucket_mb = bucket_mb;
  return calls_a_step(planned_messages(gradients, config));
}

std::int64_t bytes_of(const StepMessages& step) {
  std::int64_t out = 0;
  for (const PlannedMessage& one : step) out += one.bytes;
  return out;
}

const std::vector<GradientMatrix> kSplit = gradient_matrices(kBase, /*joins_qkv=*/false);
const std::vector<GradientMatrix> kJoined = gradient_matrices(kBase, /*joins_qkv=*/true);

}  // namespace

TEST_CASE("bytes a step are the published ones, in MB of 10^6") {
  CHECK(megabytes(kSplit, scheme(none)) == Approx(95.3).margin(0.05));
  CHECK(megabytes(kSplit, scheme(bf16)) == megabytes(kSplit, scheme(none)) / 2);
  CHECK(megabytes(kSplit, scheme(fp16)) == megabytes(kSplit, scheme(none)) / 2);
  const std::int64_t ranks[] = {1, 2, 4};
  const double published_mb[] = {0.61, 0.97, 1.70}, published_ratio[] = {157, 98, 56};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(megabytes(kSplit, scheme(powersgd, ranks[i])) == Approx(published_mb[i]).margin(0.005));
    CHECK(std::round(ratio(kSplit, powersgd, ranks[i])) == published_ratio[i]);
  }
  CHECK(megabytes(kJoined, scheme(powersgd, 1)) == Approx(0.570).margin(0.0005));
  CHECK(megabytes(kJoined, scheme(powersgd, 4)) == Approx(1.548).margin(0.0005));
  CHECK(std::round(ratio(kJoined, powersgd, 1)) == 167);
  CHECK(std::round(ratio(kJoined, powersgd, 4)) == 62);
  CHECK(megabytes(kSplit, scheme(acpsgd, 4)) == Approx(0.97).margin(0.0005));
  CHECK(megabytes(kJoined, scheme(acpsgd, 4)) == Approx(0.896).margin(0.0005));
  CHECK(std::round(ratio(kSplit, acpsgd, 1)) == 224);
}

TEST_CASE("the wide model is compressed more, by the published factors") {
  const auto of = [](bool joined, std::int64_t rank) {
    return std::round(ratio(gradient_matrices(kMp, joined), powersgd, rank));
  };
  CHECK(of(false, 1) == 401);
  CHECK(of(false, 2) == 253);
  CHECK(of(false, 4) == 145);
  CHECK(of(true, 1) == 428);
  CHECK(of(true, 4) == 160);
}

TEST_CASE("positions as one row travel whole, which is most of what is sent") {
  const std::vector<GradientMatrix> flat = with_flat_positions(kSplit);
  CHECK(megabytes(flat, scheme(powersgd, 1)) == Approx(6.8).margin(0.05));
  CHECK(megabytes(flat, scheme(powersgd, 4)) == Approx(7.85).margin(0.005));
  CHECK(ratio(flat, powersgd, 4) == Approx(12.2).margin(0.05));
}

TEST_CASE("all-reduces a step: one a bucket, two with powersgd where it holds a matrix that is compressed") {
  for (const double bucket_mb : {0.25, 1.0, 5.0, 25.0}) {
    INFO(bucket_mb);
    const auto buckets = static_cast<double>(
        bucket_plan(gradient_bytes(kBase, true), mebibytes(1), mebibytes(bucket_mb)).size());
    CHECK(calls(kJoined, none, bucket_mb) == buckets);
    CHECK(calls(kJoined, bf16, bucket_mb) == buckets);
    CHECK(calls(kJoined, powersgd, bucket_mb) == 2 * buckets);
    // Small caps leave vectors alone, whose share of the payload is larger than that of the gradients.
    const double alternate = calls(kJoined, acpsgd, bucket_mb);
    CHECK((bucket_mb < 5 ? alternate > buckets : std::abs(alternate - buckets) <= 1));
  }
  // A vector in a bucket of its own needs no second message.
  const std::vector<GradientMatrix> few = {{.rows = 100, .columns = 100}, {.rows = 1, .columns = 10}};
  CHECK(calls(few, none, 1e-6) == 2);
  CHECK(calls(few, powersgd, 1e-6) == 3);
  CHECK(calls(few, acpsgd, 1e-6) == 2);
}

TEST_CASE("a second message is sent when the bucket behind it is full, and the last one at the end") {
  const std::vector<GradientMatrix> three(3, {.rows = 100, .columns = 60});
  CommConfig config = scheme(powersgd, 2);
  config.bucket_mb = 1e-6;
  const StepMessages step = planned_messages(three, config).front();
  REQUIRE(step.size() == 6);
  const std::size_t buckets[] = {0, 1, 0, 2, 1, 2};
  const bool is_second[] = {false, false, true, false, true, true};
  const double ready[] = {1, 2, 2, 3, 3, 3};
  for (std::size_t i = 0; i < 6; ++i) {
    INFO(i);
    CHECK(step[i].bucket == buckets[i]);
    CHECK(step[i].is_second == is_second[i]);
    CHECK(step[i].ready == Approx(ready[i] / 3));
    CHECK(step[i].bytes == (is_second[i] ? 60 : 100) * 2 * 4);
  }
}

TEST_CASE("steps of P and of Q are cut by themselves, at their share of the bytes") {
  for (const VitShape& shape : {kBase, kMp, kTiny}) {
    const std::vector<GradientMatrix> gradients = gradient_matrices(shape, true);
    const std::vector<StepMessages> steps = planned_messages(gradients, scheme(acpsgd));
    REQUIRE(steps.size() == 2);
    const StepMessages power = planned_messages(gradients, scheme(powersgd)).front();
    std::int64_t vectors = 0;
    for (const GradientMatrix& one : gradients)
      if (!is_compressed(one, 4, 2)) vectors += 4 * one.count();
    CHECK(bytes_of(steps[0]) + bytes_of(steps[1]) == bytes_of(power) + vectors);
    for (const StepMessages& step : steps) CHECK(step.back().ready == 1);
  }
  // Tall matrices make P large and Q small; the number of buckets stays.
  const std::vector<GradientMatrix> tall(8, {.rows = 4000, .columns = 20});
  CommConfig config = scheme(acpsgd, 2);
  config.bucket_mb = config.first_bucket_mb = 2 * 4000 * 20 * 4 / 1048576.0;
  const std::vector<StepMessages> steps = planned_messages(tall, config);
  CHECK(steps[0].size() == 4);
  CHECK(steps[1].size() == 4);
  CHECK(bytes_of(steps[0]) == 200 * bytes_of(steps[1]));
}

TEST_CASE("a rank above what pays sends all whole, in one message a bucket") {
  CommConfig config = scheme(powersgd, 10'000);
  CHECK(megabytes(kJoined, config) == megabytes(kJoined, scheme(none)));
  CHECK(planned_messages(kJoined, config).front().size() == 5);
  config.compress_min_ratio = 0;  // never asks whether it pays
  CHECK(megabytes(kJoined, config) > megabytes(kJoined, scheme(none)));
}

}  // namespace isobar::test_compression
