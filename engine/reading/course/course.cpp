#include "course/course.h"

#include <algorithm>
#include <iterator>

#include "analyse/run_case.h"
#include "analyse/run_prediction.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"
#include "course/page_section.h"
#include "course/recorded_truth.h"
#include "course/variant.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLessonPartNames[] = {"read", "goal", "build"};

std::string help_text(const std::string& lesson, const CourseProgress& progress) {
  const std::vector<std::string>* const done = find_in(progress.done, lesson);
  const auto hints = done == nullptr ? 0 : std::ranges::count_if(*done, [](const std::string& what) {
    return what.starts_with(kHintShown);
  });
  std::vector<std::string> out;
  if (progress.has_done(lesson, kSolutionShown)) out.emplace_back("the solution");
  if (hints > 0) out.push_back(counted(hints, "hint"));
  return out.empty() ? "" : "with " + joined(out);
}

/// Error (exit code 2) where it can no longer be drawn.
Question answered_variant(const Question& question, const StoredAnswer& stored) {
  if (std::optional<Question> out = variant_of(question, stored.drawn)) return *std::move(out);
  throw Error("the question no longer draws " + printable(stored.drawn, 80), question.id,
              "./isobar quiz " + shell_quoted(question.id) + " --again asks it again");
}

/// The stored answer, for the question of now.
Answer answer_again(const Question& question, const StoredAnswer& stored) {
  try {
    if (question.kind == AnswerKind::make && !stored.runs.empty())
      return answer_of_runs(question, {stored.runs.begin(), stored.runs.end()});
    const bool is_number = question.kind == AnswerKind::number;
    return parse_answer(question, is_number ? stored.text + " " + stored.unit : stored.text);
  } catch (const Error& error) {
    throw Error(error.what(), error.where(),
                "./isobar quiz " + shell_quoted(question.id) + " --again asks it again");
  }
}

/// The first of its runs that a formula predicts.
FormulaStep formula_step(const RuleInput& input) {
  for (const auto& [name, run] : input.runs) {
    if (run.repeats.empty()) continue;
    const RunView& view = run.view();
    if (!view.is_measured_here() || !view.fault.empty() || is_disturbed(view, run.config)) continue;
    const double measured_us = means(run.repeats, "step_us").median();
    try {
      const std::optional<StepStages> stages = predicted_for(run.folder, view.lesson);
      if (stages && measured_us > 0) return {stages->step_us() / 1000, measured_us / 1000};
    } catch (const Error&) {  // settings that can no longer be read
    }
  }
  return {};
}

std::vector<std::string> folders_of(const RuleInput& input) {
  std::vector<std::string> out;
  const auto add = [&](const RunCase& run) {
    for (const fs::path& folder : run.folders)
      out.push_back(fs::absolute(folder).lexically_normal().string());
  };
  for (const auto& [name, run] : input.runs) add(run);
  for (const RunCase& run : input.made) add(run);
  return out;
}

std::string missing_command(const std::vector<FoundRuns>& found, const std::string& name) {
  const auto lacks = [&](const FoundRuns& one) {
    return one.missing > 0 && one.cannot.empty() && (name.empty() || one.wanted.name == name);
  };
  const FoundRuns* const missing = find_where(found, lacks);
  return missing == nullptr ? "" : missing->command;
}

/// `formula`: what a formula predicts of one of its runs; null where nobody wants it.
Revealed graded_now(const Question& question, const Answer& answer, const fs::path& home,
                    const std::vector<FoundRuns>& found, FormulaStep* formula) {
  const Rule* const rule = rule_named(question.rule);
  if (rule == nullptr)
    throw Error("there is no rule \"" + printable(question.rule, 80) + "\"", question.origin,
                "this is a mistake in Isobar", Exit::failed);
  RuleInput input = rule_input(question, home, found);
  if (!answer.runs.empty()) input.made = read_cases({answer.runs.begin(), answer.runs.end()});
  Revealed out;
  try {
    out.truth = rule->find(input);
  } catch (const Error& error) {
    const std::string where = error.where() == question.origin ? "" : " (" + error.where() + ")";
    throw Error(question.id + ": " + error.what() + where, question.origin, error.hint(), error.code());
  }
  take_nearest(question, answer, out.truth);
  out.graded = grade(question, answer, out.truth);
  out.runs = folders_of(input);
  if (formula != nullptr) *formula = formula_step(input);
  out.cases = std::move(input.runs);
  out.made = std::move(input.made);
  return out;
}

