// Every question of the course, played in the window by a learner who is right, one who is wrong and one
// whose runs are missing.
#include "gui/made_course.h"
#include "support/catch.h"

namespace isobar::test_every_question {

namespace {

constexpr float kWide = 1440, kHigh = 2000;

/// As the rule says it of these runs; what it cannot say has a reason.
Truth truth_of(const Question& question, const std::filesystem::path& runs) {
  const std::vector<FoundRuns> found = find_runs(question, project_home(), runs, nullptr);
  return rule_named(question.rule)->find(rule_input(question, project_home(), found));
}

/// Answers that fit the kind, where the truth is not known.
std::string any_answer(const Question& question) {
  switch (question.kind) {
    case AnswerKind::choice:
      return question.choices.front().key;
    case AnswerKind::direction:
      return "same";
    case AnswerKind::number:
    case AnswerKind::find:
      return "1";
    case AnswerKind::make:
      break;
  }
  return "made";
}

/// Plays all questions in one window. What the window makes of an answer must be what the library says of the
/// same runs.
class Player {
 public:
  explicit Player(bool with_runs) : window_(options_in(folder_), kWide, kHigh), has_runs_(with_runs) {
    window_.settle();
  }

  template <class Choose>
  void play_all(Choose answer_for, Outcome expected) {
    const std::vector<Question> questions = all_questions(project_home()).questions;
    CHECK_FALSE(questions.empty());
    for (const Question& question : questions) {
      if (question.kind == AnswerKind::make) continue;  // runs of one's own
      INFO(question.id);
      if (has_runs_) write_fitting_runs(question, project_home(), runs());
      const Truth truth = truth_of(question, runs());
      const bool known = truth.cannot.empty();
      const std::string answer = known ? answer_for(question, truth) : any_answer(question);
      if (answer.empty()) continue;  // all that can be said is true
      const Outcome outcome = play(question, answer, truth);
      for (const auto& run : std::filesystem::directory_iterator(runs())) std::filesystem::remove_all(run);
      if (has_runs_ && known) CHECK(outcome == expected);
      if (!known) CHECK(outcome == Outcome::cannot_answer);
    }
  }

 private:
  std::filesystem::path runs() const { return folder_ / "runs"; }

  Outcome play(const Question& question, const std::string& answer, const Truth& truth) {
    show_card(window_, question);
    answer_card(window_, question, answer);
    const Outcome outcome = reveal_card(window_, question);
    CHECK(outcome == grade(question, parse_answer(question, answer), truth).outcome);
    const CourseProgress kept = read_progress(folder_ / "progress.jsonl");
    CHECK((kept.reveal(question.id) != nullptr) == (outcome != Outcome::cannot_answer));
    return outcome;
  }

  TempFolder folder_;
  Headless window_;
  bool has_runs_;
};

}  // namespace

TEST_CASE("Every question: a learner who is right", "[.full]") {
  Player(true).play_all(right_answer, Outcome::right);
}

TEST_CASE("Every question: a learner who is wrong", "[.nightly]") {
  Player(true).play_all(wrong_answer, Outcome::not_right);
}

TEST_CASE("Every question: a learner without runs", "[.nightly]") {
  Player(false).play_all([](const Question& question, const Truth&) { return any_answer(question); },
                         Outcome::cannot_answer);
}

}  // namespace isobar::test_every_question
