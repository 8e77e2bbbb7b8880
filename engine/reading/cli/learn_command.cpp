// The front door of the course: the ladder with what is done, and a lesson goal by goal.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <sstream>

#include "analyse/run_case.h"
#include "cli/ask_question.h"
#include "cli/commands.h"
#include "cli/course_text.h"
#include "cli/lesson_walk.h"
#include "cli/report.h"
#include "cli/shared_options.h"
#include "core/find.h"
#include "course/page_section.h"
#include "exercise/exercise.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr double kWordsAMinute = 180;
constexpr double kQuestion_s = 60;

/// What is left of a lesson: what its goals read, a minute a question, its runs but for those that are
/// `known`, and outside of the core path its exercise.
double lesson_takes_s(const LessonInfo& lesson, const std::vector<Question>& questions,
                      const LessonProgress& stands, const CourseProgress& progress, const Learner& learner,
                      const std::vector<KnownRun>& known, bool core) {
  double out = 0;
  for (const PagePiece& piece :
       stands.parts.front().done ? std::vector<PagePiece>{} : page_pieces(page_of(lesson))) {
    std::istringstream text(piece.text);
    const auto words = std::distance(std::istream_iterator<std::string>(text), {});
    out += static_cast<double>(words) / kWordsAMinute * 60;
  }
  const std::optional<MachineRates> rates = rates_if_kept();
  std::vector<FoundRuns> missing;
  for (const Question& question : questions) {
    if (state_of(question, progress) == QuestionState::revealed) continue;
    out += kQuestion_s;
    try {
      add_missing(missing, find_runs(question, learner.home, known, rates ? &*rates : nullptr));
    } catch (const Error&) {  // the question itself reports why its runs cannot be looked for
    }
  }
  if (!core && !stands.parts.back().done && has_exercise(learner.home, lesson.name))
    out += 60 * static_cast<double>(read_exercise(learner.home, lesson.name).minutes);
  return out + cost_s(missing);
}

constexpr const char* kLearn = "./isobar learn";

std::string parts_text(const LessonProgress& stands) {
  std::vector<std::string> parts;
  for (const LessonPart& part : stands.parts) {
    const std::string count = part.of > 0 && !part.ticked ? fmt::format(" {}/{}", part.so_far, part.of) : "";
    const std::string name = part.help.empty() ? part.name() : "built (" + part.help + ")";
    parts.push_back(fmt::format("[{}] {}{}", part.ticked ? "x" : " ", name, count));
  }
  return joined(parts, "  ");
}

Json lesson_json(const LessonInfo& lesson, const LessonProgress& stands, double takes_s) {
  const Json parts = json_list(stands.parts, [](const LessonPart& one) {
    const std::string part = one.name();
    return ISOBAR_NAMED(part, one.done, one.of, one.so_far, one.help);
  });
  Json goals = Json::array();
  for (std::size_t i = 0; i < stands.goals.size(); ++i) {
    const GoalState& goal = stands.goals[i];
    Json one = {{"goal", lesson.goals[i]}};
    add_members(one, ISOBAR_NAMED(goal.earned, goal.of, goal.revealed, goal.again));
    goals.push_back(std::move(one));
  }
  const Json next = stands.next ? Json(stands.parts[*stands.next].name()) : Json();
  Json out = {{"lesson", lesson.name}};
  add_members(out, ISOBAR_NAMED(lesson.title, parts, next, takes_s, goals));
  return out;
}

/// "3 minutes", the small step with which what is to be built begins; "" where it does not.
std::string small_step(const LessonInfo& lesson, const LessonProgress& stands, const Learner& learner) {
  if (stands.parts.back().done || !has_exercise(learner.home, lesson.name)) return "";
  const Exercise exercise = read_exercise(learner.home, lesson.name);
  return exercise.first.empty() ? "" : counted(exercise.first_minutes, "minute");
}

std::string lesson_standing(const LessonProgress& stands, double takes_s, const std::string& step) {
  const bool is_begun = std::ranges::any_of(
      stands.parts, [](const LessonPart& part) { return part.ticked || part.so_far > 0; });
  const std::string takes = takes_s > 0 ? ", about " + about_seconds(takes_s) : "";
  if (!is_begun) return "not begun" + takes;
  std::string out = fmt::format("{} of {} goals", stands.earned(), stands.goals.size());
  if (const std::size_t again = stands.to_try_again(); again > 0)
    out += fmt::format("; {} to try again", counted(static_cast<std::int64_t>(again), "question"));
  const LessonPart& build = stands.parts.back();
  const std::string built = build.help.empty() ? "" : "; built (" + build.help + ")";
  if (!stands.next) return (stands.earned() == stands.goals.size() ? "done" : out) + built;
  const LessonPart& next = stands.parts[*stands.next];
  const bool begins_small = &next == &build && !step.empty();
  return out + built + "; next: " + next.name() + (begins_small ? ", its first step " + step : "") + takes;
}

