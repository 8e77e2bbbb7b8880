// What is right, what is not, and what is said of it.
#include "course/grade.h"
#include "reading/course/asked.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

Truth truth_of(double number) {
  Truth out;
  out.number = number;
  out.source = "measured here";
  out.figures = {{"best", "4"}, {"best_value", "97"}};
  return out;
}

Graded graded(const Question& question, const std::string& typed, const Truth& truth) {
  return grade(question, parse_answer(question, typed), truth);
}

Outcome outcome_of(Question question, const std::string& typed, const Truth& truth,
                   std::optional<double> tolerance = std::nullopt, double tolerance_abs = 0) {
  question.unit = "ms";
  question.tolerance = tolerance;
  question.tolerance_abs = tolerance_abs;
  return graded(question, typed, truth).outcome;
}

Truth accepting(const std::vector<std::string>& accepted) {
  Truth out;
  out.accepted = accepted;
  out.text = "The loss rose.";
  out.source = "measured here";
  out.figures = {{"fault_end", "1.2"}, {"line", "12"}, {"best_value", "97"}, {"best", "4"}};
  return out;
}

}  // namespace

TEST_CASE("a number is right within its tolerance of the truth or of the interval it gives") {
  const Question question = asked_questions().at(0);
  const Truth truth = truth_of(100);
  for (const char* const typed : {"75", "100", "125"})
    CHECK(outcome_of(question, typed, truth) == Outcome::right);
  for (const char* const typed : {"74.9", "125.1", "0"})
    CHECK(outcome_of(question, typed, truth) == Outcome::not_right);
  CHECK(outcome_of(question, "90", truth, 0.1) == Outcome::right);
  CHECK(outcome_of(question, "89.9", truth, 0.1) == Outcome::not_right);
  CHECK(outcome_of(question, "100", truth, 0.0) == Outcome::right);
  CHECK(outcome_of(question, "100.1", truth, 0.0) == Outcome::not_right);
  CHECK(outcome_of(question, "102", truth, 0.0, 2) == Outcome::right);
  CHECK(outcome_of(question, "102.1", truth, 0.0, 2) == Outcome::not_right);
  Truth interval = truth;
  interval.low = 80;
  interval.high = 120;
  CHECK(outcome_of(question, "80", interval, 0.0) == Outcome::right);
  CHECK(outcome_of(question, "60", interval) == Outcome::right);
  CHECK(outcome_of(question, "59", interval) == Outcome::not_right);
  CHECK(outcome_of(question, "4", accepting({"4", "8"}), 0.0) == Outcome::right);
  CHECK(outcome_of(question, "8", accepting({"4", "8"}), 0.0) == Outcome::right);
  CHECK(outcome_of(question, "6", accepting({"4", "8"}), 0.0) == Outcome::not_right);
}

TEST_CASE("a number is said beside the truth, and the factor between them") {
  const Question question = asked_questions().at(0);
  Graded out = graded(question, "8", truth_of(4));
  CHECK(out.outcome == Outcome::not_right);
  CHECK(out.said == "8 workers");
  CHECK(out.truth == "4 workers");
  CHECK(out.off_by == "a factor of 2 above what was measured (right within 25 %)");
  CHECK(out.reveal == "You said 8 workers, it is 4 workers: 97 samples/s.");
  CHECK(out.source == "measured here");
  CHECK(out.says.empty());
  CHECK(graded(question, "4", truth_of(4)).off_by == "the same as what was measured");
  CHECK(graded(question, "1", truth_of(1000)).off_by ==
        "a factor of 1,000 below what was measured (right within 25 %)");
  CHECK(graded(question, "1", truth_of(11)).off_by ==
        "a factor of 11 below what was measured (right within 25 %)");
  CHECK(graded(question, "4", truth_of(3.35)).off_by == "19 % above what was measured (right within 25 %)");
  CHECK(graded(question, "3", truth_of(4)).off_by == "25 % below what was measured (right within 25 %)");
  CHECK(graded(question, "0", truth_of(4)).off_by == "4 workers less than what was measured");
  Truth formula = truth_of(4);
  formula.source = "by formula";
  CHECK(graded(question, "2", formula).off_by == "a factor of 2 below the right value (right within 25 %)");
  formula.low = 3;
  formula.high = 5;
  CHECK(graded(question, "4", formula).truth == "4 workers (3 to 5)");
}

TEST_CASE(
    "the misconception of this very answer goes before that of its side, and neither is said of a right "
    "one") {
  Question question = asked_questions().at(0);
  CHECK(graded(question, "16", truth_of(4)).says == "More threads than 4 share the same processors.");
  CHECK(graded(question, "1", truth_of(4)).says == "1 worker cannot keep up.");
  CHECK(graded(question, "9", truth_of(4)).says.empty());
  CHECK(graded(question, "4", truth_of(4)).says.empty());
  CHECK(graded(question, "16", truth_of(16)).says.empty());
  question.wrong.push_back({"above", "Too many."});
  CHECK(graded(question, "9", truth_of(4)).says == "Too many.");
}

