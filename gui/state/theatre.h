#pragma once
// An all-reduce that is stepped through in the window: by the rules, or as the chosen run recorded it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/run_files.h"
#include "analyse/theatre_run.h"
#include "state/step_player.h"

namespace isobar {

/// The run that is looked at.
struct ChosenRun {
  std::string id;  ///< "" = none
  std::filesystem::path folder;
  bool goes_on = false;

  bool operator==(const ChosenRun&) const = default;
};

struct TheatreState : StepPlayer {
  // The plan.
  AllReduceKind kind = AllReduceKind::ring;
  double ranks = 4;
  double chunks = 4;
  double bytes = 4 << 20;
  double latency_us = 50;
  double gbit_per_s = 10;

  std::optional<bool> of_run;  ///< else the plan; before it is chosen the run, where it has an all-reduce
  TheatreChoice chosen = {.step = -1, .of = ""};  ///< of the run; step -1 = the first

  // What was worked out last, and from what.
  std::string made_of;
  std::optional<Theatre> theatre;
  std::string problem;  ///< why there is none
  std::string hint;
  ChosenRun run;              ///< that `recorded` is of
  std::vector<Stamp> stamps;  ///< of the spans of all its ranks
  double looked_s = 0;        ///< when these were looked at
  std::unique_ptr<const TheatreRun> recorded;
  std::vector<std::string> choices;   ///< of it, in words
  std::string run_problem, run_hint;  ///< why it has none

  bool shows_run() const { return of_run.value_or(recorded != nullptr); }
  std::size_t last() const { return theatre ? theatre->steps.size() : 0; }
};

/// Reads the run where it is another, or, every few seconds at most, where spans of a rank grew or it ended.
void keep_theatre_run(TheatreState& state, const ChosenRun& run, double now_s);

/// Makes what is to be shown where the choices changed, from its first step on.
void keep_theatre(TheatreState& state);

/// "step 3, all_reduce"
std::string choice_text(const TheatreChoice& choice);

}  // namespace isobar
