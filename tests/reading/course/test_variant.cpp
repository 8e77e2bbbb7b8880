// Questions that draw their numbers, goals that are earned by something new, and the order of choices.
#include "course/course.h"
#include "course/rules.h"
#include "course/variant.h"
#include "reading/course/asked.h"
#include "support/errors.h"
#include "support/says.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

const std::string kDrawn = R"(
[[question]]
id = "02.bytes"
from = "Isobar"
kind = "number"
beat = "predict"
goal = 1
unit = "MB"
tolerance = 0.01
draw = { ranks = [4, 8, 2, 5], mb = [100, 60, 40, 30] }
ask = "{ranks} ranks, {mb} MB: how many?"
why = "It travels."
rule = "calculation"
with = { is = "2 * ({ranks} - 1) * {mb} / {ranks}", beside = ["chunk {mb} / {ranks}"] }
hints = ["A chunk is {mb} / {ranks}."]
wrong = [{ answer = "{mb}", says = "It is {value}: {chunk} in each of the steps.", about = "once" }]
reveal = "{value} MB."
)";

std::vector<Question> parsed(const std::string& text) {
  return parse_questions(text, "q.toml", "02_workers");
}

Question drawn_question() { return parsed(kDrawn).at(0); }

/// Somebody who answers the questions of goal 1 in turn, graded by their rules.
struct Answering {
  TempFolder folder;
  std::filesystem::path file = folder / "progress.jsonl";
  Question question = drawn_question();

  CourseProgress progress() const { return read_progress(file); }
  GoalState goal() const {
    return lesson_progress("02_workers", {question}, 1, /*builds=*/false, progress()).goals.at(0);
  }
  /// Answers what is asked now; the text of what was asked.
  std::string answer(bool right, bool again = true) const {
    const Question asked = as_asked(question, progress(), again);
    const Truth truth = rule_named(asked.rule)->find({.question = asked, .runs = {}, .home = {}});
    const double number = right ? truth.number : truth.number * 3;
    ProgressWriter(file).commit(asked, parse_answer(asked, std::to_string(number)));
    reveal_question(question, project_home(), folder / "runs", file);
    return asked.ask;
  }
};

}  // namespace

TEST_CASE("a question is asked with the values that it draws, in all of its texts") {
  const Question question = drawn_question();
  CHECK(question.ask == "4 ranks, 100 MB: how many?");
  CHECK(question.variants.size() == 4);
  const Question second = variant(question, 1);
  CHECK(second.ask == "8 ranks, 60 MB: how many?");
  CHECK(second.argument("is") == "2 * (8 - 1) * 60 / 8");
  CHECK(second.hints.at(0) == "A chunk is 60 / 8.");
  CHECK(second.wrong.at(0).answer == "60");
  const Truth truth = rule_named("calculation")->find({.question = second, .runs = {}, .home = {}});
  CHECK(truth.number == 105);
  CHECK(truth.figures.at("chunk") == "7.50");
  const Graded wrong = grade(second, parse_answer(second, "60"), truth);
  CHECK(wrong.says == "It is 105: 7.50 in each of the steps.");
  CHECK(wrong.about == "once");
  CHECK(variant_of(question, drawn_text(second.drawn))->ask == second.ask);
  CHECK_FALSE(variant_of(question, "mb=1 ranks=1"));
  CHECK(variant_of(question, "")->ask == question.ask);
}

TEST_CASE("lists of one length go together, others are combined; a bad draw is refused where it stands") {
  const auto with = [](const std::string& draw) {
    return replaced(kDrawn, "draw = { ranks = [4, 8, 2, 5], mb = [100, 60, 40, 30] }", "draw = " + draw);
  };
  CHECK(parsed(with("{ ranks = [4, 8], mb = [100, 60, 40] }")).at(0).variants.size() == 6);
  const auto error = [&](const std::string& draw) { return error_of([&] { parsed(with(draw)); }); };
  CHECK_THAT(error("{ ranks = [4, 8], mb = [100, 60] }"),
             says("02.bytes: draw has 2 variants") && says("3 to 60") && says("q.toml:2"));
  CHECK_THAT(error("{ ranks = [4, 0, 8], mb = [1, 2, 3] }"), says("it has no value"));
  CHECK_THAT(error("{ ranks = [4, 3, 8] }"), says("cannot be worked out") && says("{mb}"));
  CHECK_THAT(error("{ ranks = \"four\", mb = 100 }"),
             says("draw.mb wants a list") || says("draw.ranks wants a list"));
  CHECK_THAT(error_of([&] { parsed(replaced(kDrawn, "* ({ranks} - 1)", "* ({ranks} - 1")); }),
             says("a bracket is not closed"));
  CHECK_THAT(error_of([&] { parsed(replaced(kDrawn, "\"2 * (", "\"root(2) * (")); }),
             says("no function root"));
  CHECK_THAT(error_of([&] { parsed(replaced(kDrawn, "\"2 * (", "\"" + std::string(30, '(') + "2 * (")); }),
             says("too many brackets"));
}

