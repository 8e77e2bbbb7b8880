#pragma once
// Which ranks work together on what: a mesh of the axes tensor (tp), context (cp), pipeline (pp) and data
// (dp) parallel, with ensembles (ens) in dp, and runs of ranks. Arithmetic only; comm makes groups of them.
#include <string>
#include <string_view>
#include <vector>

#include "core/seam.h"

namespace isobar {

/// Neighbours on an axis of the mesh are `stride` ranks apart.
struct MeshAxis {
  std::string name = {};
  int size = 1;
  int stride = 1;
};

/// The groups of ranks 0 ... world - 1 that differ on these axes only, each in rising order, by their first
/// rank.
std::vector<std::vector<int>> groups_along(int world, const std::vector<MeshAxis>& axes);

namespace seams {
/// Who works together, for Mesh::groups.
inline constinit Seam<std::vector<std::vector<int>>(int world, const std::vector<MeshAxis>& axes)>
    groups_along{isobar::groups_along};
}  // namespace seams

struct MeshSizes {
  int tp = 1;
  int cp = 1;
  int pp = 1;
  int dp = 1;
  int shard = 0;  ///< neighbours along dp that share one set of states; 0 = all of dp
  int ens = 1;    ///< neighbours along dp whose models forecast the same samples
};

class Mesh {
 public:
  /// `order` names axes, the first varies fastest from rank to rank, so that its neighbours share a machine:
  /// with "tp-cp-pp-dp" rank = tp + tp_size (cp + cp_size (pp + pp_size dp)). Axes that it leaves out come
  /// last and have size 1. dp is two axes within one, dp = shard + shard_size copies: "shard" has
  /// neighbours, and "copies" the ranks that stand alike in their shard groups; in the same way
  /// dp = ens + ens_size data: "ens" has the models of one ensemble, "data" those that stand alike in
  /// theirs, which read samples of their own. Error (exit code 2): an unknown axis or one named twice, one
  /// that is left out and larger than 1, sizes whose product is not `world`, a shard or an ens that does not
  /// divide dp.
  Mesh(const std::string& order, const MeshSizes& sizes, int world);

  int world() const { return world_; }
  int size(std::string_view axis) const;
  /// Where `rank` stands on this axis, from 0.
  int coordinate(int rank, std::string_view axis) const;

  /// The groups of ranks that differ in `axes` only ("dp", "tp-cp", "shard"), each in rising order, by their
  /// first rank. Every rank is in exactly one.
  std::vector<std::vector<int>> groups(const std::string& axes) const;
  /// The one that `rank` is in.
  std::vector<int> group_of(int rank, const std::string& axes) const;
  /// groups(axes), each cut in runs of `size` ranks, which divides their length: Error (exit code 1).
  std::vector<std::vector<int>> runs(const std::string& axes, int size) const;

 private:
  /// dp as two axes within one, `inner` of this size and `outer`.
  void split_dp(const char* inner, const char* outer, int size, const char* key);
  const MeshAxis& axis(std::string_view name) const;

  int world_;
  std::vector<MeshAxis> axes_;
};

}  // namespace isobar
