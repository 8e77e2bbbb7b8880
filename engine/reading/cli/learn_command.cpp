// The front door of the course: the ladder with what is done, and a lesson beat by beat.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <sstream>

#include "analyse/run_case.h"
#include "cli/ask_question.h"
#include "cli/case_text.h"
#include "cli/commands.h"
#include "cli/course_text.h"
#include "cli/report.h"
#include "cli/shared_options.h"
#include "core/find.h"
#include "course/page_section.h"
#include "exercise/exercise.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostLessonPageBytes = 4'000'000;
constexpr double kWordsAMinute = 180;
constexpr double kQuestion_s = 60;
constexpr const char* kPredictBeat = "predict";

struct Walk {
  const LessonInfo& lesson;
  const Learner& learner;
  std::vector<Question> questions;
  std::string page;  ///< README.md
  int code = 0;      ///< exit code of runs

  CourseProgress progress() const { return read_progress(learner.progress); }
  /// Questions of a beat that stand there.
  std::vector<Question> of_beat(const std::string& beat, std::initializer_list<QuestionState> states) const {
    std::vector<Question> out = questions;
    std::erase_if(out, [&, stands = progress()](const Question& one) {
      return one.beat != beat || !holds(states, state_of(one, stands));
    });
    return out;
  }
  void done(const std::string& beat) const { ProgressWriter(learner.progress).beat(lesson.name, beat); }
  bool is_done(const std::string& beat) const { return progress().has_beat(lesson.name, beat); }
};

std::string page_of(const LessonInfo& lesson) {
  const fs::path file = lesson.file.parent_path() / "README.md";
  std::error_code code;
  return fs::exists(file, code) ? read_text_file(file, kMostLessonPageBytes) : "";
}

void heading(const std::string& text) { std::printf("\n== %s\n", text.c_str()); }

/// Waits for Enter; false for q and the end of input.
bool goes_on() {
  const std::optional<std::string> typed = typed_line("  (Enter = continue, q = quit): ");
  return typed && *typed != "q" && *typed != "quit";
}

struct Remark {
  std::string notice;
  std::string next;
};

/// The remark on the newest run of the lesson that was measured here to its end.
Remark remark_of_runs(const Walk& walk) {
  for (const KnownRun& known : known_runs(walk.learner.runs)) {
    if (known.folder.filename().string().rfind(walk.lesson.name, 0) != 0) continue;
    try {
      const RunCase run = std::move(read_cases({known.folder}).front());
      if (run.view().state != RunState::done || !run.view().is_measured_here()) continue;
      const RunVerdict verdict = verdict_of(run);
      return {verdict.notice.empty() ? verdict_sentence(verdict) : verdict.notice, verdict.next};
    } catch (const Error&) {  // a run that cannot be read has nothing to notice
    }
  }
  return {};
}

/// What a beat leaves: one thing to notice, one to try, and how the guesses did.
void end_beat(const Walk& walk, const Remark& remark) {
  Report out;
  out.line("");
  add_remark(out, remark.notice, remark.next, text_columns());
  out.headed("guesses", guesses_text(walk.questions, walk.progress()));
  out.print(/*as_json=*/false);
}

/// `walks` is false where the learner left. What is wrong with one question is printed, and the next one
/// comes.
bool unless_wrong(const Question& question, const std::function<bool()>& walks) {
  try {
    return walks();
  } catch (const Error& error) {
    say_error(question.id + ": ", error);
    return true;
  }
}

/// False: the learner left, or a run failed.
bool makes(Walk& walk, const std::vector<FoundRuns>& missing) {
  const RunsOffered offered = offer_runs(missing, walk.learner, /*ask=*/true, /*quiet=*/false);
  walk.code = offered.code;
  return offered.code == 0 && offered.said != Asked::left;
}

/// Asks unless an answer is stored, makes its runs and reveals. False where the learner left.
bool ask_and_reveal(Walk& walk, const Question& question) {
  if (state_of(question, walk.progress()) != QuestionState::committed) {
    const Asked asked = ask_and_store(question, walk.learner);
    if (asked != Asked::answered) return asked == Asked::skipped;
  }
  if (!makes(walk, missing_runs({question}, walk.learner.home))) return false;
  reveal_and_tell(question, walk.learner, /*json=*/false);
  return goes_on();
}

