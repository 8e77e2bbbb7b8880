#pragma once
// What is gone through step by step: the fit of a line with the path of a run beside it, and an all-reduce by
// the rules or as the chosen run recorded it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/descent.h"
#include "analyse/run_files.h"
#include "analyse/theatre_run.h"
#include "widgets/plot_widget.h"

namespace isobar {

/// Steps that are looked at one by one, or played.
struct StepPlayer {
  std::size_t shown = 0;  ///< steps done, as far as one looks at
  bool playing = false;
  double next_s = 0;  ///< when the next step is due

  /// Does the next step where its time has come; stops behind the last.
  void go_on(std::size_t last, double now_s, double every_s) {
    playing = playing && shown < last;
    if (!playing || now_s < next_s) return;
    ++shown;
    next_s = now_s + every_s;
  }
};

struct DescentState : StepPlayer {
  bool by_samples = false;
  bool dragging = false;
  std::vector<Fault> faults;  ///< that the lesson has
  PlotLink link;
  PlotView view;
  // What was worked out last, and from what.
  std::string made_of;
  std::string problem;
  std::optional<Config> config;
  std::unique_ptr<DescentWalk> walk;
  std::string run;  ///< the run that `recorded` is of, by id
  Stamp stamp;
  std::optional<Descent> recorded;

  std::size_t last() const { return config ? static_cast<std::size_t>(config->train.steps) : 0; }
  bool is_at_end() const { return config && shown >= last(); }
};

/// Works out steps until one more is there than is looked at: its gradients are the arrows.
void walk_on(DescentState& state);

/// The formulas of the step that comes next, with its numbers.
std::vector<std::string> step_text(const DescentState& state);

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
