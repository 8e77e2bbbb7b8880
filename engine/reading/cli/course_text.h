#pragma once
// The course on a terminal: pages of the lessons, which are Markdown; and a question and its reveal, for a
// program too.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/report.h"
#include "core/error.h"
#include "course/answer.h"
#include "course/calibration.h"
#include "course/course.h"
#include "course/progress.h"
#include "course/question.h"

namespace isobar {

/// Lines of `columns`: paragraphs, lists, tables and code; of links and pictures the words. What is folded
/// away in the page (<details>) is left out.
std::vector<std::string> plain_lines(std::string_view markdown, std::size_t columns);

/// With the pictures of a lesson drawn where the page has them.
void add_page_part(Report& out, std::string_view markdown, const std::string& lesson);

/// One line without its marks: `code`, **bold**, *italic*, [link](target).
std::string without_marks(std::string_view markdown);

/// What is asked, with the choices, or with the shapes that a curve may have.
Report question_report(const Question& question, std::size_t columns);

/// What an answer may be: "a to d", "up, same or down", "a number of ms".
std::string answers_text(const Question& question);

/// Prediction beside measurement, and what the answer usually comes from. `page`: its section of reveal.md,
/// "" where nobody asked for it.
Report reveal_report(const Question& question, const Revealed& revealed, const std::string& page,
                     std::size_t columns);

/// The section of reveal.md, below a line: its figures are of another machine.
void add_page(Report& out, const std::string& page, std::size_t columns);

/// A reveal whose runs have changed since: the figures are those of then.
Report stored_report(const Question& question, const StoredReveal& reveal, const StoredAnswer& answer,
                     const std::string& page, std::size_t columns);

/// "2 of 3 answers in this lesson were right", how many are not revealed yet, and how far numbers were off.
std::string guesses_text(const std::vector<Question>& questions, const CourseProgress& progress);

/// What cannot be read of a progress file, and of the questions of some lessons.
void add_problems(Report& out, const CourseProgress& progress,
                  const std::map<std::string, Error>& of_lessons = {});

/// Both, where there are answers.
void add_scores(Report& out, const Calibration& calibration);

const char* state_name(QuestionState state);

}  // namespace isobar
