#pragma once
// The runs that are ticked, put together for comparing: repeats of one case, the base, what differs.
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "analyse/run_comparison.h"
#include "analyse/run_store.h"

namespace isobar {

using Runs = std::vector<std::shared_ptr<const RunEntry>>;

/// The ticked runs in ladder order: by lesson and preset, the oldest first, those of other programs last.
Runs ticked_runs(const StoreSnapshot& all, const std::set<std::string>& ticked);

/// Runs that may repeat a ticked one, by the facts in the list: to be opened, so that their settings
/// can be compared.
std::set<std::string> possible_repeats(const StoreSnapshot& all, const Runs& ticked);

/// The case of one open run by itself.
RunCase case_of(const RunEntry& run);

struct ComparedCase {
  std::shared_ptr<const RunEntry> run;  ///< the run that stands for it: the oldest ticked one
  RunCase figures;
  std::vector<std::string> ticked;  ///< ids
};

struct ComparedRuns {
  Runs ticked;
  Runs beside;                      ///< others that were looked at
  std::vector<ComparedCase> cases;  ///< the first is the base
  Runs
      shown;  ///< the run of each case, then ticked ones that are in none: not read yet, or of other programs
  std::vector<RunComparison> against;               ///< each case but the first, over the base
  std::vector<std::vector<std::size_t>> identical;  ///< cases whose losses are equal to the last bit
  std::optional<double> loss;                       ///< validation loss that every scored case reached

  /// Whether it was made of these.
  bool is_of(const Runs& now_ticked, const Runs& now_beside) const {
    return ticked == now_ticked && beside == now_beside;
  }
};

ComparedRuns compare_ticked(Runs ticked, Runs beside);

/// Where a run is from and what it is made for, as a label; "" for a plain run of this machine.
struct RunOrigin {
  std::string from;     ///< "recorded NVIDIA H200"
  std::string measure;  ///< "measures synthetic"
  std::string fault;    ///< "fault no_average"
};
RunOrigin origin_of(const RunView& view);

/// What all of several runs of ours have of these, joined; "" where they have nothing, or are fewer than two.
std::string common_origin(const Runs& runs);

}  // namespace isobar