/// All lessons, one line each, and where to continue.
Report ladder(const Learner& learner, bool core) {
  Report out;
  const CourseProgress progress = read_progress(learner.progress);
  const std::vector<KnownRun> known = known_runs(learner.runs);
  const CourseQuestions all = all_questions(learner.home);
  add_problems(out, progress, all.problems);
  std::vector<TableRow> rows;
  Json lessons = Json::array();
  std::string next;
  for (const std::string& name : lesson_names(learner.home)) {
    const LessonInfo lesson = read_lesson(learner.home, name);
    std::vector<Question> questions = all.questions;
    std::erase_if(questions,
                  [&](const Question& one) { return one.lesson != name || (core && !one.is_core); });
    const LessonProgress stands = stands_of(lesson, questions, progress, learner);
    const double takes_s = lesson_takes_s(lesson, questions, stands, progress, learner, known, core);
    const bool is_known = !all.problems.contains(name);
    const bool is_open = stands.next || stands.to_try_again() > 0;
    if (is_known && is_open && next.empty()) next = name;
    rows.push_back({name == next ? ">" : " ", name, lesson.title,
                    is_known ? lesson_standing(stands, takes_s, small_step(lesson, stands, learner))
                             : "its questions cannot be read"});
    lessons.push_back(lesson_json(lesson, stands, takes_s));
  }
  out.table({.left = 4, .rows = rows});
  add_scores(out, calibrate(progress));
  out.line(next.empty() ? "All lessons are done; ./isobar quiz --list shows the questions."
                        : "next: " + std::string(kLearn) + " " + next);
  out.json = {{"lessons", lessons}, {"next", next.empty() ? Json() : Json(next)}};
  return out;
}

Report lesson_report(const LessonInfo& lesson, const Learner& learner, bool core) {
  Report out;
  std::vector<Question> questions = read_questions(learner.home, lesson.name);
  if (core) std::erase_if(questions, [](const Question& one) { return !one.is_core; });
  const CourseProgress progress = read_progress(learner.progress);
  const LessonProgress stands = stands_of(lesson, questions, progress, learner);
  const double takes_s =
      lesson_takes_s(lesson, questions, stands, progress, learner, known_runs(learner.runs), core);
  out.line(lesson.name + "  " + lesson.title);
  out.labelled("parts", parts_text(stands));
  for (std::size_t i = 0; i < lesson.goals.size(); ++i) {
    const bool done = i < stands.goals.size() && stands.goals[i].earned;
    out.wrapped(done ? "[x] " : "[ ] ", lesson.goals[i]);
  }
  if (const std::string step = small_step(lesson, stands, learner); !step.empty())
    out.wrapped("    build: ", "its first step takes " + step + ": ./isobar exercise " + lesson.name);
  out.json = lesson_json(lesson, stands, takes_s);
  return out;
}

}  // namespace

int learn_command(const Words& words) {
  std::string name;
  bool json = false, core = false;
  OptionParser app(
      "The course: all lessons with what is done and what is next; or a lesson, goal by goal: read, predict, "
      "run, reveal; then build. It can be left at any point, and continues there",
      kLearn);
  app.add("LESSON", name, "its number or name, such as 02; without one all are listed");
  app.flag("--core", core, "only the questions that carry the lesson, about 25 minutes of it");
  app.flag("--json", json, "one JSON object instead of the text: where you are, and nothing is asked");
  if (!app.parse(words, {.where = kLearn, .example = "02"})) return 0;
  const Learner learner = this_learner();
  if (name.empty()) {
    ladder(learner, core).print(json);
    return 0;
  }
  const LessonInfo lesson = find_lesson(learner.home, name);
  lesson_report(lesson, learner, core).print(json);
  if (json) return 0;
  if (!can_ask()) {
    std::printf(
        "in a terminal this walks through the lesson goal by goal; ./isobar quiz %s lists its questions\n",
        lesson.name.c_str());
    return 0;
  }
  const int code = walk_lesson(lesson, learner, core);
  std::puts("");
  lesson_report(lesson, learner, core).print(/*as_json=*/false);
  return code;
}

}  // namespace isobar
