#pragma once
// A question's runs as one picture, for its reveal: the terminal, the window and reports draw it.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyse/run_case.h"
#include "course/question.h"
#include "draw/sketch.h"

namespace isobar {

/// What the lesson itself draws of the runs; else loss curves, the timeline of the run that the rule names,
/// or bars of the figure that is compared with its repeats, of one run the parts of its step. Nothing where
/// no run is behind the question, or none of this suits its rule. `runs` by their names in the question.
std::optional<Drawing> reveal_drawing(const Question& question, const std::map<std::string, RunCase>& runs);

/// Runs that a learner made are labelled by the names of their folders.
std::optional<Drawing> reveal_drawing(const Question& question, const std::vector<RunCase>& made);

}  // namespace isobar
