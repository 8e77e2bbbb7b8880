#pragma once
// The order in which samples are seen: the same on every rank, decided by (seed, epoch) alone.
#include <cstdint>
#include <vector>

namespace isobar {

class Sampler {
 public:
  /// Shard `shard` of `shards` takes every shards-th index: order[shard], order[shard + shards], ... so that
  /// step j of d shards with local batch b covers exactly order[j b d .. (j + 1) b d), the joint batch of one
  /// process.
  Sampler(std::int64_t samples, bool shuffle, std::int64_t seed, std::int64_t shard = 0,
          std::int64_t shards = 1);

  /// This shard's indices in epoch `epoch`: a permutation of 0..samples-1 drawn from (seed, epoch), or the
  /// plain order.
  std::vector<std::int64_t> order(std::int64_t epoch) const;

  std::int64_t shard_size() const;

 private:
  std::int64_t samples_;
  bool shuffle_;
  std::int64_t seed_;
  std::int64_t shard_;
  std::int64_t shards_;
};

}  // namespace isobar
