#pragma once
// The fit of a line that is walked in the window, step by step, and the path of a run beside it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/descent.h"
#include "analyse/run_files.h"
#include "state/step_player.h"
#include "widgets/plot_widget.h"

namespace isobar {

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

}  // namespace isobar
