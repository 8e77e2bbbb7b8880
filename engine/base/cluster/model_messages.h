#pragma once
// What the ranks of one model, and the models of one ensemble, send each other while they compute, as
// collectives of a cluster (cluster/collective.h has what their bytes are).
#include <string>
#include <vector>

#include "cluster/collective.h"
#include "formula/context_parallel.h"
#include "formula/group_traffic.h"
#include "formula/tensor_parallel.h"

namespace isobar {

struct AxisMessage {
  std::string axis;  ///< whose ranks take part: "tp", "cp", "ens"
  CollectiveKind what = CollectiveKind::all_reduce;
  double bytes = 0;
  // How often: in a forward pass, in a backward pass, behind the last one of a step.
  double forward = 0;
  double backward = 0;
  double behind = 0;
};

/// The messages of formula/context_parallel.h, in parts of the largest share. The form's passes are those of
/// `passes_a_step` passes here: a rollout has several in each. A message behind the last pass is that of all
/// stages together.
std::vector<AxisMessage> context_messages(const VitShape& shape, const ContextParallelForm& form,
                                          double passes_a_step);
/// Four all-reduces a block, as formula/tensor_parallel.h has them; layers of a published job may have more.
std::vector<AxisMessage> tensor_messages(const VitShape& shape, const TensorParallelForm& form,
                                         double passes_a_step);
/// Forecasts of all members, gathered for the loss.
std::vector<AxisMessage> ensemble_messages(const Config& config);

}  // namespace isobar
