#pragma once
// Questions that are answered by runs of the learner's own.
#include <functional>
#include <string>

#include "course/rules/parts.h"

namespace isobar {

struct MadeFigure {
  std::string name;
  Quantity quantity = Quantity::count;
  bool is_timed = false, wants_more = false;
  std::function<Spread(const NamedRun&)> of = {};  ///< no values: the run never comes there
};

/// Whether the runs that the learner named show it, by the arguments `least` and `most`, or `times` and
/// `wins`, and by `keeps` and `differ`. Cannot for other runs than are asked for.
Truth made_truth_of(const RuleInput& input, const MadeFigure& figure);
/// Error (exit code 2) for arguments that are none; the second looks at settings only.
void check_made_arguments(const Question& question);
void check_made_settings(const Question& question);
/// Whether the run has a setting: "train.steps>=100", "comm.algorithm=naive". Error (exit code 2) for one
/// that is none, also without a run.
bool has_setting(const Question& question, const NamedRun* run, const std::string& text);
/// Cannot where the run lacks a setting that `keeps` names.
void check_settings(const RuleInput& input, const NamedRun& run);
/// Cannot where it is no run of the learner's that ended well with the settings that `keeps` names.
void check_kept(const RuleInput& input, const NamedRun& run, bool is_timed);

}  // namespace isobar
