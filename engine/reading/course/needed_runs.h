#pragma once
// The runs behind a question: which fit among those that are there, what is missing, what it costs.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/load.h"
#include "course/question.h"
#include "course/rules.h"
#include "formula/machine_rates.h"

namespace isobar {

struct FoundRuns {
  NeededRun wanted;
  LoadedConfig config;                         ///< that it has, or would have
  std::vector<std::filesystem::path> folders;  ///< finished runs with these settings, newest first
  std::int64_t missing = 0;                    ///< repeats that are still to be made
  std::string cannot;                          ///< why they cannot be made here; "" = they can
  std::string command;                         ///< that makes one, as typed
  double cost_s = 0;                           ///< of all that is missing
};

/// For each run of the question, in order. `runs` is the folder runs/. The cost is what such runs took
/// before, else the step by formula at `rates` (null: those of a slow laptop) with what starting a program
/// takes.
std::vector<FoundRuns> find_runs(const Question& question, const std::filesystem::path& home,
                                 const std::filesystem::path& runs, const MachineRates* rates);

/// "6 runs, about 40 s"; "all 6 runs are there".
std::string cost_text(const std::vector<FoundRuns>& found);
double cost_s(const std::vector<FoundRuns>& found);

/// What the rule gets: of each run the newest, with its repeats.
RuleInput rule_input(const Question& question, const std::filesystem::path& home,
                     const std::vector<FoundRuns>& found);

}  // namespace isobar