/// Questions of earlier lessons, asked again. False: the learner left.
bool open_with_earlier(Walk& walk) {
  const CourseQuestions all = all_questions(walk.learner.home);
  for (const Question& question : opening_questions(all, walk.lesson.name)) {
    const std::string mark = "opening " + question.id;
    if (walk.is_done(mark)) continue;
    heading("First, a question from lesson " + question.lesson);
    const bool walks_on = unless_wrong(question, [&] {
      if (!ask_and_reveal(walk, question)) return false;
      walk.done(mark);
      return true;
    });
    if (!walks_on) return false;
  }
  return true;
}

bool read(Walk& walk) {
  heading("Read");
  for (const char* section : {"Claim", "Picture", "Idea"}) {
    const std::vector<std::string> lines = plain_lines(page_section(walk.page, section), text_columns());
    if (lines.empty()) continue;
    Report out;
    out.line("");
    out.line(section);
    out.lines(lines);
    out.print(/*as_json=*/false);
    if (!goes_on()) return false;
  }
  const std::string folder = as_typed(walk.lesson.file.parent_path()).string();
  end_beat(walk, {.notice = walk.lesson.goals.empty() ? "" : walk.lesson.goals.front(),
                  .next = "the page " + folder + "/README.md, and the code " + folder + "/main.cpp"});
  walk.done("read");
  return goes_on();
}

bool predict(Walk& walk) {
  heading("Predict: nothing is shown before your answers are stored");
  for (const Question& question : walk.of_beat(kPredictBeat, {QuestionState::open})) {
    if (ask_and_store(question, walk.learner) == Asked::left) return false;
  }
  end_beat(walk, {.notice = "your answers are stored and will be compared with the measurements",
                  .next = "./isobar quiz " + walk.lesson.name + " --list"});
  return goes_on();
}

/// What its questions lack; one whose runs cannot be looked for reports that at its reveal.
std::vector<FoundRuns> missing_of(const Walk& walk, const std::vector<Question>& questions) {
  std::vector<FoundRuns> out;
  for (const Question& question : questions) {
    unless_wrong(question, [&] {
      add_missing(out, missing_runs({question}, walk.learner.home));
      return true;
    });
  }
  return out;
}

bool run(Walk& walk) {
  heading("Run");
  const std::vector<Question> asked = walk.of_beat(kPredictBeat, {QuestionState::committed});
  const std::vector<FoundRuns> missing = missing_of(walk, asked);
  if (missing.empty()) std::puts("  all runs that your predictions need already exist");
  if (!makes(walk, missing)) return false;
  end_beat(walk, remark_of_runs(walk));
  if (missing_of(walk, asked).empty()) walk.done("run");
  return goes_on();
}

bool reveal(Walk& walk) {
  heading("Reveal: your predictions beside what was measured");
  for (const Question& question : walk.of_beat(kPredictBeat, {QuestionState::committed})) {
    const bool walks_on = unless_wrong(question, [&] {
      reveal_and_tell(question, walk.learner, /*json=*/false);
      return goes_on();
    });
    if (!walks_on) return false;
  }
  end_beat(walk, remark_of_runs(walk));
  return goes_on();
}

bool break_it(Walk& walk) {
  heading("Break: a mistake on purpose; predict first what its run will do");
  for (const Question& question : walk.of_beat("break", {QuestionState::open, QuestionState::committed})) {
    if (!unless_wrong(question, [&] { return ask_and_reveal(walk, question); })) return false;
  }
  Remark remark = remark_of_runs(walk);
  remark.next = "another mistake of this lesson, by its name below Break on the page: ./isobar run " +
                walk.lesson.name + " --set run.fault=NAME";
  end_beat(walk, remark);
  return true;
}

/// The exercise is written in an editor, and checked whenever its writer wants to: it is only shown the way.
bool build(Walk& walk) {
  if (!has_exercise(walk.learner.home, walk.lesson.name)) return true;
  const Exercise exercise = read_exercise(walk.learner.home, walk.lesson.name);
  heading("Build: write a part of this lesson yourself");
  Report out;
  out.line(exercise.title + fmt::format(", about {} minutes", exercise.minutes));
  out.wrapped("  ", exercise.text);
  out.line(fmt::format("  ./isobar exercise {}   puts the skeleton into my/, never over a file of yours",
                       walk.lesson.name));
  out.line(fmt::format(
      "  ./isobar check {} --watch   looks at it after each save, and reports what does not hold yet",
      walk.lesson.name));
  out.print(/*as_json=*/false);
  return true;
}

