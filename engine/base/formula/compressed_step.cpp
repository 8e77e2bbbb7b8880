#include "formula/compressed_step.h"

#include <algorithm>
#include <cmath>

namespace isobar {
namespace {

constexpr double kLateShare = 1.0 / 3;
constexpr double kSlowest = 1e-3, kFastest = 1e3;  // Gb/s

/// Shares of the gradients, by bucket.
std::vector<double> shares_of(const StepMessages& messages) {
  std::vector<double> out;
  double before = 0;
  for (const PlannedMessage& message : messages) {
    if (message.is_second) continue;
    out.push_back(message.ready - before);
    before = message.ready;
  }
  return out;
}

/// Messages of each bucket.
std::vector<int> messages_by_bucket(const StepMessages& messages, std::size_t buckets) {
  std::vector<int> out(buckets);
  for (const PlannedMessage& message : messages) ++out[message.bucket];
  return out;
}

double turn_us(const SchemeStep& step, const StepMessages& messages, const Link& link, int ranks) {
  const std::vector<double> shares = shares_of(messages);
  const std::vector<int> parts = messages_by_bucket(messages, shares.size());
  std::vector<double> sums_us(shares.size());  // when the last sum of a bucket is there
  const double backward_us = step.computing.backward_us;
  double host_us = 0, done = 0, link_us = 0;
  for (const PlannedMessage& message : messages) {
    host_us += backward_us * (message.ready - done);
    done = message.ready;
    double& sum_us = sums_us[message.bucket];
    if (message.is_second) host_us = std::max(host_us, sum_us);
    host_us += step.arithmetic_us * (1 - kLateShare) * shares[message.bucket] / parts[message.bucket];
    sum_us = link_us =
        std::max(host_us, link_us) + ring_all_reduce_us(link, ranks, static_cast<double>(message.bytes));
  }
  host_us += backward_us * (1 - done + step.computing.slowdown);
  for (std::size_t bucket = 0; bucket < shares.size(); ++bucket)
    host_us = std::max(host_us, sums_us[bucket]) + step.arithmetic_us * kLateShare * shares[bucket];
  return step.computing.forward_us + host_us + step.computing.optimize_us;
}

}  // namespace

double compressed_step_us(const SchemeStep& step, const Link& link, int ranks) {
  double sum = 0;
  for (const StepMessages& messages : step.turns) sum += turn_us(step, messages, link, ranks);
  return sum / static_cast<double>(step.turns.size());
}

std::optional<double> crossing_gbit_per_s(const SchemeStep& one, const SchemeStep& other, double latency_us,
                                          int ranks) {
  const auto difference_us = [&](double gbit_per_s) {
    const Link link = link_of(latency_us, gbit_per_s);
    return compressed_step_us(one, link, ranks) - compressed_step_us(other, link, ranks);
  };
  double low = kSlowest, high = kFastest;
  const bool is_slower = difference_us(low) > 0;
  if (difference_us(low) == 0 || is_slower == (difference_us(high) > 0)) return std::nullopt;
  while (high / low > 1 + 1e-9) {
    const double middle = std::sqrt(low * high);
    ((difference_us(middle) > 0) == is_slower ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

}  // namespace isobar
