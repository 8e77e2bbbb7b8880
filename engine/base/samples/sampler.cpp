#include "samples/sampler.h"

#include <numeric>
#include <utility>

#include "core/random.h"

namespace isobar {

Sampler::Sampler(std::int64_t samples, bool shuffle, std::int64_t seed, std::int64_t shard,
                 std::int64_t shards, const ShardConfig& form)
    : samples_(samples),
      shuffle_(shuffle),
      seed_(seed),
      shard_(form.own ? shard : 0),
      shards_(shards),
      contiguous_(form.form == ShardForm::contiguous),
      by_epoch_(form.by_epoch) {}

Sampler Sampler::in_order(std::int64_t samples, std::int64_t shard, std::int64_t shards) {
  return {samples, /*shuffle=*/false, /*seed=*/0, shard, shards};
}

std::vector<std::int64_t> Sampler::order(std::int64_t epoch) const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(samples_));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  if (shuffle_) {
    const std::uint64_t key = stream_key(static_cast<std::uint64_t>(seed_), "sampler") ^
                              mixed_bits(static_cast<std::uint64_t>(by_epoch_ ? epoch : 0));
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below_at(key, i, i)]);
  }
  std::vector<std::int64_t> mine;
  mine.reserve(static_cast<std::size_t>(shard_size()));
  const std::int64_t first = contiguous_ ? shard_ * samples_ / shards_ : shard_;
  const std::int64_t stride = contiguous_ ? 1 : shards_;
  for (std::int64_t i = 0; i < shard_size(); ++i)
    mine.push_back(all[static_cast<std::size_t>(first + i * stride)]);
  return mine;
}

}  // namespace isobar
