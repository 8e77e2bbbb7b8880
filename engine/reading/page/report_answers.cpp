#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/clock.h"
#include "course/calibration.h"
#include "course/question.h"
#include "page/html.h"
#include "page/report_parts.h"

namespace isobar {
namespace {

const Question* find_in(const std::vector<Question>& all, const std::string& id) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Question& one) { return one.id == id; });
  return found == all.end() ? nullptr : &*found;
}

/// Of each question the newest answer, in the order in which they were first asked.
std::vector<const StoredAnswer*> newest_answers(const CourseProgress& progress,
                                                const std::set<std::string>& lessons) {
  std::vector<const StoredAnswer*> out;
  std::set<std::string> seen;
  for (const StoredAnswer& one : progress.answers) {
    const bool wanted = lessons.empty() || lessons.count(one.lesson) != 0;
    if (wanted && seen.insert(one.id).second) out.push_back(progress.answer(one.id));
  }
  return out;
}

std::string calibration_text(const CourseProgress& progress) {
  const Calibration found = calibrate(progress);
  std::string out;
  if (found.asked > 0) out = fmt::format("{} of {} first answers were right. ", found.right, found.asked);
  if (!found.you.empty())
    out += fmt::format("Numbers were typically off by a factor of {:.1f} ({} of them).",
                       found.typical_factor_you(), found.you.size());
  return out;
}

}  // namespace

std::string answers_part(const CourseProgress& progress, const ReportCases& cases,
                         const std::filesystem::path& home) {
  std::set<std::string> lessons;
  for (const RunCase& one : cases) lessons.insert(one.view().lesson);
  const std::vector<const StoredAnswer*> answers = newest_answers(progress, lessons);
  Html out;
  if (!progress.problems.empty())
    out.paragraph("Lines of the record could not be read and are left out.", "mark");
  if (answers.empty()) {
    out.paragraph("No question of these lessons was answered yet.");
    return out.markup();
  }
  const CourseQuestions all = all_questions(home);
  Table table = {
      .caption =
          "answers were stored before the runs were looked at; what is not revealed yet has no truth here",
      .columns = {"question", "asked", "answer", "outcome", "truth", "from", "answered"},
      .left = 7};
  for (const StoredAnswer* const answer : answers) {
    const Question* const question = find_in(all.questions, answer->id);
    const StoredReveal* const reveal = progress.reveal(answer->id);
    table.add({answer->id, question == nullptr ? "a question of another version" : question->ask,
               question == nullptr ? answer->text : answer_words(*question, *answer),
               reveal == nullptr ? "committed" : reveal->outcome, reveal == nullptr ? "" : reveal->truth,
               reveal == nullptr ? "" : reveal->source, minute_text(answer->time)});
  }
  out.table(table);
  if (const std::string text = calibration_text(progress); !text.empty()) out.paragraph(text);
  return out.markup();
}

}  // namespace isobar