/// Where other programs disturbed the runs: what was recorded elsewhere, beside the runs as they are.
void take_recorded(const Question& question, const Answer& answer, const fs::path& home,
                   const std::vector<FoundRuns>& found, bool is_busy, Revealed& out) {
  const bool is_disturbed =
      std::ranges::any_of(found, [](const FoundRuns& one) { return !one.disturbed.empty(); });
  if (!is_timed(question) || (!is_busy && !is_disturbed)) return;
  std::optional<Truth> recorded = recorded_truth(home, question);
  if (!recorded) return;
  out.truth = *std::move(recorded);
  take_nearest(question, answer, out.truth);
  out.graded = grade(question, answer, out.truth);
  if (question.kind == AnswerKind::number) {
    out.graded.outcome = Outcome::provisional;
    out.graded.says = out.graded.about = "";
  }
  out.instead = "other programs use the processors here";
  for (const FoundRuns& one : found) {
    const fs::path* const run = !one.folders.empty()     ? &one.folders.front()
                                : !one.disturbed.empty() ? &one.disturbed.front()
                                                         : nullptr;
    if (run == nullptr) continue;
    out.cases.insert_or_assign(one.wanted.name, read_case(*run));
    out.runs.push_back(fs::absolute(*run).lexically_normal().string());
  }
}

GoalState goal_state(const std::vector<Question>& of_goal, const CourseProgress& progress) {
  GoalState out;
  std::size_t provisional = 0;
  for (const Question& question : of_goal) {
    const bool is_revealed = state_of(question, progress) == QuestionState::revealed;
    out.of += question.kind != AnswerKind::make;
    out.revealed += question.kind != AnswerKind::make && is_revealed;
    if (!is_revealed) continue;
    provisional += progress.reveal(question.id)->outcome == outcome_name(Outcome::provisional);
    if (has_new(question, progress)) out.again.push_back(question.id);
  }
  std::size_t wrong = 0, in_a_row = 0;
  for (const StoredReveal& reveal : progress.reveals) {
    if (find_by(of_goal, &Question::id, reveal.id) == nullptr) continue;
    if (reveal.outcome == outcome_name(Outcome::not_right)) {
      ++wrong;
      in_a_row = 0;
    } else if (reveal.outcome == outcome_name(Outcome::right) && is_new_answer(progress, reveal.of)) {
      ++in_a_row;
    }
  }
  constexpr std::size_t kMostInARow = 2;
  out.earned =
      out.of > 0 && out.revealed == out.of && provisional == 0 && in_a_row >= std::min(wrong, kMostInARow);
  out.waits = provisional > 0;
  std::ranges::stable_sort(out.again, {}, [&](const std::string& id) {  // first what was not right at last
    return progress.reveal(id)->outcome == outcome_name(Outcome::right);
  });
  if (out.earned) out.again.clear();
  return out;
}

}  // namespace

QuestionState state_of(const Question& question, const CourseProgress& progress) {
  if (progress.answer(question.id) == nullptr) return QuestionState::open;
  return progress.reveal(question.id) == nullptr ? QuestionState::committed : QuestionState::revealed;
}

Truth truth_of_runs(const Question& question, const fs::path& home, const fs::path& runs) {
  const Rule* const rule = rule_named(question.rule);
  return rule->find(rule_input(question, home, find_runs(question, home, runs, nullptr)));
}

Revealed reveal_question(const Question& asked, const fs::path& home, const fs::path& runs,
                         const fs::path& progress_file, bool is_busy) {
  const CourseProgress progress = read_progress(progress_file);
  const StoredAnswer* const stored = progress.answer(asked.id);
  if (stored == nullptr) refuse_reveal(asked.id, progress_file);
  const Question question = answered_variant(asked, *stored);
  const Answer answer = answer_again(question, *stored);
  const std::vector<FoundRuns> found = find_runs(question, home, runs, nullptr);
  FormulaStep formula;
  Revealed out = graded_now(question, answer, home, found, &formula);
  out.answer = *stored;
  if (out.graded.outcome == Outcome::cannot_answer)
    take_recorded(question, answer, home, found, is_busy, out);
  if (out.graded.outcome == Outcome::cannot_answer) {
    out.command = missing_command(found, out.truth.missing);
    if (out.command.empty()) out.command = missing_command(found, "");
    return out;
  }
  ProgressWriter(progress_file).reveal(out.answer, out.graded, out.truth, out.runs, formula);
  return out;
}

