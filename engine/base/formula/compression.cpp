#include "formula/compression.h"

#include <algorithm>
#include <numeric>

#include "formula/bucket_plan.h"

namespace isobar {
namespace {

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));
constexpr std::int64_t kHalfBytes = 2;

std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

std::vector<std::int64_t> counts_of(const std::vector<GradientMatrix>& gradients) {
  std::vector<std::int64_t> out;
  for (const GradientMatrix& matrix : gradients) out.push_back(matrix.count());
  return out;
}

std::vector<PlannedBucket> plan_of(std::vector<std::int64_t> values, const CommConfig& config, double share) {
  for (std::int64_t& value : values) value *= kFloatBytes;
  const auto cap = [&](double mebi) {
    return static_cast<std::int64_t>(share * static_cast<double>(mebibytes(mebi)));
  };
  return bucket_plan(values, cap(config.first_bucket_mb), cap(config.bucket_mb));
}

/// One message a bucket, of so many bytes a value.
StepMessages messages_of(const std::vector<PlannedBucket>& plan, const std::vector<std::int64_t>& values,
                         const std::vector<std::int64_t>& counts, std::int64_t value_bytes) {
  const auto all = static_cast<double>(sum_of(counts));
  StepMessages out;
  std::int64_t there = 0;
  for (const PlannedBucket& bucket : plan) {
    PlannedMessage one{.bucket = out.size()};
    for (std::size_t i = bucket.first; i < bucket.first + bucket.count; ++i) {
      there += counts[i];
      one.bytes += values[i] * value_bytes;
    }
    one.ready = static_cast<double>(there) / all;
    out.push_back(one);
  }
  return out;
}

/// Each second message behind the first one of the bucket that follows.
StepMessages in_pairs(const StepMessages& first, const StepMessages& second) {
  StepMessages out;
  for (std::size_t bucket = 0; bucket <= first.size(); ++bucket) {
    if (bucket < first.size()) out.push_back(first[bucket]);
    if (bucket == 0 || second[bucket - 1].bytes == 0) continue;
    out.push_back(second[bucket - 1]);
    out.back().is_second = true;
    out.back().ready = first[std::min(bucket, first.size() - 1)].ready;
  }
  return out;
}

}  // namespace

bool is_compressed(const GradientMatrix& matrix, std::int64_t rank, double min_ratio) {
  if (matrix.rows == 1 || matrix.columns == 1) return false;
  const auto sent = static_cast<double>((matrix.rows + matrix.columns) * matrix.rank(rank));
  return sent * min_ratio < static_cast<double>(matrix.count());
}

std::vector<std::int64_t> sent_values(const std::vector<GradientMatrix>& gradients, const CommConfig& config,
                                      bool is_p, bool whole) {
  std::vector<std::int64_t> out;
  for (const GradientMatrix& matrix : gradients) {
    if (is_compressed(matrix, config.compress_rank, config.compress_min_ratio))
      out.push_back(matrix.rank(config.compress_rank) * (is_p ? matrix.rows : matrix.columns));
    else
      out.push_back(whole ? matrix.count() : 0);
  }
  return out;
}

std::vector<PlannedBucket> factor_plan(const std::vector<GradientMatrix>& gradients, const CommConfig& config,
                                       bool is_p) {
  const std::vector<std::int64_t> values = sent_values(gradients, config, is_p, /*whole=*/true);
  const double share =
      static_cast<double>(sum_of(values)) / static_cast<double>(sum_of(counts_of(gradients)));
  return plan_of(values, config, share);
}

std::vector<StepMessages> planned_messages(const std::vector<GradientMatrix>& gradients,
                                           const CommConfig& config) {
  const std::vector<std::int64_t> counts = counts_of(gradients);
  const std::vector<PlannedBucket> plan = plan_of(counts, config, 1);
  const auto sent = [&](bool is_p, bool whole) { return sent_values(gradients, config, is_p, whole); };
  switch (config.compress) {
    case CompressKind::none:
      return {messages_of(plan, counts, counts, kFloatBytes)};
    case CompressKind::fp16:
    case CompressKind::bf16:
      return {messages_of(plan, counts, counts, kHalfBytes)};
    case CompressKind::powersgd:
      return {in_pairs(messages_of(plan, sent(/*is_p=*/true, /*whole=*/true), counts, kFloatBytes),
                       messages_of(plan, sent(/*is_p=*/false, /*whole=*/false), counts, kFloatBytes))};
    case CompressKind::acpsgd:
      break;
  }
  std::vector<StepMessages> out;
  for (const bool is_p : {true, false}) {
    const std::vector<PlannedBucket> own = factor_plan(gradients, config, is_p);
    out.push_back(messages_of(own, sent(is_p, /*whole=*/true), counts, kFloatBytes));
  }
  return out;
}

double bytes_a_step(const std::vector<StepMessages>& steps) {
  double sum = 0;
  for (const StepMessages& step : steps)
    for (const PlannedMessage& message : step) sum += static_cast<double>(message.bytes);
  return sum / static_cast<double>(steps.size());
}

double calls_a_step(const std::vector<StepMessages>& steps) {
  std::size_t sum = 0;
  for (const StepMessages& step : steps) sum += step.size();
  return static_cast<double>(sum) / static_cast<double>(steps.size());
}

}  // namespace isobar
