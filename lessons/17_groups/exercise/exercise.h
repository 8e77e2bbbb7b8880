#pragma once
// What is given and what is promised in the exercise of lesson 17. You write my/17_groups.cpp.
#include <string>
#include <vector>

namespace isobar::exercise {

/// Given: an axis of a mesh of ranks.
struct GroupAxis {
  std::string name = {};
  int size = 1;    ///< places on it
  int stride = 0;  ///< from a rank to the next one on this axis, as with_strides() has it
  double gb = 0;   ///< what each rank sends along it in a step, to the next rank of its group

  bool operator==(const GroupAxis&) const = default;
};

/// Given: ranks of each group, in rising order; groups by their first rank.
using GroupList = std::vector<std::vector<int>>;

/// Given: what a job states, in the words of anemoi. Its numbers are 1 or more.
struct GroupJob {
  int gpus = 1;
  int gpus_per_model = 1;
  int gpus_per_ensemble = 1;  ///< those of one model where there are no ensembles
  int read_group_size = 1;    ///< ranks of a model that read together
  int members_per_device = 1;
  int batch_size = 1;  ///< samples that the loader of a replica hands out
  int accum_grad_batches = 1;
};

/// Given: what is wrong with the sizes of a job.
enum class GroupRefusal {
  none,
  model,     ///< models are no whole number
  ensemble,  ///< an ensemble is no whole number of models
  replicas,  ///< ensembles are no whole number
  readers    ///< a model is no whole number of read groups
};

/// Given: what follows from the sizes of a job that is not refused.
struct GroupCounts {
  int models_of_ensemble = 0;
  int replicas = 0;  ///< each has samples of its own
  int members = 0;   ///< members of an ensemble
  int batch = 0;     ///< samples of an update of the weights

  bool operator==(const GroupCounts&) const = default;
};

/// Given: rows of a field, from `first` on.
struct GroupBand {
  int first = 0;
  int count = 0;

  bool operator==(const GroupBand&) const = default;
};

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// The axes with their strides. The first one varies fastest: on it neighbours are one rank apart.
std::vector<exercise::GroupAxis> with_strides(std::vector<exercise::GroupAxis> order);

/// Where a rank stands on an axis, from 0.
int place_on(int rank, const exercise::GroupAxis& axis);

/// All groups of ranks 0 ... ranks - 1 that differ on the axes of `along` only. Each rank is in one.
exercise::GroupList groups_along(int ranks, const std::vector<exercise::GroupAxis>& along);

/// The first thing that is wrong, in the order of GroupRefusal.
exercise::GroupRefusal refusal_of(const exercise::GroupJob& job);

/// Numbers of a job that is not refused.
exercise::GroupCounts counts_of(const exercise::GroupJob& job);

/// The axes "model", "ens" and "data" of a job, with strides: neighbours hold a model, neighbouring models
/// are an ensemble, and ensembles read samples of their own. `gb` is 0.
std::vector<exercise::GroupAxis> axes_of(const exercise::GroupJob& job);

/// Who reads together: neighbours within a model.
exercise::GroupList read_groups(const exercise::GroupJob& job);

/// The band of latitudes of one of `readers`, which divide the rows of a field.
exercise::GroupBand band_of(int reader, int readers, int rows);

/// GB that leave a node in a step along an axis, the mean of all nodes of `node` neighbouring ranks. In each
/// group a rank sends to the next one, the last one to the first.
double leaves_node(int ranks, int node, const exercise::GroupAxis& axis);

/// The axes in an order, with strides, in which least leaves a node, all axes together.
std::vector<exercise::GroupAxis> best_order(std::vector<exercise::GroupAxis> axes, int node);

}  // namespace isobar::mine
