#pragma once
// The journal of a run that trains with libtorch, and its log for TensorBoard.
#include <memory>

#include "run/board.h"
#include "run/rank_groups.h"
#include "run/run_plan.h"
#include "running/run_main.h"

namespace isobar {

class RunOutput : public RunJournal {
 public:
  /// Makes or takes the run folder, and writes run.toml and the first line of the stream. `console` outlives
  /// it.
  RunOutput(const RunStart& start, const RunPlan& plan, RankGroups& groups, Console& console);

  Board* board() { return board_.get(); }  ///< rank 0's; null on others

 private:
  void write_begin(const RunPlan& plan, const Comm& world);

  std::unique_ptr<Board> board_;
};

}  // namespace isobar
