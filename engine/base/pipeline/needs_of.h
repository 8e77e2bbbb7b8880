#pragma once
// What an action needs, found without a search of its rank's row. For pipeline/*.cpp.
#include <array>
#include <vector>

#include "pipeline/schedule.h"

namespace isobar {

/// Where each action stands. Stages and micro-batches lie within the schedule's numbers.
class ActionTable {
 public:
  explicit ActionTable(const PipelineSchedule& schedule);

  /// Position in its rank's row; -1 where it is missing. Of an action that is there twice, the first.
  int at(const PipelineAction& action) const { return positions_[index(action)]; }
  bool has(const PipelineAction& action) const { return at(action) >= 0; }
  int rank_of(const PipelineAction& action) const {
    return schedule_.rank_of_stage[static_cast<std::size_t>(action.stage)];
  }
  /// By stage, work and micro-batch.
  std::size_t index(const PipelineAction& action) const;
  std::size_t size() const { return positions_.size(); }

  struct Needs {
    std::array<PipelineAction, 2> actions = {};
    int count = 0;
  };
  /// What comes before it, in its own stage first: F before B and I, I before W, and what the neighbouring
  /// stage hands over.
  Needs needs_of(const PipelineAction& action) const;

 private:
  const PipelineSchedule& schedule_;
  std::vector<int> positions_;
};

}  // namespace isobar
