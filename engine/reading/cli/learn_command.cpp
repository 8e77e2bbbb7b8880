// The front door of the course: the ladder with what is done, and a lesson beat by beat.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/ask_question.h"
#include "cli/commands.h"
#include "cli/learn_beats.h"
#include "cli/question_text.h"
#include "cli/shared_options.h"
#include "exercise/exercise.h"

namespace isobar {

namespace {

constexpr const char* kLearn = "./isobar learn";

std::string beats_text(const LessonProgress& stands) {
  std::vector<std::string> parts;
  for (const BeatState& beat : stands.beats) {
    const std::string count = beat.of > 0 && !beat.done ? fmt::format(" {}/{}", beat.so_far, beat.of) : "";
    parts.push_back(fmt::format("[{}] {}{}", beat.is_done() ? "x" : " ", beat_name(beat.beat), count));
  }
  return joined(parts, "  ");
}

Json lesson_json(const LessonInfo& lesson, const LessonProgress& stands, double takes_s) {
  Json beats = Json::array();
  for (const BeatState& beat : stands.beats)
    beats.push_back(
        Json{{"beat", beat_name(beat.beat)}, {"done", beat.done}, {"of", beat.of}, {"so_far", beat.so_far}});
  Json goals = Json::array();
  for (std::size_t i = 0; i < lesson.goals.size(); ++i)
    goals.push_back(Json{{"goal", lesson.goals[i]}, {"done", i < stands.goals.size() && stands.goals[i]}});
  return {{"lesson", lesson.name}, {"title", lesson.title},
          {"beats", beats},        {"next", stands.next ? Json(beat_name(*stands.next)) : Json()},
          {"takes_s", takes_s},    {"goals", goals}};
}

std::string lesson_standing(const LessonProgress& stands, double takes_s) {
  if (!stands.next) return "done";
  const bool begun = std::any_of(stands.beats.begin(), stands.beats.end(), [](const BeatState& beat) {
    return beat.so_far > 0 || (beat.done && beat.of == 0 && beat.beat == Beat::read);
  });
  return fmt::format("{}{}, about {}", begun ? "next: " : "", begun ? beat_name(*stands.next) : "not begun",
                     about_seconds(takes_s));
}

/// All lessons, one line each, and where to go on.
Report ladder(const Learner& learner) {
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
    std::erase_if(questions, [&](const Question& one) { return one.lesson != name; });
    const LessonProgress stands =
        lesson_progress(name, questions, lesson.goals.size(), has_exercise(learner.home, name), progress);
    const double takes_s = lesson_takes_s(lesson, questions, stands, progress, learner, known);
    const bool is_known = !all.problems.contains(name);
    if (is_known && stands.next && next.empty()) next = name;
    rows.push_back({name == next ? ">" : " ", name, lesson.title,
                    is_known ? lesson_standing(stands, takes_s) : "its questions cannot be read"});
    lessons.push_back(lesson_json(lesson, stands, takes_s));
  }
  out.table({.left = 4, .rows = rows});
  add_scores(out, calibrate(progress));
  out.line(next.empty() ? "All lessons are done; ./isobar quiz --list shows the questions."
                        : "next: " + std::string(kLearn) + " " + next);
  out.json = {{"lessons", lessons}, {"next", next.empty() ? Json() : Json(next)}};
  return out;
}

Report lesson_report(const LessonInfo& lesson, const Learner& learner) {
  Report out;
  const std::vector<Question> questions = read_questions(learner.home, lesson.name);
  const CourseProgress progress = read_progress(learner.progress);
  const LessonProgress stands = lesson_progress(lesson.name, questions, lesson.goals.size(),
                                                has_exercise(learner.home, lesson.name), progress);
  const double takes_s =
      lesson_takes_s(lesson, questions, stands, progress, learner, known_runs(learner.runs));
  out.line(lesson.name + "  " + lesson.title);
  out.line("  " + beats_text(stands));
  for (std::size_t i = 0; i < lesson.goals.size(); ++i) {
    const bool done = i < stands.goals.size() && stands.goals[i];
    out.wrapped(done ? "[x] " : "[ ] ", lesson.goals[i], text_columns());
  }
  out.json = lesson_json(lesson, stands, takes_s);
  return out;
}

}  // namespace

int learn_command(const Words& words) {
  std::string name;
  bool json = false;
  OptionParser app(
      "The course: all lessons with what is done and what is next; or a lesson, beat by beat: read, predict, "
      "run, reveal, break, build. It can be left at any point, and goes on there",
      kLearn);
  app.add("LESSON", name, "such as 02_workers; without one all are listed");
  app.flag("--json", json, "one JSON object instead of the text: where you are, and nothing is asked");
  if (!app.parse(words, {.where = kLearn, .example = "02_workers"})) return 0;
  const Learner learner = this_learner();
  if (name.empty()) {
    ladder(learner).print(json);
    return 0;
  }
  const LessonInfo lesson = find_lesson(learner.home, name);
  lesson_report(lesson, learner).print(json);
  if (json) return 0;
  if (!can_ask()) {
    std::printf(
        "in a terminal this walks through the lesson beat by beat; ./isobar quiz %s lists its questions\n",
        lesson.name.c_str());
    return 0;
  }
  const int code = walk_lesson(lesson, learner);
  std::puts("");
  lesson_report(lesson, learner).print(/*as_json=*/false);
  return code;
}

}  // namespace isobar
