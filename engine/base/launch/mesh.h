#pragma once
// Which ranks work together on what: a mesh of the axes tensor (tp), context (cp), pipeline (pp) and data
// (dp) parallel. Arithmetic only; comm makes groups of its lists.
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

struct MeshSizes {
  int tp = 1;
  int cp = 1;
  int pp = 1;
  int dp = 1;
  int shard = 0;  ///< neighbours along dp that share one set of states; 0 = all of dp
};

class Mesh {
 public:
  /// `order` names axes, the first varies fastest from rank to rank, so that its neighbours share a machine:
  /// with "tp-cp-pp-dp" rank = tp + tp_size (cp + cp_size (pp + pp_size dp)). Axes that it leaves out come
  /// last and have size 1. dp is two axes within one, dp = shard + shard_size copies: "shard" has
  /// neighbours, and "copies" the ranks that stand alike in their shard groups. Error (exit code 2): an
  /// unknown axis or one named twice, one that is left out and larger than 1, sizes whose product is not
  /// `world`, a shard that does not divide dp.
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

 private:
  struct Axis {
    std::string name;
    int size;
    int stride;
  };
  void split_dp(int shard);
  const Axis& axis(std::string_view name) const;

  int world_;
  std::vector<Axis> axes_;
};

}  // namespace isobar
