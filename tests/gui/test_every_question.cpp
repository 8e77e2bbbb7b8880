// Every question of the course, played in the window by a learner who is right, one who is wrong and one
// whose runs are missing.
#include "gui/made_course.h"
#include "support/catch.h"

using namespace isobar;

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

struct Player {
  explicit Player(bool with_runs) : window(options_in(folder), kWide, kHigh), has_runs(with_runs) {
    window.settle();
  }
  /// What the window makes of the answer; it must be what the library says of the same runs.
  Outcome play(const Question& question, const std::string& answer, const Truth& truth) {
    show_card(window, question);
    answer_card(window, question, answer);
    const Outcome outcome = reveal_card(window, question);
    CHECK(outcome == grade(question, parse_answer(question, answer), truth).outcome);
    const CourseProgress kept = read_progress(folder / "progress.jsonl");
    CHECK((kept.reveal(question.id) != nullptr) == (outcome != Outcome::cannot_answer));
    return outcome;
  }

  TempFolder folder;
  Headless window;
  bool has_runs;
};

}  // namespace

TEST_CASE("Every question: a learner who is right, one who is wrong, one whose runs are missing") {
  Player right(true), wrong(true), unable(false);
  for (const Question& question : all_questions(project_home())) {
    INFO(question.id);
    if (question.kind == AnswerKind::make) continue;  // runs of one's own
    for (Player* const player : {&right, &wrong})
      write_fitting_runs(question, project_home(), player->folder / "runs");
    const Truth truth = truth_of(question, right.folder / "runs");
    const bool known = truth.cannot.empty();
    const Outcome good =
        right.play(question, known ? right_answer(question, truth) : any_answer(question), truth);
    CHECK(good == (known ? Outcome::right : Outcome::cannot_answer));
    const std::string not_true = known ? wrong_answer(question, truth) : "";
    if (!not_true.empty()) CHECK(wrong.play(question, not_true, truth) == Outcome::not_right);
    const Truth nothing = truth_of(question, unable.folder / "runs");
    unable.play(question, any_answer(question), nothing);
  }
}
