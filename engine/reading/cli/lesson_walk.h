#pragma once
// A lesson at a terminal: its page, then goal by goal, then what is built.
#include <string>
#include <vector>

#include "cli/ask_question.h"
#include "config/lesson.h"

namespace isobar {

/// README.md of a lesson; "" where it has none.
std::string page_of(const LessonInfo& lesson);

/// How far a lesson is.
LessonProgress stands_of(const LessonInfo& lesson, const std::vector<Question>& questions,
                         const CourseProgress& progress, const Learner& learner);

/// From the part at which the learner is; questions of earlier lessons that were read come first. `core`:
/// only questions of the core path. The exit code: 0, also where the learner left, else that of runs that
/// failed or were stopped.
int walk_lesson(const LessonInfo& lesson, const Learner& learner, bool core);

}  // namespace isobar
