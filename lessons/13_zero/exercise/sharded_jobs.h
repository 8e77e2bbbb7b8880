#pragma once
// What ranks have before a step and what they have behind it, worked out by one process and by the part.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "13_zero/exercise/part.h"
#include "13_zero/exercise/watched_shares.h"
#include "core/text.h"

namespace isobar::exercise {

using Sizes = std::vector<std::int64_t>;
using Row = std::vector<float>;

inline std::int64_t values_of(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

inline std::int64_t right_length(std::int64_t values, int ranks) {
  const std::int64_t unit = ranks * kShareUnit;
  return (values + unit - 1) / unit * unit;
}

/// Numbers that look random and are the same everywhere.
inline Row numbers(std::int64_t count, double seed) {
  Row out;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<float>(std::sin(static_cast<double>(i * i + 1) * 0.37 + 5 * seed)));
  return out;
}

/// What all ranks have before a step: buckets with so many values each.
struct ShareJob {
  Sizes values;
  int ranks;

  std::int64_t share(std::size_t bucket) const { return right_length(values[bucket], ranks) / ranks; }
  Row padded(std::size_t bucket, double seed) const {
    Row out = numbers(values[bucket], seed);
    out.resize(static_cast<std::size_t>(right_length(values[bucket], ranks)));
    return out;
  }
  Row weights(std::size_t bucket) const { return padded(bucket, 0.1 + static_cast<double>(bucket)); }
  Row gradients(std::size_t bucket, int rank) const {
    return padded(bucket, 0.4 + static_cast<double>(bucket) + 0.01 * rank);
  }
  Row mean(std::size_t bucket) const {
    Row out(weights(bucket).size());
    for (int rank = 0; rank < ranks; ++rank) {
      const Row own = gradients(bucket, rank);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += own[i];
    }
    for (float& value : out) value /= static_cast<float>(ranks);
    return out;
  }
  Row own(const Row& whole, std::size_t bucket, int rank) const {
    const auto begin = whole.begin() + rank * share(bucket);
    return {begin, begin + share(bucket)};
  }
  /// The length of the mean gradient, or of a rank's share of it.
  double length(int rank = -1) const {
    double squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      for (const double one : rank < 0 ? mean(i) : own(mean(i), i, rank)) squares += one * one;
    return std::sqrt(squares);
  }
  std::string words() const { return fmt::format("buckets of {} values on {} ranks", joined(values), ranks); }
};

/// One value on three ranks and 33 on four leave some of them nothing but padding.
inline std::vector<ShareJob> jobs() { return {{{70, 33}, 2}, {{33, 200, 1}, 3}, {{33, 130}, 4}, {{20}, 1}}; }

/// The buckets of one rank, in memory of their own.
struct HeldBuckets {
  explicit HeldBuckets(const ShareJob& job, int rank) {
    for (std::size_t i = 0; i < job.values.size(); ++i) {
      weights.push_back(job.weights(i));
      gradients.push_back(job.gradients(i, rank));
    }
    for (std::size_t i = 0; i < weights.size(); ++i) buckets.push_back({weights[i], gradients[i]});
  }
  HeldBuckets(const HeldBuckets&) = delete;

  std::vector<Row> weights, gradients;
  std::vector<ZeroBucket> buckets;
};

/// The weights of one bucket behind a step, with a factor for the mean gradient of each owner's share.
inline Row stepped(const ShareJob& job, std::size_t bucket, const std::vector<double>& factors) {
  Row out = job.weights(bucket);
  const Row gradients = job.mean(bucket);
  const auto share = static_cast<std::size_t>(job.share(bucket));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] -= static_cast<float>(0.5 * factors[i / share] * gradients[i]);
  return out;
}

/// One step of all ranks: an update takes off half a gradient.
struct SteppedRanks {
  SteppedRanks(const Part& part, const ShareJob& job, double most)
      : ranks(job.ranks), updates(seats()), weights(seats()) {
    ranks.run([&](ShareRanks& own) {
      const auto at = static_cast<std::size_t>(own.rank());
      HeldBuckets held(job, own.rank());
      const UpdateShare update = [&](std::size_t bucket, std::span<float> of, std::span<const float> by) {
        updates[at].push_back({bucket, of.size(), by.size()});
        for (std::size_t i = 0; i < std::min(of.size(), by.size()); ++i) of[i] -= 0.5F * by[i];
      };
      part.sharded_step(held.buckets, most, update, own);
      weights[at] = held.weights;
    });
  }
  std::size_t seats() const { return static_cast<std::size_t>(ranks.count()); }

  struct Update {
    std::size_t bucket = 0, weights = 0, gradients = 0;
  };
  WatchedShares ranks;
  std::vector<std::vector<Update>> updates;
  std::vector<std::vector<Row>> weights;
};

}  // namespace isobar::exercise
