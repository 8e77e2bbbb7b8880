#pragma once
// What must hold in one question, once all its keys were taken.
#include "course/question.h"

namespace isobar {

/// Error (exit code 2) at the question's origin: a field that is missing or does not go with its kind, an
/// unknown rule or argument, a run that is not there or that the rule does not name.
void check_question(const Question& question);

}  // namespace isobar
