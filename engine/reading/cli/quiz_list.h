#pragma once
#include <map>
#include <string>

#include "cli/ask_question.h"
#include "cli/report.h"

namespace isobar {

/// A line for each lesson whose questions cannot be read.
void add_problems(Report& out, const std::map<std::string, Error>& problems);

/// The questions of a lesson, "" = of all: those that are open with what their runs cost, or `all` with what
/// became of them.
Report quiz_list(const Learner& learner, const std::string& lesson, bool all);

}  // namespace isobar
