#pragma once
// The ranks that train together, and this rank's groups among them.
#include <optional>
#include <string>

#include "comm/comm.h"
#include "run/run_plan.h"

namespace isobar {

class RankGroups {
 public:
  /// A process alone is a group of one.
  RankGroups() = default;
  /// Meets the other ranks of `plan`, which may take long and can be stopped by a signal. Error (exit code 2)
  /// when the lesson trains on one rank (`join_ranks` is null), or when ranks were started with different
  /// configurations, programs or checkpoints.
  RankGroups(const RunPlan& plan, JoinRanks join_ranks);

  Comm& world() { return world_; }
  /// Along an axis of the mesh (launch/mesh.h): "tp" = the ranks that share its layers, "cp" = those that
  /// share its tokens, "pp" = those that have the stages of its model, in their order, "dp" = those that hold
  /// the same piece of their models, see the same tokens and average its gradients, "dp-cp" = all that hold
  /// the same weights, "ens" = those of "dp" whose models forecast the same samples, "data" = those of "dp"
  /// that read samples of their own, "read" = neighbours in one model that read together (data.read_group),
  /// "shard" = neighbours of "dp", which hold one set of states between them (mesh.shard; they count as a
  /// node, with comm.node_link), "copies" = those of "dp" that hold the same share of the states. Where
  /// mesh.shard = 0 "shard" is "dp" itself, and "data" is where each model forecasts by itself.
  Comm& along(const std::string& axis);
  Comm& model() { return model_; }
  /// Whether this rank prints: one of several does.
  bool speaks() const { return world_.rank() == 0; }

 private:
  Comm world_;
  Comm model_;
  Comm context_;
  Comm stages_;
  Comm ensemble_;
  Comm readers_;
  std::optional<Comm> replicas_;  ///< empty = all ranks hold the same
  std::optional<Comm> holders_;   ///< empty = all ranks where they share tokens, else the replicas
  std::optional<Comm> data_;      ///< empty = all replicas
  std::optional<Comm> shard_;     ///< empty = all replicas
  Comm copies_;
};

}  // namespace isobar
