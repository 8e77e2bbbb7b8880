#include "cli/learn_beats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>

#include "analyse/run_case.h"
#include "cli/ask_question.h"
#include "cli/case_text.h"
#include "cli/plain_page.h"
#include "cli/question_text.h"
#include "cli/report.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
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
  int code = 0;      ///< of runs

  std::vector<Question> of_beat(const std::string& beat) const {
    std::vector<Question> out;
    std::copy_if(questions.begin(), questions.end(), std::back_inserter(out),
                 [&](const Question& question) { return question.beat == beat; });
    return out;
  }
  CourseProgress progress() const { return read_progress(learner.progress); }
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
bool goes_on(const std::string& prompt = "  (Enter = continue, q = quit): ") {
  const std::optional<std::string> typed = typed_line(prompt);
  return typed && *typed != "q" && *typed != "quit";
}

struct Remark {
  std::string notice;
  std::string next;
};

/// Of the newest run of the lesson that was measured here to its end.
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

/// "2 of 3 guesses here were right"; how far numbers were off.
std::string guesses_text(const Walk& walk) {
  const CourseProgress progress = walk.progress();
  std::size_t stored = 0, revealed = 0, right = 0;
  for (const Question& question : walk.questions) {
    const QuestionState state = state_of(question, progress);
    if (state == QuestionState::committed) ++stored;
    if (state != QuestionState::revealed) continue;
    ++revealed;
    if (progress.reveal(question.id)->outcome == outcome_name(Outcome::right)) ++right;
  }
  std::vector<std::string> parts;
  if (stored + revealed == 0) parts.emplace_back("no prediction here yet");
  if (revealed > 0) parts.push_back(fmt::format("{} of {} guesses here were right", right, revealed));
  if (stored > 0)
    parts.push_back(counted(static_cast<std::int64_t>(stored), "prediction") + " not revealed yet");
  if (const std::string sentence = calibration_sentence(calibrate(progress)); !sentence.empty())
    parts.push_back(sentence);
  return joined(parts, "; ");
}

/// What a beat leaves: one thing to notice, one to try, and how the guesses did.
void end_beat(const Walk& walk, const Remark& remark) {
  Report out;
  out.line("");
  add_remark(out, remark.notice, remark.next, text_columns());
  out.headed("guesses", guesses_text(walk), text_columns());
  out.print(/*as_json=*/false);
}

/// `walks` is false where the learner left. What is wrong with one question is said, and the next one comes.
bool unless_wrong(const Question& question, const std::function<bool()>& walks) {
  try {
    return walks();
  } catch (const Error& error) {
    say_error(question.id + ": ", error);
    return true;
  }
}

/// From a stored answer over its runs to the reveal. False: the learner left, or its runs failed.
bool run_and_reveal(Walk& walk, const Question& question) {
  const RunsOffered offered = offer_runs(missing_runs({question}, walk.learner.home), walk.learner,
                                         /*ask=*/true, /*quiet=*/false);
  walk.code = offered.code;
  if (offered.code != 0 || offered.said == Asked::left) return false;
  reveal_and_tell(question, walk.learner, /*json=*/false);
  return goes_on();
}

/// Asks unless an answer is stored, and goes on to the reveal. False as above, or the learner left.
bool ask_and_reveal(Walk& walk, const Question& question) {
  if (state_of(question, walk.progress()) != QuestionState::committed) {
    const Asked asked = ask_and_store(question, walk.learner);
    if (asked != Asked::answered) return asked == Asked::skipped;
  }
  return run_and_reveal(walk, question);
}

/// Questions of earlier lessons, asked again. False: the learner left.
bool open_with_earlier(Walk& walk) {
  const CourseQuestions all = all_questions(walk.learner.home);
  for (const Question& question : opening_questions(all.questions, walk.lesson.name)) {
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
  for (const Question& question : walk.of_beat(kPredictBeat)) {
    if (state_of(question, walk.progress()) != QuestionState::open) continue;
    if (ask_and_store(question, walk.learner) == Asked::left) return false;
  }
  end_beat(walk, {.notice = "your answers are stored and will be compared with the measurements",
                  .next = "./isobar quiz " + walk.lesson.name + " --list"});
  return goes_on();
}

/// What its questions lack; one whose runs cannot be looked for says so at its reveal.
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
  std::vector<Question> asked;
  for (const Question& question : walk.of_beat(kPredictBeat)) {
    if (state_of(question, walk.progress()) == QuestionState::committed) asked.push_back(question);
  }
  const std::vector<FoundRuns> missing = missing_of(walk, asked);
  if (missing.empty()) std::puts("  all runs that your predictions need already exist");
  const RunsOffered offered = offer_runs(missing, walk.learner, /*ask=*/true, /*quiet=*/false);
  walk.code = offered.code;
  if (offered.code != 0 || offered.said == Asked::left) return false;
  end_beat(walk, remark_of_runs(walk));
  if (missing_of(walk, asked).empty()) walk.done("run");
  return goes_on();
}

bool reveal(Walk& walk) {
  heading("Reveal: your predictions beside what was measured");
  for (const Question& question : walk.of_beat(kPredictBeat)) {
    if (state_of(question, walk.progress()) != QuestionState::committed) continue;
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
  heading("Break: a mistake on purpose; say first what its run will do");
  for (const Question& question : walk.of_beat("break")) {
    if (state_of(question, walk.progress()) == QuestionState::revealed) continue;
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
  out.wrapped("  ", exercise.text, text_columns());
  out.line(fmt::format("  ./isobar exercise {}   puts the skeleton into my/, never over a file of yours",
                       walk.lesson.name));
  out.line(fmt::format(
      "  ./isobar check {} --watch   looks at it after each save, and says what does not hold yet",
      walk.lesson.name));
  out.print(/*as_json=*/false);
  return true;
}

}  // namespace

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
    } catch (const Error&) {  // the question itself says why its runs cannot be looked for
    }
  }
  if (!stands.beats.empty() && !stands.beats.back().done && has_exercise(learner.home, lesson.name))
    out += 60 * static_cast<double>(read_exercise(learner.home, lesson.name).minutes);
  return out + cost_s(missing);
}

int walk_lesson(const LessonInfo& lesson, const Learner& learner) {
  Walk walk{lesson, learner, read_questions(learner.home, lesson.name), page_of(lesson)};
  if (!open_with_earlier(walk)) return walk.code;
  constexpr bool (*kWalks[])(Walk&) = {read, predict, run, reveal, break_it, build};
  static_assert(std::size(kWalks) == kBeats);
  for (int beat = 0; beat < kBeats; ++beat) {
    const LessonProgress stands = lesson_progress(lesson.name, walk.questions, lesson.goals.size(),
                                                  has_exercise(learner.home, lesson.name), walk.progress());
    const auto& beats = stands.beats;
    const bool done =
        static_cast<std::size_t>(beat) < beats.size() && beats[static_cast<std::size_t>(beat)].done;
    if (!done && !kWalks[beat](walk)) return walk.code;
  }
  return walk.code;
}

}  // namespace isobar
