#pragma once
// A step that is predicted from settings that can be turned: what the playground shows.
#include <string>
#include <vector>

#include "formula/memory_plan.h"
#include "formula/stage_prediction.h"
#include "state/project.h"

namespace isobar {

/// A setting with its places, from the one that costs least.
struct Knob {
  std::string key;
  std::string title;
  std::string unit;  ///< behind a number
  std::string zero;  ///< what 0 is called; "" = there is no 0
  std::vector<double> places;
};

/// Makes it one of the places, where it would stand in their order.
void add_place(Knob& knob, double place);

/// Those of the settings that this lesson honours, with `values` (of every key) among their places.
std::vector<Knob> knobs_of(const LessonInfo& lesson, const std::map<std::string, std::string>& values);

std::string knob_words(const Knob& knob, double place);
/// As --set takes it.
std::string knob_text(double place);

struct PlayedStep {
  std::string problem;  ///< why nothing is predicted; "" = it is
  Config config;
  StepStages stages;
  MemoryPlan memory;

  bool is_known() const { return problem.empty(); }
  double samples_per_s() const;
  /// "backward", and its part of the step.
  std::pair<std::string, double> largest() const;
};

PlayedStep play(const Project& project, const LessonInfo& lesson, const std::string& preset,
                const std::vector<std::string>& sets, const MachineRates& rates);

/// Samples a second at each place of a knob that is a number above 0, the rest as `sets` has it; places that
/// are refused are left out.
std::vector<std::pair<double, double>> play_all(const Project& project, const LessonInfo& lesson,
                                                const std::string& preset,
                                                const std::vector<std::string>& sets,
                                                const MachineRates& rates, const Knob& knob);

}  // namespace isobar
