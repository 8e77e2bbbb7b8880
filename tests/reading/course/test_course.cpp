// One question from a prediction to its reveal, and the parts of a lesson.
#include <fstream>

#include "core/files.h"
#include "course/course.h"
#include "reading/course/asked.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// A learner with a progress file and a folder of runs of their own.
struct Learner {
  TempFolder folder;
  std::vector<Question> questions = asked_questions();
  fs::path file = folder / "progress.jsonl";

  void answer(std::size_t which, const std::string& typed) const {
    ProgressWriter(file).commit(questions.at(which), parse_answer(questions.at(which), typed));
  }
  Revealed reveal(std::size_t which) const {
    return reveal_question(questions.at(which), project_home(), folder / "runs", file);
  }
  QuestionState state(std::size_t which) const { return state_of(questions.at(which), read_progress(file)); }
  LessonProgress progress(bool builds = false) const {
    return lesson_progress("02_workers", questions, 2, builds, read_progress(file));
  }
};

/// The line of the page that the question of `asked.h` asks for.
std::string backward_line() {
  std::ifstream page(project_home() / "lessons/02_workers/main.cpp");
  int number = 1;
  for (std::string line; std::getline(page, line); ++number) {
    if (line.find("loss.backward") != std::string::npos) return std::to_string(number);
  }
  FAIL("no such line");
  return "";
}

/// Stored as if it had been revealed, without runs.
void store_reveal(const Learner& learner, std::size_t which, Outcome outcome) {
  Graded graded;
  graded.outcome = outcome;
  const StoredAnswer answer = *read_progress(learner.file).answer(learner.questions.at(which).id);
  ProgressWriter(learner.file).reveal(answer, graded, Truth{}, {});
}

}  // namespace

TEST_CASE("a right prediction is revealed as right, and written down") {
  const Learner learner;
  CHECK(learner.state(2) == QuestionState::open);
  learner.answer(2, backward_line());
  CHECK(learner.state(2) == QuestionState::committed);
  const Revealed out = learner.reveal(2);
  CHECK(out.graded.outcome == Outcome::right);
  CHECK(out.graded.reveal == "Line " + backward_line() + ".");
  CHECK(out.command.empty());
  CHECK(learner.state(2) == QuestionState::revealed);
  CHECK(read_progress(learner.file).reveal("02.line_of_backward")->outcome == "right");
}

TEST_CASE("a wrong prediction gets its misconception, and may be answered again") {
  const Learner learner;
  learner.answer(2, "1");
  const Revealed out = learner.reveal(2);
  CHECK(out.graded.outcome == Outcome::not_right);
  CHECK(out.graded.says == "Line " + backward_line() + " comes later.");
  CHECK(read_progress(learner.file).reveal("02.line_of_backward")->outcome == "not right");
  learner.answer(2, backward_line());
  CHECK(learner.state(2) == QuestionState::committed);
  CHECK(learner.reveal(2).graded.outcome == Outcome::right);
}

TEST_CASE("nothing is revealed before a prediction is stored") {
  const Learner learner;
  CHECK_THAT(
      error_of([&] { learner.reveal(2); }),
      says("nothing is revealed before a prediction is stored") && says("./isobar quiz 02.line_of_backward"));
  CHECK_FALSE(fs::exists(learner.file));
}

TEST_CASE("what runs are missing for stays committed, and the command that makes the first is said") {
  const Learner learner;
  learner.answer(0, "4");
  const Revealed out = learner.reveal(0);
  CHECK(out.graded.outcome == Outcome::cannot_answer);
  CHECK_FALSE(out.truth.cannot.empty());
  CHECK_THAT(out.command, says("./isobar run 02_workers"));
  CHECK(out.runs.empty());
  CHECK(learner.state(0) == QuestionState::committed);
  CHECK(read_progress(learner.file).reveals.empty());
}

TEST_CASE("a stored answer that the question no longer has is refused, not graded") {
  Learner learner;
  learner.answer(1, "rises");
  learner.questions[1].choices[1].key = "climbs";
  CHECK_THAT(error_of([&] { learner.reveal(1); }),
             says("\"rises\" is none of the choices") && says("./isobar quiz 02.no_throttle --again"));
}

