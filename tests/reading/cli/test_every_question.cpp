// A right, a wrong and an unable learner for every question of every lesson, through what the terminal says.
#include <set>
#include <string>

#include "cli/course_text.h"
#include "core/files.h"
#include "course/rules.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// Names of the places of a text.
void add_places(const std::string& text, std::map<std::string, std::string>& out) {
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    REQUIRE(end != std::string::npos);
    out[text.substr(at + 1, end - at - 1)] = "17.5";
  }
}

struct Played {
  Truth truth;
  std::string right;
  std::string wrong;
};

/// A truth that the rule may find, with what is right and what is not.
Played play(const Question& question) {
  Played out;
  out.truth.source = "measured here";
  out.truth.text = "what was measured";
  add_places(question.reveal, out.truth.figures);
  for (const Misconception& wrong : question.wrong) add_places(wrong.says, out.truth.figures);
  switch (question.kind) {
    case AnswerKind::choice:
      out.right = question.choices.front().key;
      out.wrong = question.choices.back().key;
      break;
    case AnswerKind::direction:
      out.right = "up";
      out.wrong = "down";
      break;
    case AnswerKind::number:
      out.truth.number = 8;
      out.right = "8";
      out.wrong = "64";
      return out;
    case AnswerKind::find:
      out.truth.accepted = {"10-12"};
      out.right = "main.cpp:11";
      out.wrong = "30";
      return out;
    case AnswerKind::make:
      out.truth.accepted = {"yes"};
      out.right = out.wrong = "last";
      return out;
  }
  out.truth.accepted = {out.right};
  return out;
}

std::string text_of(const Report& report) {
  std::string out;
  for (const std::string& line : report.texts()) out += line + "\n";
  return out;
}

std::string told(const Question& question, const std::string& typed, const Truth& truth) {
  const Answer answer = parse_answer(question, typed, /*page_lines=*/200);
  Revealed revealed;
  revealed.answer.id = question.id;
  revealed.answer.text = answer.text;
  if (question.kind == AnswerKind::number) {
    revealed.answer.number = answer.number;
    revealed.answer.unit = question.unit;
  }
  revealed.graded = grade(question, answer, truth);
  revealed.truth = truth;
  if (!truth.missing.empty()) revealed.command = "./isobar run";
  return text_of(reveal_report(question, revealed, "The page says **more**.", 100));
}

}  // namespace

TEST_CASE("every question tells a right, a wrong and an unable learner so") {
  const std::vector<Question> questions = all_questions(project_home()).questions;
  REQUIRE(questions.size() > 10);
  for (const Question& question : questions) {
    INFO(question.id << " at " << question.origin);
    const std::string asked = text_of(question_report(question, 100));
    CHECK_THAT(asked, says(question.id) && says(question.from));
    for (std::size_t i = 0; i < question.choices.size(); ++i) {
      const QuestionChoice& choice = question.choices[i];
      const std::string row = std::string(1, static_cast<char>('a' + i)) + "  " + choice.text.substr(0, 20);
      CHECK((asked.find(row) != std::string::npos) ==
            choice.shows.empty());  // a picture has its letter alone
    }
    for (const std::string& giveaway : question.giveaway)
      CHECK_THAT(question.ask + question.why, !says(giveaway));
    CHECK_FALSE(answers_text(question).empty());

    Played played = play(question);
    const std::string right = told(question, played.right, played.truth);
    CHECK_THAT(right, says(question.id + ": right") && says("measured here") && says("The page says more."));
    CHECK_THAT(right, !says("{"));
    if (question.kind == AnswerKind::make) played.truth.accepted.clear();
    const std::string wrong = told(question, played.wrong, played.truth);
    CHECK_THAT(wrong, says(question.id + ": not right") && says("The page says more.") && !says("{"));

    Truth unable = played.truth;
    unable.cannot = "its run is not there";
    unable.missing = question.runs.empty() ? "" : question.runs.front().name;
    const std::string cannot = told(question, played.right, unable);
    CHECK_THAT(cannot, says("cannot answer") && says("its run is not there") &&
                           says("prediction is stored") && !says("The page says more."));
    CHECK((cannot.find("./isobar run") != std::string::npos) == !question.runs.empty());
  }
}

TEST_CASE("each answer that people often give gets its own sentence") {
  for (const Question& question : all_questions(project_home()).questions) {
    for (const Misconception& wrong : question.wrong) {
      if (wrong.answer == "below" || wrong.answer == "above") continue;
      INFO(question.id << ": " << wrong.answer);
      Played played = play(question);
      if (question.kind == AnswerKind::choice) {
        const auto other = std::find_if(question.choices.begin(), question.choices.end(),
                                        [&](const QuestionChoice& one) { return one.key != wrong.answer; });
        played.truth.accepted = {other->key};
      } else if (question.kind == AnswerKind::direction) {
        played.truth.accepted = {wrong.answer == "up" ? "down" : "up"};
      } else {
        played.truth.number = 1e6;
        if (question.kind == AnswerKind::find) played.truth.accepted = {"199"};
      }
      CHECK_THAT(told(question, wrong.answer, played.truth), says("\n  because "));
    }
  }
}
