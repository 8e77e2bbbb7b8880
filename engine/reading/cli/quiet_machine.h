#pragma once
// What takes a machine on which no other program uses the processors: `quiz --when-quiet` and `quiz
// --record`.
#include <cstdint>
#include <string>

#include "cli/ask_question.h"

namespace isobar {

/// Makes the runs of provisional numbers once the processors are quiet, and grades them; the exit code. It
/// waits for `wait_min` minutes at most, 0 = it tries once, at once. Error (exit code 1) where they never
/// were quiet.
int grade_when_quiet(const Learner& learner, std::int64_t wait_min, bool json);

/// Makes the runs of a lesson's questions, and keeps what they show beside the lesson (recorded_file).
/// The exit code.
int record_truths(const std::string& lesson, const Learner& learner, bool json);

}  // namespace isobar
