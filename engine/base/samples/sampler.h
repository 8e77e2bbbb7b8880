#pragma once
// The order in which samples are seen: the same on every rank, decided by (seed, epoch) alone.
#include <cstdint>
#include <vector>

#include "config/config.h"

namespace isobar {

class Sampler {
 public:
  /// Shard `shard` of `shards` gets floor(samples / shards) indices, so that all have as many steps.
  ///
  /// `form` (data.shard): "strided" takes every shards-th: order[shard], order[shard + shards], ... so that
  /// step j of d shards with local batch b covers exactly order[j b d .. (j + 1) b d), the joint batch of one
  /// process. "contiguous" takes one stretch that begins at order[shard samples / shards]: neighbours stay
  /// together, and a step is another choice of samples than one process would make.
  Sampler(std::int64_t samples, bool shuffle, std::int64_t seed, std::int64_t shard = 0,
          std::int64_t shards = 1, ShardForm form = ShardForm::strided);

  /// The shard of a rank that scores: in the plain order.
  static Sampler in_order(std::int64_t samples, std::int64_t shard, std::int64_t shards);

  /// This shard's indices in epoch `epoch`: a permutation of 0..samples-1 drawn from (seed, epoch), or the
  /// plain order.
  std::vector<std::int64_t> order(std::int64_t epoch) const;

  std::int64_t shard_size() const { return samples_ / shards_; }

 private:
  std::int64_t samples_;
  bool shuffle_;
  std::int64_t seed_;
  std::int64_t shard_;
  std::int64_t shards_;
  bool contiguous_;
};

}  // namespace isobar
