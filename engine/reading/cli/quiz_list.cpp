#include "cli/quiz_list.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "cli/question_runs.h"
#include "cli/question_text.h"
#include "core/text.h"

namespace isobar {

namespace {

struct Looked {
  const Learner& learner;
  const CourseProgress& progress;
  const std::vector<KnownRun> known;
  const std::optional<MachineRates> rates;
  bool briefly;  ///< without what is asked
};

Json runs_json(const std::vector<FoundRuns>& found) {
  Json out = Json::array();
  for (const FoundRuns& one : found) {
    Json run = {{"name", one.wanted.name}, {"missing", one.missing}, {"cost_s", one.cost_s},
                {"cannot", one.cannot},    {"command", one.command}, {"folders", Json::array()}};
    for (const auto& folder : one.folders) run["folders"].push_back(folder.string());
    out.push_back(std::move(run));
  }
  return out;
}

/// "right", "stored, not revealed", or what it costs.
std::string question_standing(const Question& question, QuestionState state, const Looked& looked,
                              const std::vector<FoundRuns>& found) {
  if (state == QuestionState::revealed) return printable(looked.progress.reveal(question.id)->outcome, 40);
  for (const FoundRuns& one : found) {
    if (!one.cannot.empty()) return "cannot be answered here: " + one.cannot;
  }
  const std::string cost = question.kind == AnswerKind::make ? "with runs of yours" : cost_text(found);
  return cost + (state == QuestionState::committed ? "; your prediction is stored" : "");
}

void add_question(Report& out, Json& all, const Question& question, QuestionState state, const Looked& looked,
                  std::size_t columns) {
  std::vector<FoundRuns> found;
  std::string stands;
  try {
    found = find_runs(question, looked.learner.home, looked.known, looked.rates ? &*looked.rates : nullptr);
    stands = question_standing(question, state, looked, found);
  } catch (const Error& error) {
    stands = "! " + printable(error.what(), 400) + ", " + printable(error.where(), 400);
  }
  out.line("  " + question.id + "  (" + stands + ")");
  if (!looked.briefly) {
    for (const std::string& line : wrapped(question.ask, columns - 4)) out.line("      " + line);
  }
  Json json = question_report(question, columns).json;
  json["state"] = state_name(state);
  json["outcome"] =
      state == QuestionState::revealed ? Json(looked.progress.reveal(question.id)->outcome) : Json();
  json["cost_s"] = cost_s(found);
  json["cost"] = stands;
  json["runs"] = runs_json(found);
  all.push_back(std::move(json));
}

}  // namespace

void add_problems(Report& out, const std::map<std::string, Error>& problems) {
  for (const auto& [lesson, problem] : problems)
    out.wrapped("! " + lesson + ": " + printable(problem.what(), 400) + " (" +
                printable(problem.where(), 400) + ")");
}

Report quiz_list(const Learner& learner, const std::string& lesson, bool all) {
  const CourseProgress progress = read_progress(learner.progress);
  const Looked looked = {learner, progress, known_runs(learner.runs), rates_if_kept(), lesson.empty()};
  Report out;
  for (const std::string& problem : progress.problems) out.wrapped("! " + printable(problem, 400));
  Json questions = Json::array();
  std::string before;
  std::size_t answered = 0, there = 0;
  const CourseQuestions asked = lesson.empty() ? all_questions(learner.home)
                                               : CourseQuestions{read_questions(learner.home, lesson), {}};
  add_problems(out, asked.problems);
  for (const Question& question : asked.questions) {
    ++there;
    const QuestionState state = state_of(question, progress);
    if (state == QuestionState::revealed) ++answered;
    if (state == QuestionState::revealed && !all) continue;
    if (question.lesson != before) out.line(question.lesson);
    before = question.lesson;
    add_question(out, questions, question, state, looked, text_columns());
  }
  out.wrapped(fmt::format("{} of {} answered and revealed.", answered,
                          counted(static_cast<std::int64_t>(there), "question")));
  add_scores(out, calibrate(progress));
  out.wrapped(
      "./isobar quiz QUESTION asks one of them, ./isobar quiz LESSON those of a lesson, one after the "
      "other.");
  out.json = {{"questions", questions}, {"answered", answered}, {"of", there}};
  return out;
}

}  // namespace isobar