std::optional<Revealed> recalled(const Question& asked, const CourseProgress& progress, const fs::path& home,
                                 const std::vector<FoundRuns>& found) {
  const StoredAnswer* const stored = progress.answer(asked.id);
  const StoredReveal* const reveal = progress.reveal(asked.id);
  if (stored == nullptr || reveal == nullptr) return std::nullopt;
  try {
    const Question question = answered_variant(asked, *stored);
    const Answer answer = answer_again(question, *stored);
    Revealed out = graded_now(question, answer, home, found, nullptr);
    out.answer = *stored;
    if (out.graded.outcome == Outcome::cannot_answer)
      take_recorded(question, answer, home, found, reveal->source.starts_with("recorded"), out);
    if (outcome_name(out.graded.outcome) == reveal->outcome) return out;
  } catch (const Error&) {  // the question is another one by now, or its runs cannot be read
  }
  return std::nullopt;
}

std::string reveal_page(const fs::path& home, const Question& question) {
  const fs::path file = home / "lessons" / question.lesson / "reveal.md";
  if (!fs::exists(file)) return "";
  return page_section(read_text_file(file, kMostPageBytes), question.id.substr(question.id.find('.') + 1));
}

std::string LessonPart::name() const {
  const std::string name = kLessonPartNames[static_cast<std::size_t>(kind)];
  return kind == PartKind::goal ? name + " " + std::to_string(goal) : name;
}

std::size_t LessonProgress::earned() const {
  return static_cast<std::size_t>(std::ranges::count(goals, true, &GoalState::earned));
}

std::size_t LessonProgress::to_try_again() const {
  std::size_t out = 0;
  for (const GoalState& goal : goals) out += goal.revealed == goal.of ? goal.again.size() : 0;
  return out;
}

std::vector<Question> questions_of(const std::vector<Question>& questions, int goal) {
  std::vector<Question> out;
  std::ranges::copy_if(questions, std::back_inserter(out),
                       [&](const Question& one) { return one.goal == goal; });
  std::ranges::stable_partition(out, [](const Question& one) { return one.beat != kBreakBeat; });
  return out;
}

std::vector<std::vector<Question>> rounds_of(const std::vector<Question>& of_goal) {
  constexpr std::size_t kMostInARound = 4;
  std::vector<std::vector<Question>> out;
  const auto kind_of = [](const Question& one) {
    return one.kind == AnswerKind::make ? 2 : one.beat == kBreakBeat ? 1 : 0;
  };
  for (const int kind : {0, 1, 2}) {
    std::vector<Question> some;
    std::ranges::copy_if(of_goal, std::back_inserter(some),
                         [&](const Question& one) { return kind_of(one) == kind; });
    const std::size_t rounds = (some.size() + kMostInARound - 1) / kMostInARound;
    for (std::size_t i = 0; i < rounds; ++i) {  // nearly equal: no question is left alone
      const auto begin = some.begin() + static_cast<std::ptrdiff_t>(i * some.size() / rounds);
      const auto end = some.begin() + static_cast<std::ptrdiff_t>((i + 1) * some.size() / rounds);
      out.emplace_back(begin, end);
    }
  }
  return out;
}

LessonProgress lesson_progress(const std::string& lesson, const std::vector<Question>& questions,
                               std::size_t goals, bool builds, const CourseProgress& progress) {
  LessonProgress out;
  out.lesson = lesson;
  const bool is_read = progress.has_done(lesson, "read"), is_built = progress.has_done(lesson, kBuilt);
  out.parts.push_back({.kind = PartKind::read, .done = is_read, .ticked = is_read});
  for (int number = 1; number <= static_cast<int>(goals); ++number) {
    const GoalState goal = goal_state(questions_of(questions, number), progress);
    out.goals.push_back(goal);
    out.parts.push_back({.kind = PartKind::goal,
                         .goal = number,
                         .done = goal.revealed == goal.of,
                         .ticked = goal.earned,
                         .of = goal.of,
                         .so_far = goal.revealed});
  }
  out.parts.push_back({.kind = PartKind::build,
                       .done = !builds || is_built,
                       .ticked = is_built,
                       .help = is_built ? help_text(lesson, progress) : ""});
  for (std::size_t i = 0; i < out.parts.size() && !out.next; ++i) {
    if (!out.parts[i].done) out.next = i;
  }
  return out;
}

}  // namespace isobar
