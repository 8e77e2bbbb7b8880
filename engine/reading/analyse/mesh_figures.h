#pragma once
// The ranks of a configuration on its nodes: who works with whom along each axis of the mesh, what they send
// each other in a step, and whether it stays inside a node.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyse/ranks.h"
#include "config/config.h"
#include "config/lesson.h"
#include "core/json.h"
#include "launch/mesh.h"

namespace isobar {

/// Where ranks run.
struct RankNodes {
  std::vector<int> of_rank = {};        ///< from 0 on
  std::vector<std::string> names = {};  ///< hosts, where they are known

  int count() const;
  int most_ranks() const;  ///< most ranks of one node
  std::string name(int node) const;
};

/// So many neighbours on each node, fewer on the last one where they do not divide the ranks. Error (exit
/// code 2) for fewer than one.
RankNodes neighbours_on_nodes(int world, int per_node);

/// The mesh that a configuration asks for; errors are those of Mesh.
Mesh mesh_of(const Config& config);

/// What a step sends along one axis.
struct AxisFigures {
  std::string name = {};   ///< tp, cp, pp, dp, or within dp shard and copies; ens, read
  std::string words = {};  ///< what its ranks share
  int size = 1;
  std::vector<std::vector<int>> groups = {};  ///< each in rising order
  int across = 0;                             ///< groups on more than one node
  double bytes = 0;                           ///< a rank sends in a step, by formula: the mean over ranks
  std::optional<double> calls = {};           ///< a step and rank, by formula; nothing where there is none
  std::optional<double> measured_bytes = {}, measured_calls = {};
  std::vector<double> inside = {},
                      between = {};  ///< by node: bytes that its ranks send to its own, to others
  std::string problem = {};          ///< why it is placed badly; "" = it is not

  /// The group that `rank` is in: place in `groups`.
  std::size_t group_of(int rank) const;
};

/// A kind of link under its load in a step.
struct LinkLoad {
  int node = 0;                      ///< the one whose ranks send most over it
  std::vector<double> by_axis = {};  ///< bytes, in the order of MeshFigures::axes
  double total() const;
};

struct MeshFigures {
  int world = 1;
  std::string order = {};
  RankNodes nodes = {};
  std::vector<AxisFigures> axes = {};  ///< those of two ranks or more, in the order of the mesh
  bool is_measured = false;
  /// The order of axes under which the busiest node sends least to others, if that is half of this or less;
  /// "" = none is.
  std::string better_order = {};
  double better_between = 0;  ///< the least of all orders

  const AxisFigures* find(std::string_view axis) const;  ///< null = there is none
  LinkLoad inside() const;                               ///< ranks of one node
  LinkLoad between() const;                              ///< from a node to the others
};

/// Bytes by formula: tp by formula/tensor_parallel.h, cp by formula/context_parallel.h, dp and what it is
/// made of by formula/state_shares.h, or by the messages of comm.compress; pp has the residual stream and
/// its gradient over each boundary; ens gathers forecasts, and read gathers fields. A group's collectives go
/// round a ring of its ranks in rising order, all-to-all goes to all alike, a halo to both neighbours.
/// Error (exit code 2) for what is no mesh, for another number of ranks on nodes, and for a lesson without
/// the model that formulas are of.
MeshFigures mesh_figures(const LessonInfo& lesson, const Config& config, const RankNodes& nodes,
                         bool on_cuda = false);

/// The mesh of a run, on the hosts of its ranks, or with so many neighbours on each node; and what its ranks
/// sent, where they recorded it. `view` is read_ranks of the run. Error (exit code 2) also where its settings
/// are not of this version.
MeshFigures mesh_of_run(const std::filesystem::path& run, const std::string& lesson, bool on_cuda,
                        const RanksView& view, int per_node = 0);

/// "tp: 8 groups of 2 share the layers of a model, inside nodes; a rank sends ..."
std::string axis_sentence(const MeshFigures& mesh, const AxisFigures& axis);
/// What is placed badly, and an order that would be better.
std::vector<std::string> mesh_sentences(const MeshFigures& mesh);
Json mesh_json(const MeshFigures& mesh);

}  // namespace isobar
