#pragma once
// What is given and what is promised in the exercise of lesson 13. You write my/13_owner_map.cpp.
//
// A bucket holds the values of a few parameters, side by side, and padding behind them. It is cut into shares
// of one length, one for each rank: rank 0 owns the first, rank 1 the second. A share may end in the middle
// of a parameter.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace isobar::exercise {

/// Given: shares are as long as a multiple of this many float32 values, 64 bytes.
inline constexpr std::int64_t kShareUnit = 16;

/// The values [begin, begin + count).
struct ValueRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// What a rank owns of one parameter.
struct OwnedPart {
  std::size_t parameter = 0;  ///< its place among the parameters of the bucket
  ValueRange values = {};     ///< places in the parameter, seen as one row
  std::int64_t in_share = 0;  ///< where the first of them stands in the rank's share
};

/// Given: the ranks that share the states. Each of them asks for the same, in the same order, and waits for
/// the others.
class ShareRanks {
 public:
  virtual ~ShareRanks() = default;
  virtual int rank() const = 0;
  virtual int count() const = 0;
  /// `share` becomes this rank's share of the sum of all ranks' `bucket`, which is count() times as long.
  virtual void reduce_scatter(std::span<const float> bucket, std::span<float> share) = 0;
  /// `bucket` becomes the shares of all ranks, one behind the other. `share` may lie in it, at its place.
  virtual void all_gather(std::span<const float> share, std::span<float> bucket) = 0;
  /// The sum over all ranks.
  virtual double sum(double value) = 0;
};

/// Given: a bucket as one rank has it, padding included.
struct ZeroBucket {
  std::span<float> weights = {};          ///< equal on all ranks between two steps
  std::span<const float> gradients = {};  ///< for the mean loss of this rank's own samples; 0 in the padding
};

/// Given: the optimiser, which has moments for one share of each bucket. Updates `weights` by `gradients`;
/// once a step for each bucket, whose number is `bucket`.
using UpdateShare =
    std::function<void(std::size_t bucket, std::span<float> weights, std::span<const float> gradients)>;

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// Values of a bucket with its padding: the fewest that hold `values` and make shares of one length, a
/// multiple of kShareUnit.
std::int64_t padded_length(std::int64_t values, int ranks);

/// What of a bucket `rank` owns. `padded` is a padded length.
exercise::ValueRange share_of(std::int64_t padded, int ranks, int rank);

/// Which rank owns value `value` of parameter `parameter`. `sizes`: how many values each parameter has.
int owner_of(const std::vector<std::int64_t>& sizes, int ranks, std::size_t parameter, std::int64_t value);

/// What `rank` owns of which parameters of a bucket, in their order. No part is empty, and padding belongs to
/// none: a rank may own nothing else.
std::vector<exercise::OwnedPart> owned_parts(const std::vector<std::int64_t>& sizes, int ranks, int rank);

/// This rank's share of the mean gradient over all ranks, for each bucket.
std::vector<std::vector<float>> mean_shares(const std::vector<exercise::ZeroBucket>& buckets,
                                            exercise::ShareRanks& ranks);

/// The length of the whole model's gradient, the same on all ranks. `shares` is what mean_shares gave this
/// one. Squares are added up as double.
double gradient_length(const std::vector<std::vector<float>>& shares, exercise::ShareRanks& ranks);

/// One step of ZeRO-1: mean gradients; where `most` is above 0 and the whole gradient is longer, it is
/// shortened to the length `most`; each share of the weights is updated by its owner, and in the end all
/// ranks have all new weights. Each rank asks for the same even where its share is all padding.
void sharded_step(const std::vector<exercise::ZeroBucket>& buckets, double most,
                  const exercise::UpdateShare& update, exercise::ShareRanks& ranks);

}  // namespace isobar::mine