TEST_CASE("a recorded run answers a question, and its source is said") {
  Learner learner;
  std::string text = replaced(all_kinds(), "rule = \"best\"", "rule = \"value\"");
  text = replaced(text, "with = { runs = [\"w1\", \"w4\"], of = \"samples_per_s\" }",
                  "with = { run = \"w1\", of = \"steps_per_epoch\" }");
  text = replaced(text, "unit = \"workers\"", "unit = \"steps\"");
  text = replaced(text, "{truth}: {best_value} samples/s.", "{truth}.");
  text = replaced(text, "set = [\"data.workers=1\"]",
                  "lesson = \"01_baseline\"\nrecorded = \"01_baseline/recorded/a100-2023\"");
  text = replaced(text, "[[question.run]]\nname = \"w4\"\nset = [\"data.workers=4\"]\nsteps = 60\n", "");
  learner.questions = parse_questions(text, "q.toml", "02_workers");
  learner.answer(0, "2372");
  const Revealed out = learner.reveal(0);
  INFO(out.truth.cannot);
  REQUIRE(out.graded.outcome == Outcome::right);
  CHECK_THAT(out.graded.source, says("recorded on"));
  REQUIRE(out.runs.size() == 1);
  CHECK_THAT(out.runs[0], says("a100-2023"));
  const StoredReveal reveal = read_progress(learner.file).reveals.at(0);
  CHECK(reveal.number == 2372.0);
  CHECK_FALSE(reveal.formula_ms);  // it was not measured here
}

TEST_CASE("a lesson goes on where its first part is not done") {
  const Learner learner;  // a question of goal 1, one of goal 2
  LessonProgress now = learner.progress();
  REQUIRE(now.parts.size() == 4);
  CHECK(now.parts.at(now.next.value()).name() == "read");
  CHECK((now.parts[1].name() == "goal 1" && now.parts[3].name() == "build"));
  ProgressWriter writer(learner.file);
  writer.done("02_workers", "read");
  now = learner.progress();
  CHECK(now.next == 1U);
  CHECK(now.parts[0].ticked);
  learner.answer(2, "1");
  CHECK(learner.progress().next == 1U);
  store_reveal(learner, 2, Outcome::right);
  now = learner.progress();
  CHECK(now.parts[1].so_far == 1);
  CHECK(now.parts[1].ticked);
  CHECK(now.next == 2U);
  learner.answer(0, "4");
  store_reveal(learner, 0, Outcome::not_right);
  now = learner.progress();
  CHECK(now.parts[2].done);
  CHECK_FALSE(now.parts[2].ticked);
  CHECK_FALSE(now.next);
  CHECK_FALSE(now.parts.back().ticked);  // there is nothing to build
  CHECK(learner.progress(/*builds=*/true).next == 3U);
  writer.done("02_workers", "build");
  CHECK_FALSE(learner.progress(/*builds=*/true).next);
  CHECK(learner.progress(/*builds=*/true).parts.back().ticked);
  CHECK(learner.progress(/*builds=*/true).parts.back().help.empty());
  for (const char* const what : {"hint order 2", "hint order 3", "hint order 2"})
    writer.done("02_workers", what);
  CHECK(learner.progress(/*builds=*/true).parts.back().help == "with 2 hints");
  writer.done("02_workers", "solution");
  CHECK(learner.progress(/*builds=*/true).parts.back().help == "with the solution, 2 hints");
  const LessonProgress silent =
      lesson_progress("01_baseline", {}, 1, /*builds=*/false, read_progress(learner.file));
  CHECK(silent.parts[1].done);
  CHECK_FALSE(silent.parts[1].ticked);  // passed over, without a tick
}

TEST_CASE("runs to make are no duty of a goal, and a right one makes good a wrong answer") {
  Learner learner;
  learner.questions[3].goal = 2;  // the one that is made
  learner.answer(0, "4");
  store_reveal(learner, 0, Outcome::right);
  CHECK(learner.progress().goals.at(1).of == 1);
  CHECK(learner.progress().goals.at(1).earned);
  learner.answer(0, "1");
  store_reveal(learner, 0, Outcome::not_right);
  CHECK_FALSE(learner.progress().goals.at(1).earned);
  learner.answer(3, "a b");
  store_reveal(learner, 3, Outcome::right);
  CHECK(learner.progress().goals.at(1).earned);
}

TEST_CASE("a progress file of before goals is kept, and its goals are worked out") {
  const Learner learner;
  std::ofstream(learner.file)
      << R"({"schema":1,"kind":"beat","lesson":"02_workers","beat":"read"})"
         "\n"
      << R"({"schema":1,"kind":"beat","lesson":"02_workers","beat":"run"})"
         "\n"
      << R"({"schema":1,"kind":"answer","id":"02.best_workers","answer":"4","number":4})"
         "\n"
      << R"({"schema":1,"kind":"reveal","id":"02.best_workers","outcome":"right"})"
         "\n";
  const LessonProgress now = learner.progress();
  CHECK(now.goals.at(1).earned);
  CHECK(now.next == 1U);
  CHECK(read_progress(learner.file).problems.empty());
}

