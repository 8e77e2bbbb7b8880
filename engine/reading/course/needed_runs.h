#pragma once
// The runs behind a question: which fit among those that are there, what is missing, what it costs.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "config/load.h"
#include "course/question.h"
#include "course/rules.h"
#include "formula/machine_rates.h"

namespace isobar {

struct FoundRuns {
  NeededRun wanted;
  LoadedConfig config = {};  ///< its configuration; that of a recorded one is in its folder
  std::vector<std::filesystem::path> folders = {};    ///< finished runs with these settings, newest first
  bool is_timed = false;                              ///< a rule about times asks for it
  std::vector<std::filesystem::path> disturbed = {};  ///< other runs that such a rule left out
  std::int64_t missing = 0;                           ///< repeats that are still to be made
  std::string cannot = "";                            ///< why they cannot be made here; "" = they can
  std::string command = "";                           ///< command that makes one
  double cost_s = 0;                                  ///< time to make all that is missing
};

/// What such a run is started with, besides its ranks: presets of processors stay on them, also where a GPU
/// is.
Settings run_settings(const NeededRun& wanted);

/// Whether a run ended as the question has it: well, or with the error that it is to end with.
bool ended_as_wanted(const NeededRun& wanted, RunState state);

/// For each run of the question, in order. `runs` is the folder runs/. A run fits when it was made on this
/// machine with the same lesson and settings and has ended as it should, whatever version of Isobar made it.
/// One that other programs disturbed counts only where others are missing, and not at all for a rule that
/// asks for times: it stays missing, to be made again. The cost is what such runs took before, else the step
/// by formula at `rates` (null: those of a slow laptop) with what starting a program takes.
std::vector<FoundRuns> find_runs(const Question& question, const std::filesystem::path& home,
                                 const std::filesystem::path& runs, const MachineRates* rates);
/// For many questions: `known` are the runs of that folder, read once.
std::vector<FoundRuns> find_runs(const Question& question, const std::filesystem::path& home,
                                 const std::vector<KnownRun>& known, const MachineRates* rates);

/// All that `questions` need and is not there, each once, with what the rest of them shares.
std::vector<FoundRuns> missing_runs(const std::vector<Question>& questions, const std::filesystem::path& home,
                                    const std::vector<KnownRun>& known, const MachineRates* rates);
/// Adds the missing runs of `found`, one question after the other.
void add_missing(std::vector<FoundRuns>& missing, const std::vector<FoundRuns>& found);

/// "6 runs, about 40 s"; "2 of 6 runs, about 13 s"; "all 6 runs already exist".
std::string cost_text(const std::vector<FoundRuns>& found);
double cost_s(const std::vector<FoundRuns>& found);

/// One run by formula, with its start; null: on a slow laptop.
double run_cost_s(const LessonInfo& lesson, const Config& config, const MachineRates* rates);

/// What the rule gets: of each run the newest, with its repeats.
RuleInput rule_input(const Question& question, const std::filesystem::path& home,
                     const std::vector<FoundRuns>& found);

}  // namespace isobar
