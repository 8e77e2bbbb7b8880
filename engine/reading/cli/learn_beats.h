#pragma once
// The beats of a lesson at a terminal: read, predict, run, reveal, break.
#include <vector>

#include "cli/ask_question.h"
#include "config/lesson.h"
#include "course/course.h"

namespace isobar {

/// What is left of a lesson: its page, a minute a question, and its runs but for those that are `known`.
double lesson_takes_s(const LessonInfo& lesson, const std::vector<Question>& questions,
                      const LessonProgress& stands, const CourseProgress& progress, const Learner& learner,
                      const std::vector<KnownRun>& known);

/// From the beat at which the learner is; two questions of earlier lessons come first. The exit code: 0, also
/// where the learner left, else that of runs that failed or were stopped.
int walk_lesson(const LessonInfo& lesson, const Learner& learner);

}  // namespace isobar
