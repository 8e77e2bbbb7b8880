#include "cli/question_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/plain_page.h"
#include "core/text.h"
#include "course/curve_shape.h"
#include "course/units.h"

namespace isobar {

namespace {

constexpr const char* kCurveRule = "curve";

char letter_of(std::size_t index) { return static_cast<char>('a' + index); }

void add_page(Report& out, const std::string& page, std::size_t columns) {
  const std::vector<std::string> lines = plain_lines(page, columns);
  if (lines.empty()) return;
  out.line("");
  out.lines(lines);
}

/// Shapes side by side, as many as fit, each above its letter.
void add_shapes(Report& out, const Question& question, std::size_t columns) {
  constexpr std::size_t kWide = 22, kHigh = 5, kApart = 4;
  const std::size_t across = std::max<std::size_t>(1, (columns + kApart) / (kWide + kApart));
  for (std::size_t first = 0; first < question.choices.size(); first += across) {
    const std::size_t end = std::min(first + across, question.choices.size());
    std::vector<std::string> rows(kHigh, "  ");
    std::string letters = "  ";
    for (std::size_t i = first; i < end; ++i) {
      const CurveShape* const shape = curve_shape(question.choices[i].key);
      const std::vector<std::string> drawn = shape == nullptr
                                                 ? std::vector<std::string>(kHigh, std::string(kWide, ' '))
                                                 : curve_lines(*shape, kWide, kHigh);
      for (std::size_t row = 0; row < kHigh; ++row) rows[row] += drawn[row] + std::string(kApart, ' ');
      letters += fmt::format("{:<{}}", letter_of(i), kWide + kApart);
    }
    out.line("");
    out.lines(rows);
    out.line(letters);
  }
  out.line("  (dotted: the run without the mistake; a cross: the run stops)");
}

Json choices_json(const Question& question) {
  Json out = Json::array();
  for (const QuestionChoice& choice : question.choices)
    out.push_back(Json{{"key", choice.key}, {"text", choice.text}});
  return out;
}

Json head_json(const Question& question) {
  return {{"id", question.id},     {"lesson", question.lesson}, {"kind", kind_name(question.kind)},
          {"beat", question.beat}, {"unit", question.unit},     {"from", question.from},
          {"ask", question.ask},   {"why", question.why},       {"choices", choices_json(question)}};
}

/// What every reveal begins with.
Report outcome_report(const Question& question, const StoredAnswer& answer, const std::string& outcome,
                      std::size_t columns) {
  const std::string said = printable(answer_words(question, answer), 400);
  Report out;
  out.json = head_json(question);
  out.json["answer"] = answer.text;
  out.json["said"] = said;
  out.json["outcome"] = outcome;
  out.line(question.id + ": " + printable(outcome, 40));
  out.headed("you said", said, columns);
  return out;
}

}  // namespace

const char* state_name(QuestionState state) {
  constexpr const char* kNames[] = {"open", "committed", "revealed"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string answers_text(const Question& question) {
  switch (question.kind) {
    case AnswerKind::choice:
      return question.choices.empty()
                 ? "a choice"
                 : fmt::format("a to {}, or its key", letter_of(question.choices.size() - 1));
    case AnswerKind::direction:
      return "up, same or down";
    case AnswerKind::number:
      return "a number" + (question.unit.empty() ? "" : ", in " + question.unit);
    case AnswerKind::find:
      return "a line of lessons/" + question.lesson + "/main.cpp, such as 42";
    case AnswerKind::make:
      return "the run that shows it, or several: names below runs/, or last";
  }
  return "";
}

Report question_report(const Question& question, std::size_t columns) {
  Report out;
  out.json = head_json(question);
  out.line(question.id + (question.from.empty() ? "" : "  (" + question.from + ")"));
  out.wrapped("", question.ask, columns);
  out.headed("why", question.why, columns);
  if (question.rule == kCurveRule) add_shapes(out, question, columns);
  if (!question.choices.empty()) out.line("");
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    const QuestionChoice& choice = question.choices[i];
    out.wrapped(fmt::format("{}  ", letter_of(i)), choice.text.empty() ? choice.key : choice.text, columns);
  }
  return out;
}

Report reveal_report(const Question& question, const Revealed& revealed, const std::string& page,
                     std::size_t columns) {
  const Graded& graded = revealed.graded;
  Report out = outcome_report(question, revealed.answer, outcome_name(graded.outcome), columns);
  out.json["truth"] = graded.truth;
  out.json["off_by"] = graded.off_by;
  out.json["says"] = graded.says;
  out.json["reveal"] = graded.reveal;
  out.json["source"] = graded.source;
  out.json["measured"] = revealed.truth.text;
  out.json["cannot"] = graded.cannot;
  out.json["missing"] = revealed.truth.missing;
  out.json["command"] = revealed.command;
  out.json["runs"] = revealed.runs;

  if (graded.outcome == Outcome::cannot_answer) {
    out.headed("why not", graded.cannot, columns);
    if (!revealed.command.empty()) out.line("  makes it   " + revealed.command);
    out.wrapped("Your prediction is stored; ./isobar quiz " + question.id + " continues from here.", columns);
    return out;
  }
  out.headed("it is", graded.truth, columns);
  out.headed("yours is", graded.off_by, columns);
  const bool says_more = question.kind != AnswerKind::number && revealed.truth.text != graded.truth;
  if (says_more) out.headed("found", revealed.truth.text, columns);
  out.headed("source", graded.source, columns);
  out.headed("because", graded.says, columns);
  if (!graded.reveal.empty()) out.line("");
  out.wrapped("", graded.reveal, columns);
  add_page(out, page, columns);
  return out;
}

Report stored_report(const Question& question, const StoredReveal& reveal, const StoredAnswer& answer,
                     const std::string& page, std::size_t columns) {
  Report out = outcome_report(question, answer, reveal.outcome, columns);
  out.json["truth"] = reveal.truth;
  out.json["source"] = reveal.source;
  out.json["runs"] = reveal.runs;
  out.headed("it was", printable(reveal.truth), columns);
  out.headed("source", printable(reveal.source), columns);
  add_page(out, page, columns);
  return out;
}

std::string calibration_sentence(const Calibration& calibration) {
  if (calibration.you.empty()) return "";
  std::string out = fmt::format("your numbers are typically off by a factor of {:.2g} ({})",
                                calibration.typical_factor_you(),
                                counted(static_cast<std::int64_t>(calibration.you.size()), "number"));
  if (!calibration.formulas.empty())
    out += fmt::format(", those of the formulas by {:.2g}", calibration.typical_factor_formulas());
  return out;
}

std::string score_sentence(const Calibration& calibration) {
  if (calibration.asked == 0) return "";
  return fmt::format("{} of {} first answers were right", calibration.right, calibration.asked);
}

void add_problems(Report& out, const CourseProgress& progress,
                  const std::map<std::string, Error>& of_lessons) {
  for (const std::string& problem : progress.problems) out.wrapped("! " + printable(problem, 400));
  for (const auto& [lesson, problem] : of_lessons)
    out.wrapped("! " + lesson + ": " + printable(problem.what(), 400) + " (" +
                printable(problem.where(), 400) + ")");
}

void add_scores(Report& out, const Calibration& calibration) {
  std::vector<std::string> parts = {score_sentence(calibration), calibration_sentence(calibration)};
  std::erase(parts, "");
  if (!parts.empty()) out.wrapped("", joined(parts, "; ") + ".", text_columns());
}

}  // namespace isobar
