#include "samples/sampler.h"

#include <numeric>
#include <utility>

#include "core/random.h"

namespace isobar {

Sampler::Sampler(std::int64_t samples, bool shuffle, std::int64_t seed, std::int64_t shard,
                 std::int64_t shards, ShardForm form)
    : samples_(samples),
      shuffle_(shuffle),
      seed_(seed),
      shard_(has_fault(Fault::same_shard) ? 0 : shard),
      shards_(shards),
      contiguous_(form == ShardForm::contiguous) {}

Sampler Sampler::in_order(std::int64_t samples, std::int64_t shard, std::int64_t shards) {
  Sampler out(samples, /*shuffle=*/false, /*seed=*/0, shard, shards);
  out.shard_ = shard;  // no fault strikes the scores
  return out;
}

std::vector<std::int64_t> Sampler::order(std::int64_t epoch) const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(samples_));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  if (shuffle_) {
    const std::uint64_t key =
        stream_key(static_cast<std::uint64_t>(seed_), "sampler") ^
        mixed_bits(static_cast<std::uint64_t>(has_fault(Fault::no_set_epoch) ? 0 : epoch));
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
