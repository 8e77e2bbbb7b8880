#include "course/course.h"

#include <algorithm>

#include "analyse/run_case.h"
#include "analyse/run_prediction.h"
#include "core/error.h"
#include "core/files.h"
#include "core/find.h"
#include "core/text.h"
#include "course/page_section.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kBeatNames[] = {"read", "predict", "run", "reveal", "break", "build"};

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

bool is_stored(const CourseProgress& progress, const std::string& lesson, Beat beat) {
  return progress.has_beat(lesson, beat_name(beat));
}

/// The questions of a beat that are at least in this state.
BeatState counted_beat(Beat beat, const char* asked_in, QuestionState least,
                       const std::vector<Question>& questions, const CourseProgress& progress) {
  BeatState out{.beat = beat};
  for (const Question& question : questions) {
    if (question.beat != asked_in) continue;
    ++out.of;
    out.so_far += state_of(question, progress) >= least ? 1U : 0U;
  }
  out.done = out.so_far == out.of;
  return out;
}

/// Whether the newest reveal of each question that serves it was right.
bool is_reached(int goal, const std::vector<Question>& questions, const CourseProgress& progress) {
  bool is_served = false;
  for (const Question& question : questions) {
    if (question.goal != goal) continue;
    is_served = true;
    const auto newest = std::find_if(progress.reveals.rbegin(), progress.reveals.rend(),
                                     [&](const StoredReveal& one) { return one.id == question.id; });
    if (newest == progress.reveals.rend() || newest->outcome != outcome_name(Outcome::right)) return false;
  }
  return is_served;
}

}  // namespace

QuestionState state_of(const Question& question, const CourseProgress& progress) {
  if (progress.answer(question.id) == nullptr) return QuestionState::open;
  return progress.reveal(question.id) == nullptr ? QuestionState::committed : QuestionState::revealed;
}

Revealed reveal_question(const Question& question, const fs::path& home, const fs::path& runs,
                         const fs::path& progress_file) {
  const CourseProgress progress = read_progress(progress_file);
  const StoredAnswer* const stored = progress.answer(question.id);
  if (stored == nullptr) refuse_reveal(question.id, progress_file);
  const Answer answer = answer_again(question, *stored);
  const std::vector<FoundRuns> found = find_runs(question, home, runs, nullptr);
  FormulaStep formula;
  Revealed out = graded_now(question, answer, home, found, &formula);
  out.answer = *stored;
  if (out.graded.outcome == Outcome::cannot_answer) {
    out.command = missing_command(found, out.truth.missing);
    if (out.command.empty()) out.command = missing_command(found, "");
    return out;
  }
  ProgressWriter(progress_file).reveal(out.answer, out.graded, out.truth, out.runs, formula);
  return out;
}

std::optional<Revealed> recalled(const Question& question, const CourseProgress& progress,
                                 const fs::path& home, const std::vector<FoundRuns>& found) {
  const StoredAnswer* const stored = progress.answer(question.id);
  const StoredReveal* const reveal = progress.reveal(question.id);
  if (stored == nullptr || reveal == nullptr) return std::nullopt;
  try {
    Revealed out = graded_now(question, answer_again(question, *stored), home, found, nullptr);
    out.answer = *stored;
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

const char* beat_name(Beat beat) { return kBeatNames[static_cast<std::size_t>(beat)]; }

LessonProgress lesson_progress(const std::string& lesson, const std::vector<Question>& questions,
                               std::size_t goals, bool builds, const CourseProgress& progress) {
  LessonProgress out;
  out.lesson = lesson;
  const auto count = [&](Beat beat, const char* asked_in, QuestionState least) {
    return counted_beat(beat, asked_in, least, questions, progress);
  };
  out.beats = {{.beat = Beat::read, .done = is_stored(progress, lesson, Beat::read)},
               count(Beat::predict, "predict", QuestionState::committed),
               {.beat = Beat::run},
               count(Beat::reveal, "predict", QuestionState::revealed),
               count(Beat::breaking, "break", QuestionState::revealed),
               {.beat = Beat::build,
                .done = !builds || is_stored(progress, lesson, Beat::build),
                .of = builds ? 1U : 0U}};
  out.beats.back().so_far = out.beats.back().is_done() ? 1 : 0;
  const BeatState& revealed = out.beats[3];
  out.beats[2].done = is_stored(progress, lesson, Beat::run) || (revealed.of > 0 && revealed.done);
  for (std::size_t goal = 1; goal <= goals; ++goal)
    out.goals.push_back(is_reached(static_cast<int>(goal), questions, progress));
  if (const BeatState* const next = find_by(out.beats, &BeatState::done, false)) out.next = next->beat;
  return out;
}

}  // namespace isobar
