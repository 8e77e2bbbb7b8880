#include "cli/lesson_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "cli/case_text.h"
#include "cli/course_text.h"
#include "cli/report.h"
#include "core/find.h"
#include "core/text.h"
#include "course/page_section.h"
#include "course/variant.h"
#include "exercise/exercise.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

struct Walk {
  const LessonInfo& lesson;
  const Learner& learner;
  LessonForm form = {};
  std::vector<Question> questions = {};
  std::vector<PagePiece> pieces = {};  ///< parts of its page
  int code = 0;                        ///< exit code of runs
  bool is_busy = false;                ///< other programs disturbed runs for times

  CourseProgress progress() const { return read_progress(learner.progress); }
  LessonProgress stands() const { return stands_of(lesson, questions, progress(), learner); }
  void done(const std::string& what) const { ProgressWriter(learner.progress).done(lesson.name, what); }
};

void heading(const std::string& text) {
  std::puts("");
  Report out;
  out.wrapped("== ", text, text_columns());
  out.print(/*as_json=*/false);
}

/// Waits for Enter; false for q and the end of input.
bool goes_on() {
  const std::optional<std::string> typed = typed_line("  (Enter = continue, q = quit): ");
  return typed && *typed != "q" && *typed != "quit";
}

/// The page's own figures come on request.
bool goes_on_from(const Walk& walk, const Question& question) {
  const std::string page = page_if_read(question, walk.learner);
  if (page.empty()) return goes_on();
  for (;;) {
    const std::optional<std::string> typed =
        typed_line("  (Enter = continue, p = the page's own figures, q = quit): ");
    if (!typed || *typed == "q" || *typed == "quit") return false;
    if (*typed != "p") return true;
    Report out;
    add_page(out, page, text_columns());
    out.print(/*as_json=*/false);
  }
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

/// False: the learner left.
bool show_pieces(const Walk& walk, const std::function<bool(const std::string& title)>& is_shown) {
  for (const PagePiece& piece : walk.pieces) {
    if (!is_shown(piece.title)) continue;
    Report out;
    out.line("");
    if (!piece.text.starts_with("**")) out.line(piece.title);
    add_page_part(out, piece.text, walk.lesson.name);
    out.print(/*as_json=*/false);
    if (!goes_on()) return false;
  }
  return true;
}

/// The runs of several questions, each once. False: the learner left, or a run failed.
bool makes(Walk& walk, const std::vector<Question>& questions) {
  std::vector<FoundRuns> missing;
  for (const Question& question : questions) {
    unless_wrong(question, [&] {
      add_missing(missing, missing_runs({question}, walk.learner.home));
      return true;
    });
  }
  const RunsOffered offered = offer_runs(missing, walk.learner, /*ask=*/true, /*quiet=*/false);
  walk.code = offered.code;
  walk.is_busy = offered.is_busy;
  return offered.code == 0 && offered.said != Asked::left;
}

/// The variant of each that stands.
std::vector<Question> standing(const Walk& walk, const std::vector<Question>& questions,
                               QuestionState state) {
  std::vector<Question> out;
  const CourseProgress progress = walk.progress();
  for (const Question& question : questions) {
    if (state_of(question, progress) == state) out.push_back(as_asked(question, progress, /*again=*/false));
  }
  return out;
}

/// Two to four questions, their runs, and what came of them. False: the learner left.
bool walk_round(Walk& walk, const std::vector<Question>& round) {
  for (const Question& question : standing(walk, round, QuestionState::open)) {
    if (ask_and_store(question, walk.learner) == Asked::left) return false;
  }
  const std::vector<Question> answered = standing(walk, round, QuestionState::committed);
  if (!makes(walk, answered)) return false;
  for (const Question& question : answered) {
    const bool walks_on = unless_wrong(question, [&] {
      reveal_and_tell(question, walk.learner, /*json=*/false, walk.is_busy);
      return goes_on_from(walk, question);
    });
    if (!walks_on) return false;
  }
  return true;
}

void end_goal(const Walk& walk, const LessonForm::Goal& goal, int number) {
  const GoalState stands = walk.stands().goals.at(static_cast<std::size_t>(number - 1));
  Report out;
  out.line("");
  if (!goal.notice.empty()) add_remark(out, goal.notice, goal.next, text_columns());
  out.headed("goal",
             stands.earned          ? "earned"
             : stands.waits         ? "numbers wait for runs on a quiet machine: ./isobar quiz --when-quiet"
             : stands.again.empty() ? "not earned yet"
                                    : "not earned yet: it is asked again, with something new",
             text_columns());
  out.headed("guesses", guesses_text(walk.questions, walk.progress()), text_columns());
  out.print(/*as_json=*/false);
}

const LessonForm::Goal& form_of(const Walk& walk, int number) {
  static const LessonForm::Goal kNone;
  const auto index = static_cast<std::size_t>(number - 1);
  return index < walk.form.goals.size() ? walk.form.goals[index] : kNone;
}

bool walk_goal(Walk& walk, int number) {
  const std::vector<Question> questions = questions_of(walk.questions, number);
  if (questions.empty()) return true;
  const LessonForm::Goal& form = form_of(walk, number);
  heading(fmt::format("Goal {} of {}: {}", number, walk.lesson.goals.size(),
                      walk.lesson.goals[static_cast<std::size_t>(number - 1)]));
  const bool is_new = standing(walk, questions, QuestionState::open).size() == questions.size();
  const auto reads = [&](const std::string& title) { return holds(form.reads, title); };
  if (is_new && !show_pieces(walk, reads)) return false;
  for (const std::vector<Question>& round : rounds_of(questions)) {
    if (standing(walk, round, QuestionState::revealed).size() == round.size()) continue;
    if (round.front().kind == AnswerKind::make) {
      say("Now on your own: make the runs that are asked for in another terminal; skip leaves it for later.");
    } else if (round.front().beat == kBreakBeat) {
      say("A mistake on purpose: predict first what its run will do.");
    }
    if (!walk_round(walk, round)) return false;
  }
  if (const GoalState stands = walk.stands().goals[static_cast<std::size_t>(number - 1)];
      stands.revealed < stands.of)
    return true;
  const auto closes = [&](const std::string& title) { return holds(form.closes, title); };
  if (!show_pieces(walk, closes)) return false;
  end_goal(walk, form, number);
  return goes_on();
}

/// Questions of goals that are not earned, with other numbers. False: the learner left.
bool try_again(Walk& walk) {
  bool begun = false;
  for (std::size_t i = 0; i < walk.lesson.goals.size(); ++i) {
    std::size_t at = 0;
    for (GoalState goal = walk.stands().goals[i]; !goal.again.empty(); goal = walk.stands().goals[i]) {
      if (!begun)
        heading(
            "Again, with something new: after wrong answers two right ones in a row earn a goal, one after "
            "one");
      begun = true;
      say(fmt::format("Goal {}: {}", i + 1, walk.lesson.goals[i]));
      const Question* const next =
          find_by(walk.questions, &Question::id, goal.again[at++ % goal.again.size()]);
      const Question question = as_asked(*next, walk.progress(), /*again=*/true);
      const bool walks_on = unless_wrong(question, [&] {
        const Asked asked = ask_and_store(question, walk.learner);
        if (asked == Asked::skipped) goal.again.clear();
        return asked != Asked::left && (asked == Asked::skipped || walk_round(walk, {question}));
      });
      if (!walks_on) return false;
      if (goal.again.empty()) break;
    }
    const GoalState left = walk.stands().goals[i];
    if (left.of > 0 && left.revealed == left.of && !left.earned && !left.waits && left.again.empty())
      say(fmt::format(
          "Goal {} is not earned, and all that it asks was revealed by now: ./isobar quiz {} --again goes "
          "over it once more.",
          i + 1, walk.lesson.name));
  }
  return true;
}

/// Questions of earlier lessons that were read. False: the learner left.
bool open_with_earlier(Walk& walk) {
  const CourseQuestions all = all_questions(walk.learner.home);
  for (const Question& one : opening_questions(all, walk.lesson.name)) {
    const std::string mark = "opening " + one.id;
    const CourseProgress progress = walk.progress();
    if (progress.has_done(walk.lesson.name, mark) || !progress.has_done(one.lesson, "read")) continue;
    const bool is_again = state_of(one, progress) == QuestionState::revealed;
    if (is_again && !has_new(one, progress)) continue;
    const Question question = as_asked(one, progress, is_again);
    heading("First, a question from lesson " + question.lesson);
    const bool walks_on = unless_wrong(question, [&] {
      const Asked asked = ask_and_store(question, walk.learner);
      if (asked == Asked::left) return false;
      if (asked == Asked::answered && !walk_round(walk, {question})) return false;
      walk.done(mark);
      return true;
    });
    if (!walks_on) return false;
  }
  return true;
}

/// What no goal reads by itself.
bool read(Walk& walk) {
  heading("Read");
  const auto is_of_goal = [&](const std::string& title) {
    return std::ranges::any_of(walk.form.goals, [&](const LessonForm::Goal& goal) {
      return holds(goal.reads, title) || holds(goal.closes, title);
    });
  };
  if (!show_pieces(walk, [&](const std::string& title) { return !is_of_goal(title); })) return false;
  const std::string folder = as_typed(walk.lesson.file.parent_path()).string();
  say("The whole page is " + folder + "/README.md, the code " + folder +
      "/main.cpp. An answer may end with " +
      "\"because ...\": your reason is kept, and shown where the same idea returns.");
  walk.done("read");
  return true;
}

/// The exercise is written in an editor, and checked whenever its writer wants to: it is only shown the way.
void build(const Walk& walk) {
  if (!has_exercise(walk.learner.home, walk.lesson.name)) return;
  const Exercise exercise = read_exercise(walk.learner.home, walk.lesson.name);
  heading("Build: write a part of this lesson yourself");
  Report out;
  out.line(exercise.title + fmt::format(", about {} minutes", exercise.minutes));
  if (!exercise.first.empty()) out.wrapped("  ", exercise.first_step());
  out.wrapped("  ", exercise.text);
  out.line(fmt::format("  ./isobar exercise {}   puts the skeleton into my/, never over a file of yours",
                       walk.lesson.name));
  out.line(fmt::format(
      "  ./isobar check {} --watch   looks at it after each save, and reports what does not hold yet",
      walk.lesson.name));
  out.print(/*as_json=*/false);
}

}  // namespace