TEST_CASE("of several right numbers the nearest is what an answer is compared with") {
  const Question question = asked_questions().at(0);
  Truth truth = accepting({"2", "4", "8"});
  truth.number = 8;
  const auto told = [&](const std::string& typed) {
    Truth nearest = truth;
    take_nearest(question, parse_answer(question, typed), nearest);
    return graded(question, typed, nearest);
  };
  CHECK(told("4").outcome == Outcome::right);
  CHECK(told("4").truth == "2, 4 or 8 workers");
  CHECK(told("4").off_by == "the same as what was measured");
  CHECK(told("1").off_by == "a factor of 2 below what was measured (right within 25 %)");
  truth.accepted = {"8"};
  CHECK(told("4").truth == "8 workers");
  CHECK(told("4").off_by == "a factor of 2 below what was measured (right within 25 %)");
}

TEST_CASE("a choice, a direction and a line are right when they are accepted") {
  const std::vector<Question> all = asked_questions();
  Graded out = graded(all[1], "rises", accepting({"same"}));
  CHECK(out.outcome == Outcome::not_right);
  CHECK(out.said == "b: ends higher than it began");
  CHECK(out.truth == "a: falls as before");
  CHECK(out.says == "It ends at 1.2.");
  CHECK(out.off_by.empty());
  CHECK(graded(all[1], "same", accepting({"rises", "same"})).outcome == Outcome::right);
  Question direction = all[1];
  direction.kind = AnswerKind::direction;
  CHECK(graded(direction, "less", accepting({"down"})).outcome == Outcome::right);
  CHECK(graded(direction, "same", accepting({"same"})).outcome == Outcome::right);
  CHECK(graded(direction, "up", accepting({"same"})).outcome == Outcome::not_right);
  for (const char* const typed : {"12", "13", "14", "40"})
    CHECK(graded(all[2], typed, accepting({"12-14", "40"})).outcome == Outcome::right);
  for (const char* const typed : {"11", "15", "39"})
    CHECK(graded(all[2], typed, accepting({"12-14", "40"})).outcome == Outcome::not_right);
  out = graded(all[2], "11", accepting({"12-14", "40"}));
  CHECK(out.truth == "lines 12-14 or line 40");
  CHECK(out.says == "Line 12 comes later.");
}

TEST_CASE("what is made is right when the rule holds for it") {
  const Question question = asked_questions().at(3);
  CHECK(graded(question, "a b", accepting({"yes"})).outcome == Outcome::right);
  const Graded out = graded(question, "a b", accepting({}));
  CHECK(out.outcome == Outcome::not_right);
  CHECK(out.reveal == "The loss rose.");
}

TEST_CASE("what the runs cannot say is neither right nor wrong") {
  Truth truth;
  truth.cannot = "`w4` has 1 run, 3 are needed";
  truth.source = "measured here";
  const Graded out = graded(asked_questions().at(0), "4", truth);
  CHECK(out.outcome == Outcome::cannot_answer);
  CHECK(out.said == "4 workers");
  CHECK(out.cannot == truth.cannot);
  CHECK(out.truth.empty());
  CHECK(out.reveal.empty());
  CHECK_THAT(failure_of([&] { graded(asked_questions().at(0), "4", Truth{}); }),
             says("the rule best gives no truth for 02.best_workers"));
}

TEST_CASE("a choice that offers nothing true cannot be answered, and says what was measured") {
  const Question question = asked_questions().at(1);
  const Graded out = graded(question, "same", accepting({"flat"}));
  CHECK(out.outcome == Outcome::cannot_answer);
  CHECK(out.cannot == "what was measured (`flat`) is not among the choices");
  CHECK(out.truth.empty());
  CHECK(graded(question, "same", accepting({"flat", "same"})).cannot.empty());
}

TEST_CASE("places are filled, and one without a figure is an error with its origin") {
  const std::map<std::string, std::string> figures = {{"step_ms", "31"}, {"you", "{truth}"}};
  CHECK(filled("a step of {step_ms} ms, {step_ms}", figures, "q.toml:3:1") == "a step of 31 ms, 31");
  CHECK(filled("{you}", figures, "q.toml:3:1") == "{truth}");  // what is filled in is not looked at again
  CHECK(filled("", figures, "q.toml:3:1").empty());
  CHECK_THAT(error_of([&] { filled("{stepms}", figures, "q.toml:3:1"); }),
             says("no figure for {stepms}") && says("q.toml:3:1") && says("did you mean step_ms?"));
  CHECK_THAT(error_of([&] { filled("{step_ms", figures, "q.toml:3:1"); }),
             says("a placeholder is not closed"));
}
