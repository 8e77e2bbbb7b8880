#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "13_zero/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::int64_t (*padded_length)(std::int64_t values, int ranks);
  ValueRange (*share_of)(std::int64_t padded, int ranks, int rank);
  int (*owner_of)(const std::vector<std::int64_t>& sizes, int ranks, std::size_t parameter,
                  std::int64_t value);
  std::vector<OwnedPart> (*owned_parts)(const std::vector<std::int64_t>& sizes, int ranks, int rank);
  std::vector<std::vector<float>> (*mean_shares)(const std::vector<ZeroBucket>& buckets, ShareRanks& ranks);
  double (*gradient_length)(const std::vector<std::vector<float>>& shares, ShareRanks& ranks);
  void (*sharded_step)(const std::vector<ZeroBucket>& buckets, double most, const UpdateShare& update,
                       ShareRanks& ranks);
};

}  // namespace isobar::exercise
