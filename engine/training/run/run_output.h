#pragma once
// The journal of a run that trains with libtorch, and its log for TensorBoard.
#include <memory>
#include <string>
#include <vector>

#include "run/board.h"
#include "run/rank_groups.h"
#include "run/run_plan.h"
#include "running/run_journal.h"

namespace isobar {

class RunOutput : public RunJournal {
 public:
  /// Makes or takes the run folder (`run_dir`, or the one that is resumed; both empty: a new one below
  /// runs/), and writes run.toml and the first line of the stream. `command` is kept there. `console`
  /// outlives it.
  RunOutput(const RunPlan& plan, RankGroups& groups, Console& console, const std::filesystem::path& run_dir,
            const std::vector<std::string>& command);

  Board* board() { return board_.get(); }  ///< rank 0's; null on others

 private:
  void write_begin(const RunPlan& plan, const Comm& world);

  std::unique_ptr<Board> board_;
};

}  // namespace isobar