std::string page_of(const LessonInfo& lesson) {
  const fs::path file = lesson.file.parent_path() / "README.md";
  std::error_code code;
  return fs::exists(file, code) ? read_text_file(file, kMostPageBytes) : "";
}

LessonProgress stands_of(const LessonInfo& lesson, const std::vector<Question>& questions,
                         const CourseProgress& progress, const Learner& learner) {
  return lesson_progress(lesson.name, questions, lesson.goals.size(), has_exercise(learner.home, lesson.name),
                         progress);
}

int walk_lesson(const LessonInfo& lesson, const Learner& learner, bool core) {
  Walk walk{.lesson = lesson, .learner = learner};
  walk.questions = read_questions(learner.home, lesson.name, &walk.form);
  if (core) std::erase_if(walk.questions, [](const Question& one) { return !one.is_core; });
  walk.pieces = page_pieces(page_of(lesson));
  if (!open_with_earlier(walk)) return walk.code;
  for (const LessonPart& part : walk.stands().parts) {
    if (part.done || part.kind == PartKind::build) continue;
    if (!(part.kind == PartKind::read ? read(walk) : walk_goal(walk, part.goal))) return walk.code;
  }
  if (try_again(walk) && !walk.stands().parts.back().done) build(walk);
  return walk.code;
}

}  // namespace isobar