TEST_CASE("a goal is earned by right first answers") {
  const Answering learner;
  CHECK_FALSE(learner.goal().earned);
  learner.answer(true, false);
  CHECK(learner.goal().earned);
}

TEST_CASE("after a wrong answer a goal is earned by right ones to something new, two where two were wrong") {
  const Answering learner;
  CHECK(learner.answer(false, false) == "4 ranks, 100 MB: how many?");
  CHECK(learner.goal().again == std::vector<std::string>{"02.bytes"});
  CHECK(learner.answer(true) == "8 ranks, 60 MB: how many?");
  CHECK(learner.goal().earned);
  CHECK(learner.goal().again.empty());
  const Answering other;
  other.answer(false, false);
  other.answer(false);
  other.answer(true);
  CHECK_FALSE(other.goal().earned);
  CHECK(other.answer(true) == "5 ranks, 30 MB: how many?");
  CHECK(other.goal().earned);
}

TEST_CASE("what was revealed once earns nothing: neither the same question nor all answers in turn") {
  const Answering learner;
  learner.answer(false, false);
  for (int i = 0; i < 3; ++i) learner.answer(false);
  CHECK(learner.goal().again.empty());                          // all were seen
  CHECK(learner.answer(true) == "4 ranks, 100 MB: how many?");  // the one that was seen longest ago
  CHECK(learner.answer(true) == "8 ranks, 60 MB: how many?");
  CHECK_FALSE(learner.goal().earned);
}

TEST_CASE("an answer keeps its variant, and is graded against it") {
  const Answering learner;
  learner.answer(false, false);
  const Question second = as_asked(learner.question, learner.progress(), /*again=*/true);
  ProgressWriter(learner.file).commit(second, parse_answer(second, "105"), {}, "it travels twice");
  const CourseProgress progress = learner.progress();
  CHECK(progress.answers.back().drawn == "mb=60 ranks=8");
  CHECK(progress.answers.back().thought == "it travels twice");
  CHECK(as_asked(learner.question, progress, /*again=*/false).ask == second.ask);
  const Revealed revealed =
      reveal_question(learner.question, project_home(), learner.folder / "runs", learner.file);
  CHECK(revealed.graded.outcome == Outcome::right);
  Question fewer = parsed(replaced(kDrawn, "[100, 60, 40, 30]", "[100, 61, 40, 30]")).at(0);
  CHECK_THAT(error_of([&] { reveal_question(fewer, project_home(), learner.folder / "runs", learner.file); }),
             says("no longer draws mb=60 ranks=8") && says("--again"));
}

TEST_CASE("choices stand in the learner's own order, but for those that have one") {
  Question question;
  question.id = "02.any";
  const auto order = [&](const std::string& learner, std::vector<QuestionChoice> choices) {
    question.choices = std::move(choices);
    shuffle_choices(question, learner);
    std::string out;
    for (const QuestionChoice& one : question.choices) out += one.key.substr(0, 2);
    return out;
  };
  const std::vector<QuestionChoice> words = {{"one", "loading"}, {"two", "sending"}, {"three", "waiting"}};
  std::map<std::string, int> seen;
  for (int learner = 0; learner < 60; ++learner) ++seen[order(std::to_string(learner), words)];
  CHECK(seen.size() == 6);
  CHECK(order("7", words) == order("7", words));
  CHECK(order("7", {{"few", "up to 8"}, {"many", "more than 8"}}) == "fema");
  CHECK(order("3", {{"one", "loading"}, {"two", "sending"}, {"none", "none of these"}}) == "ontwno");
}
