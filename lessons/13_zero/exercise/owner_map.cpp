// Lesson 13: who owns which values, and a step in which each rank updates only what it owns.
// What is given and promised stands in exercise.h; ./isobar check 13_zero looks at what you wrote.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "13_zero/exercise/exercise.h"

namespace isobar::mine {

using namespace exercise;

std::int64_t padded_length(std::int64_t values, int ranks) {
  // BEGIN All shares are equally long, and a multiple of kShareUnit. How long is the bucket then?
  //> return 0;
  const std::int64_t unit = ranks * kShareUnit;
  return (values + unit - 1) / unit * unit;
  // END
}

ValueRange share_of(std::int64_t padded, int ranks, int rank) {
  // BEGIN Where does the share of this rank begin, and how many values has it?
  //> return {};
  const std::int64_t count = padded / ranks;
  return {.begin = rank * count, .count = count};
  // END
}

int owner_of(const std::vector<std::int64_t>& sizes, int ranks, std::size_t parameter, std::int64_t value) {
  const std::int64_t values = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const ValueRange first = share_of(padded_length(values, ranks), ranks, 0);
  // BEGIN Where in the bucket does this value stand, and in whose share is that?
  //> return 0;
  const auto before = sizes.begin() + static_cast<std::ptrdiff_t>(parameter);
  const std::int64_t place = std::accumulate(sizes.begin(), before, value);
  return static_cast<int>(place / first.count);
  // END
}

std::vector<OwnedPart> owned_parts(const std::vector<std::int64_t>& sizes, int ranks, int rank) {
  const std::int64_t values = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const ValueRange share = share_of(padded_length(values, ranks), ranks, rank);
  std::vector<OwnedPart> parts;
  // BEGIN Walk through the parameters. Which values of each lie in the share, and where in it?
  std::int64_t begin = 0;  // where the parameter begins in the bucket
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t from = std::max(begin, share.begin);
    const std::int64_t to = std::min(begin + sizes[i], share.begin + share.count);
    if (from < to) parts.push_back({i, {from - begin, to - from}, from - share.begin});
    begin += sizes[i];
  }
  // END
  return parts;
}

std::vector<std::vector<float>> mean_shares(const std::vector<ZeroBucket>& buckets, ShareRanks& ranks) {
  std::vector<std::vector<float>> shares;
  // BEGIN Bucket by bucket: this rank's share of the sum of all gradients, and the mean.
  for (const ZeroBucket& bucket : buckets) {
    std::vector<float> share(bucket.gradients.size() / static_cast<std::size_t>(ranks.count()));
    ranks.reduce_scatter(bucket.gradients, share);
    for (float& gradient : share) gradient /= static_cast<float>(ranks.count());
    shares.push_back(std::move(share));
  }
  // END
  return shares;
}

double gradient_length(const std::vector<std::vector<float>>& shares, ShareRanks& ranks) {
  // BEGIN A rank has some of the squares. What is added up over the ranks, and when comes the root?
  //> return 0;
  double squares = 0;
  for (const std::vector<float>& share : shares)
    for (const double gradient : share) squares += gradient * gradient;
  return std::sqrt(ranks.sum(squares));
  // END
}

void sharded_step(const std::vector<ZeroBucket>& buckets, double most, const UpdateShare& update,
                  ShareRanks& ranks) {
  std::vector<std::vector<float>> shares = mean_shares(buckets, ranks);
  if (most > 0) {
    const double length = gradient_length(shares, ranks);
    // BEGIN All ranks shorten by one factor, and never lengthen.
    const auto factor = static_cast<float>(length > most ? most / length : 1);
    for (std::vector<float>& share : shares)
      for (float& gradient : share) gradient *= factor;
    // END
  }
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::span<float> weights = buckets[i].weights;
    const ValueRange own = share_of(static_cast<std::int64_t>(weights.size()), ranks.count(), ranks.rank());
    // BEGIN Update this rank's share of the weights, and give all ranks all of them.
    const std::span<float> share =
        weights.subspan(static_cast<std::size_t>(own.begin), static_cast<std::size_t>(own.count));
    update(i, share, shares[i]);
    ranks.all_gather(share, weights);
    // END
  }
}

}  // namespace isobar::mine
