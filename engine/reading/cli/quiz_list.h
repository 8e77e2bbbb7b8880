#pragma once
#include <string>

#include "cli/ask_question.h"
#include "cli/report.h"

namespace isobar {

/// The questions of a lesson, "" = of all: those that are open with what their runs cost, or `all` with what
/// became of them.
Report quiz_list(const Learner& learner, const std::string& lesson, bool all);

}  // namespace isobar