LessonProgress stands_of(const LessonInfo& lesson, const std::vector<Question>& questions,
                         const CourseProgress& progress, const Learner& learner) {
  return lesson_progress(lesson.name, questions, lesson.goals.size(), has_exercise(learner.home, lesson.name),
                         progress);
}

/// What is left of a lesson: its page, a minute a question, and its runs but for those that are `known`.
double lesson_takes_s(const LessonInfo& lesson, const std::vector<Question>& questions,
                      const LessonProgress& stands, const CourseProgress& progress, const Learner& learner,
                      const std::vector<KnownRun>& known) {
  double out = 0;
  if (!stands.beats.empty() && !stands.beats.front().done) {
    std::istringstream page(page_of(lesson));
    const auto words = std::distance(std::istream_iterator<std::string>(page), {});
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
  if (!stands.beats.empty() && !stands.beats.back().done && has_exercise(learner.home, lesson.name))
    out += 60 * static_cast<double>(read_exercise(learner.home, lesson.name).minutes);
  return out + cost_s(missing);
}

/// From the beat at which the learner is; two questions of earlier lessons come first. The exit code: 0, also
/// where the learner left, else that of runs that failed or were stopped.
int walk_lesson(const LessonInfo& lesson, const Learner& learner) {
  Walk walk{lesson, learner, read_questions(learner.home, lesson.name), page_of(lesson)};
  if (!open_with_earlier(walk)) return walk.code;
  constexpr bool (*kWalks[])(Walk&) = {read, predict, run, reveal, break_it, build};
  static_assert(std::size(kWalks) == kBeats);
  for (std::size_t beat = 0; beat < std::size(kWalks); ++beat) {
    const auto beats = stands_of(lesson, walk.questions, walk.progress(), learner).beats;
    const bool done = beat < beats.size() && beats[beat].done;
    if (!done && !kWalks[beat](walk)) return walk.code;
  }
  return walk.code;
}

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
  const Json beats = json_list(stands.beats, [](const BeatState& one) {
    const std::string beat = beat_name(one.beat);
    return ISOBAR_NAMED(beat, one.done, one.of, one.so_far);
  });
  Json goals = Json::array();
  for (std::size_t i = 0; i < lesson.goals.size(); ++i)
    goals.push_back(Json{{"goal", lesson.goals[i]}, {"done", i < stands.goals.size() && stands.goals[i]}});
  const Json next = stands.next ? Json(beat_name(*stands.next)) : Json();
  Json out = {{"lesson", lesson.name}};
  add_members(out, ISOBAR_NAMED(lesson.title, beats, next, takes_s, goals));
  return out;
}

std::string lesson_standing(const LessonProgress& stands, double takes_s) {
  if (!stands.next) return "done";
  const bool begun = std::ranges::any_of(stands.beats, [](const BeatState& beat) {
    return beat.so_far > 0 || (beat.done && beat.of == 0 && beat.beat == Beat::read);
  });
  return fmt::format("{}{}, about {}", begun ? "next: " : "", begun ? beat_name(*stands.next) : "not begun",
                     about_seconds(takes_s));
}

/// All lessons, one line each, and where to continue.
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
    const LessonProgress stands = stands_of(lesson, questions, progress, learner);
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
  const LessonProgress stands = stands_of(lesson, questions, progress, learner);
  const double takes_s =
      lesson_takes_s(lesson, questions, stands, progress, learner, known_runs(learner.runs));
  out.line(lesson.name + "  " + lesson.title);
  out.line("  " + beats_text(stands));
  for (std::size_t i = 0; i < lesson.goals.size(); ++i) {
    const bool done = i < stands.goals.size() && stands.goals[i];
    out.wrapped(done ? "[x] " : "[ ] ", lesson.goals[i]);
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
      "run, reveal, break, build. It can be left at any point, and continues there",
      kLearn);
  app.add("LESSON", name, "its number or name, such as 02; without one all are listed");
  app.flag("--json", json, "one JSON object instead of the text: where you are, and nothing is asked");
  if (!app.parse(words, {.where = kLearn, .example = "02"})) return 0;
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
