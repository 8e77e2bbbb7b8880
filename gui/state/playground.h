#pragma once
// What this machine makes of settings: its rates as they are kept, a step that is predicted from them, and
// the presets of a lesson with whether they fit.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analyse/run_store.h"
#include "config/lesson.h"
#include "core/memory.h"
#include "formula/machine_rates.h"
#include "formula/memory_plan.h"
#include "formula/stage_prediction.h"
#include "log/run_files.h"
#include "state/project.h"

namespace isobar {

/// A setting with its places, from the one that costs least.
struct Knob {
  std::string key;
  std::string title;
  std::string unit;  ///< behind a number
  std::string zero;  ///< what 0 is called; "" = there is no 0
  std::vector<double> places;
  std::vector<std::string> names = {};  ///< values that are no numbers: places are their numbers here

  /// The place of a value in the form of --set, added where it is none yet.
  double place_of(const std::string& text);
  /// The place in the form of --set.
  std::string text_of(double place) const;
};

/// Makes it one of the places, where it would stand in their order.
void add_place(Knob& knob, double place);

/// Knobs of the settings that this lesson honours, with `values` (of every key) among their places.
std::vector<Knob> knobs_of(const LessonInfo& lesson, const std::map<std::string, std::string>& values);

/// Knobs of what memory depends on.
std::vector<Knob> memory_knobs_of(const LessonInfo& lesson, const std::map<std::string, std::string>& values);

/// Knobs of the shape of a pipeline.
std::vector<Knob> pipeline_knobs_of(const LessonInfo& lesson,
                                    const std::map<std::string, std::string>& values);

std::string knob_words(const Knob& knob, double place);
/// The place in the form of --set.
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

struct PresetFact {
  std::string name;
  std::int64_t parameters = 0;
  std::int64_t rows = 0, columns = 0;  ///< size of the grid
  std::uint64_t bytes = 0;             ///< memory of all ranks at their peak, by formula
  double predicted_us = 0;             ///< a step on this machine; 0 = not known
  bool fits = false;
  std::string why_not;  ///< why it does not fit, or why this lesson refuses it
};

/// The presets of the project in this lesson, those that fit first, each group by size. Without a
/// GPU one fits when its memory does and its name is that of a preset for a processor ("cpu_tiny"); with
/// one all do, since its memory is known only to programs that load CUDA.
std::vector<PresetFact> preset_facts(const Project& project, const LessonInfo& lesson,
                                     const MemoryState& memory);

/// Microseconds a step of the newest run of this lesson and preset that was measured here, without anything
/// that sets it apart, beside no other programs if there is one; 0 = there is none.
double measured_step_us(const StoreSnapshot& runs, const std::string& lesson, const std::string& preset);

class KeptRates {
 public:
  explicit KeptRates(std::filesystem::path file) : file_(std::move(file)) {}

  /// True when what is kept changed.
  bool look();
  /// Null where none are kept, or those of another machine.
  const std::shared_ptr<const MachineRates>& rates() const { return rates_; }
  /// Why the file cannot be used; "" = it can, or is not there.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path file_;
  Stamp stamp_;
  std::shared_ptr<const MachineRates> rates_;
  std::string problem_;
};

}  // namespace isobar
