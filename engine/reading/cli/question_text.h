#pragma once
// A question and its reveal for a person and for a program.
#include <cstddef>
#include <map>
#include <string>

#include "cli/report.h"
#include "core/error.h"
#include "course/answer.h"
#include "course/calibration.h"
#include "course/course.h"
#include "course/progress.h"
#include "course/question.h"

namespace isobar {

/// What is asked, with the choices, or with the shapes that a curve may have.
Report question_report(const Question& question, std::size_t columns);

/// What an answer may be: "a to d", "up, same or down", "a number of ms".
std::string answers_text(const Question& question);

/// Prediction beside measurement, what the answer usually comes from, and the section of reveal.md.
Report reveal_report(const Question& question, const Revealed& revealed, const std::string& page,
                     std::size_t columns);

/// What is left of a reveal whose runs no longer say the same: the figures are those of then.
Report stored_report(const Question& question, const StoredReveal& reveal, const StoredAnswer& answer,
                     const std::string& page, std::size_t columns);

/// "your numbers are typically off by a factor of 1.4 (7 of them), those of the formulas by 1.1"; "" while
/// there is no number.
std::string calibration_sentence(const Calibration& calibration);

/// "3 of 4 first answers were right"; "" before the first one.
std::string score_sentence(const Calibration& calibration);

/// What cannot be read of a progress file, and of the questions of some lessons.
void add_problems(Report& out, const CourseProgress& progress,
                  const std::map<std::string, Error>& of_lessons = {});

/// Both, where there are answers.
void add_scores(Report& out, const Calibration& calibration);

const char* state_name(QuestionState state);

}  // namespace isobar
