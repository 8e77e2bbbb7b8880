// Lesson 17: who works with whom, and which axis goes over which link.
// What is given and promised stands in exercise.h; ./isobar check 17_groups looks at what you wrote.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "17_groups/exercise/exercise.h"

namespace isobar::mine {

using namespace exercise;

std::vector<GroupAxis> with_strides(std::vector<GroupAxis> order) {
  // BEGIN How many ranks are between neighbours on an axis? By which axes is that settled?
  int stride = 1;
  for (GroupAxis& axis : order) {
    axis.stride = stride;
    stride *= axis.size;
  }
  // END
  return order;
}

int place_on(int rank, const GroupAxis& axis) {
  // BEGIN By strides, and then as a place: it begins again behind the last one.
  //> return 0;
  return rank / axis.stride % axis.size;
  // END
}

GroupList groups_along(int ranks, const std::vector<GroupAxis>& along) {
  std::map<int, std::vector<int>> by_first;  // groups by their first rank
  // BEGIN Which rank of its group has place 0 on all of these axes?
  for (int rank = 0; rank < ranks; ++rank) {
    int first = rank;
    for (const GroupAxis& axis : along) first -= place_on(rank, axis) * axis.stride;
    by_first[first].push_back(rank);
  }
  // END
  GroupList groups;
  for (const auto& [first, group] : by_first) groups.push_back(group);
  return groups;
}

GroupRefusal refusal_of(const GroupJob& job) {
  // BEGIN Four rules, each of which is one remainder.
  if (job.gpus % job.gpus_per_model != 0) return GroupRefusal::model;
  if (job.gpus_per_ensemble % job.gpus_per_model != 0) return GroupRefusal::ensemble;
  if (job.gpus % job.gpus_per_ensemble != 0) return GroupRefusal::replicas;
  if (job.gpus_per_model % job.read_group_size != 0) return GroupRefusal::readers;
  // END
  return GroupRefusal::none;
}

GroupCounts counts_of(const GroupJob& job) {
  GroupCounts counts;
  // BEGIN Models of an ensemble first. Who has samples of its own?
  counts.models_of_ensemble = job.gpus_per_ensemble / job.gpus_per_model;
  counts.replicas = job.gpus / job.gpus_per_ensemble;
  counts.members = job.members_per_device * counts.models_of_ensemble;
  counts.batch = job.batch_size * counts.replicas * job.accum_grad_batches;
  // END
  return counts;
}

std::vector<GroupAxis> axes_of(const GroupJob& job) {
  std::vector<GroupAxis> axes;
  // BEGIN Three axes, the one of neighbours first.
  axes.push_back({.name = "model", .size = job.gpus_per_model});
  axes.push_back({.name = "ens", .size = job.gpus_per_ensemble / job.gpus_per_model});
  axes.push_back({.name = "data", .size = job.gpus / job.gpus_per_ensemble});
  axes = with_strides(axes);
  // END
  return axes;
}

GroupList read_groups(const GroupJob& job) {
  GroupList groups;
  // BEGIN Models are neighbours, and readers divide a model.
  for (int first = 0; first < job.gpus; first += job.read_group_size) {
    groups.emplace_back(job.read_group_size);
    std::iota(groups.back().begin(), groups.back().end(), first);
  }
  // END
  return groups;
}

GroupBand band_of(int reader, int readers, int rows) {
  GroupBand band;
  // BEGIN From which row on, and how many?
  band.count = rows / readers;
  band.first = reader * band.count;
  // END
  return band;
}

double leaves_node(int ranks, int node, const GroupAxis& axis) {
  double gb = 0;
  // BEGIN Go round each group: which steps lead to another node?
  for (const std::vector<int>& group : groups_along(ranks, {axis})) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      const int next = group[(i + 1) % group.size()];
      if (group[i] / node != next / node) gb += axis.gb;
    }
  }
  gb /= ranks / node;
  // END
  return gb;
}

std::vector<GroupAxis> best_order(std::vector<GroupAxis> axes, int node) {
  int ranks = 1;
  for (const GroupAxis& axis : axes) ranks *= axis.size;
  const auto by_name = [](const GroupAxis& a, const GroupAxis& b) { return a.name < b.name; };
  std::sort(axes.begin(), axes.end(), by_name);
  std::vector<GroupAxis> best = axes;
  double least = std::numeric_limits<double>::infinity();
  do {
    // BEGIN This is one order. What leaves a node with it, and is it the best one so far?
    const std::vector<GroupAxis> mesh = with_strides(axes);
    double gb = 0;
    for (const GroupAxis& axis : mesh) gb += leaves_node(ranks, node, axis);
    if (gb < least) {
      least = gb;
      best = mesh;
    }
    // END
  } while (std::next_permutation(axes.begin(), axes.end(), by_name));
  return best;
}

}  // namespace isobar::mine
