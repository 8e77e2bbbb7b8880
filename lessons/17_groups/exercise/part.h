#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "17_groups/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::vector<GroupAxis> (*with_strides)(std::vector<GroupAxis> order);
  int (*place_on)(int rank, const GroupAxis& axis);
  GroupList (*groups_along)(int ranks, const std::vector<GroupAxis>& along);
  GroupRefusal (*refusal_of)(const GroupJob& job);
  GroupCounts (*counts_of)(const GroupJob& job);
  std::vector<GroupAxis> (*axes_of)(const GroupJob& job);
  GroupList (*read_groups)(const GroupJob& job);
  GroupBand (*band_of)(int reader, int readers, int rows);
  double (*leaves_node)(int ranks, int node, const GroupAxis& axis);
  std::vector<GroupAxis> (*best_order)(std::vector<GroupAxis> axes, int node);
};

}  // namespace isobar::exercise