TEST_CASE("a goal is asked in rounds of two to four, and what breaks comes last") {
  const auto lengths = [](std::size_t predicts, std::size_t breaks) {
    std::vector<Question> all(predicts + breaks);
    for (std::size_t i = 0; i < predicts; ++i) all[breaks + i].beat = "predict";
    for (std::size_t i = 0; i < breaks; ++i) all[i].beat = kBreakBeat;
    for (Question& one : all) one.goal = 1;
    std::vector<std::size_t> out;
    for (const std::vector<Question>& round : rounds_of(questions_of(all, 1))) {
      out.push_back(round.size());
      for (const Question& one : round) CHECK(one.beat == round.front().beat);
    }
    return out;
  };
  CHECK(lengths(4, 1) == std::vector<std::size_t>{4, 1});
  CHECK(lengths(5, 0) == std::vector<std::size_t>{2, 3});
  CHECK(lengths(9, 4) == std::vector<std::size_t>{3, 3, 3, 4});
  CHECK(lengths(0, 0).empty());
}

TEST_CASE("what was revealed is told again with the runs that are there, or not at all") {
  Learner learner;
  learner.answer(2, backward_line());
  const auto again = [&](std::size_t which) {
    const Question& question = learner.questions.at(which);
    const std::vector<FoundRuns> found =
        find_runs(question, project_home(), learner.folder / "runs", nullptr);
    return recalled(question, read_progress(learner.file), project_home(), found);
  };
  CHECK_FALSE(again(2));  // nothing was revealed
  learner.reveal(2);
  REQUIRE(again(2));
  CHECK(again(2)->graded.outcome == Outcome::right);
  CHECK(again(2)->graded.reveal == "Line " + backward_line() + ".");
  CHECK(again(2)->answer.text == backward_line());
  // The runs of this one are not there any more: "cannot answer" is not what came of it.
  learner.answer(0, "4");
  store_reveal(learner, 0, Outcome::right);
  CHECK_FALSE(again(0));
  // The page is another one by now: what was written down stays.
  learner.answer(2, "1");
  store_reveal(learner, 2, Outcome::right);
  CHECK_FALSE(again(2));
  // The question is another one by now.
  learner.answer(1, "rises");
  store_reveal(learner, 1, Outcome::right);
  learner.questions[1].choices[1].key = "climbs";
  CHECK_FALSE(recalled(learner.questions[1], read_progress(learner.file), project_home(), {}));
}

TEST_CASE("a number is told again in the unit that it was stored in") {
  Learner learner;
  std::string text = replaced(all_kinds(), "rule = \"best\"", "rule = \"formula\"");
  text = replaced(text, "with = { runs = [\"w1\", \"w4\"], of = \"samples_per_s\" }",
                  "with = { name = \"upload_ms\", preset = \"cpu_micro\", gb_per_s = 1 }");
  text = replaced(text, "unit = \"workers\"", "unit = \"ms\"\ntolerance = 1");
  text = replaced(text, "{truth}: {best_value} samples/s.", "{truth}.");
  text = replaced(text, "[[question.run]]\nname = \"w1\"\nset = [\"data.workers=1\"]\n", "");
  text = replaced(text, "[[question.run]]\nname = \"w4\"\nset = [\"data.workers=4\"]\nsteps = 60\n", "");
  text = replaced(text,
                  "wrong = [\n  { answer = \"16\", says = \"More threads than {best} share the same "
                  "processors.\" },\n  { answer = \"below\", says = \"{you} cannot keep up.\" },\n]\n",
                  "");
  learner.questions =
      parse_questions(replaced(text, "cpu_micro\", gb", "huge\", gb"), "q.toml", "02_workers");
  learner.answer(0, "0.5 ms");
  CHECK_THAT(error_of([&] { learner.reveal(0); }),
             says("error: 02.best_workers: ") && says("huge") && says("where: q.toml:"));
  learner.questions = parse_questions(text, "q.toml", "02_workers");
  const Outcome first = learner.reveal(0).graded.outcome;
  learner.questions[0].unit = "us";
  const auto again = recalled(learner.questions[0], read_progress(learner.file), project_home(), {});
  REQUIRE(again);
  CHECK(again->graded.outcome == first);
  CHECK(again->graded.said == "500 us");
}

TEST_CASE("a question's section of reveal.md is cut out") {
  const TempFolder home;
  const Question question = asked_questions().at(0);
  CHECK(reveal_page(home.path(), question).empty());
  fs::create_directories(home / "lessons/02_workers");
  std::ofstream(home / "lessons/02_workers/reveal.md")
      << "# Revealed\n\n## best_workers_of_all\nno\n\n## best_workers\r\n\nFour.\n\n```\n## no "
         "title\n```\n\n### more\n"
         "x\n\n## table\nno\n";
  CHECK(reveal_page(home.path(), question) == "Four.\n\n```\n## no title\n```\n\n### more\nx");
  CHECK(reveal_page(home.path(), asked_questions().at(3)).empty());
}
