// Learners of three kinds through all goals of all lessons: one who is always wrong, one who tries every
// answer in turn, and one who learns from what is revealed. Truths that take runs are made up, one for each
// question.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "config/lesson.h"
#include "core/files.h"
#include "core/find.h"
#include "course/course.h"
#include "course/page_section.h"
#include "course/rules.h"
#include "course/variant.h"
#include "support/catch.h"
#include "support/says.h"

using namespace isobar;

namespace {

/// What is right: an answer that can be typed.
std::string right_answer(const Question& question) {
  if (question.kind == AnswerKind::make) return "a run that shows it";
  if (question.runs.empty() && question.kind != AnswerKind::number) {
    const Truth truth =
        rule_named(question.rule)->find({.question = question, .runs = {}, .home = project_home()});
    REQUIRE(truth.cannot == "");
    REQUIRE_FALSE(truth.accepted.empty());
    return truth.accepted.front();
  }
  if (question.kind == AnswerKind::choice) return question.choices.back().key;
  return question.kind == AnswerKind::direction ? "down" : "the number";
}

/// What somebody tries the n-th time who only goes through all that can be answered.
std::string answer_in_turn(const Question& question, std::size_t n) {
  if (question.kind == AnswerKind::choice) return question.choices[n % question.choices.size()].key;
  if (question.kind == AnswerKind::direction) return kDirections[n % std::size(kDirections)];
  return question.kind == AnswerKind::find ? std::to_string(n + 1) : "try " + std::to_string(n);
}

struct LessonLearner {
  std::string lesson;
  std::vector<Question> questions = read_questions(project_home(), lesson);
  std::size_t goals = read_lesson(project_home(), lesson).goals.size();
  CourseProgress progress = {};

  LessonProgress stands() const {
    return lesson_progress(lesson, questions, goals, /*builds=*/false, progress);
  }

  void answer(const Question& asked, const std::string& typed) {
    StoredAnswer answer;
    answer.id = asked.id;
    answer.text = typed;
    answer.drawn = drawn_text(asked.drawn);
    if (asked.kind == AnswerKind::make) answer.runs = {"run " + std::to_string(progress.answers.size())};
    progress.answers.push_back(answer);
    StoredReveal reveal;
    reveal.id = asked.id;
    reveal.outcome = outcome_name(typed == right_answer(asked) ? Outcome::right : Outcome::not_right);
    reveal.of = progress.answers.size() - 1;
    progress.reveals.push_back(reveal);
  }

  /// Answers what is open, then what is offered again, until nothing is or it was offered `most` times.
  void walk(std::size_t most, const std::function<std::string(const Question&, std::size_t times)>& answers) {
    std::map<std::string, std::size_t> times;
    for (const Question& one : questions) {
      const Question asked = as_asked(one, progress, /*again=*/false);
      answer(asked, answers(asked, times[one.id]++));
    }
    for (std::size_t turn = 0; turn < most; ++turn) {
      for (const GoalState& goal : stands().goals) {
        if (goal.again.empty()) continue;
        const Question* const one = find_by(questions, &Question::id, goal.again[turn % goal.again.size()]);
        const Question asked = as_asked(*one, progress, /*again=*/true);
        answer(asked, answers(asked, times[one->id]++));
      }
    }
  }
};

constexpr std::size_t kMostTurns = 60;

}  // namespace

TEST_CASE("every goal of every lesson is served by questions, and one of them has something new each time") {
  for (const std::string& lesson : lesson_names(project_home())) {
    LessonForm form;
    const std::vector<Question> questions = read_questions(project_home(), lesson, &form);
    const std::size_t goals = read_lesson(project_home(), lesson).goals.size();
    CHECK(form.goals.size() == goals);
    for (std::size_t i = 0; i < form.goals.size(); ++i) {
      INFO(lesson << " goal " << i + 1);
      CHECK(form.goals[i].notice != "");
      CHECK_THAT(form.goals[i].next, says("./isobar "));
    }
    for (int goal = 1; goal <= static_cast<int>(goals); ++goal) {
      INFO(lesson << " goal " << goal);
      const std::vector<Question> of_goal = questions_of(questions, goal);
      CHECK(std::ranges::any_of(of_goal, [](const Question& one) {
        return one.kind == AnswerKind::make || one.variants.size() >= 4;
      }));
      CHECK(std::ranges::any_of(of_goal, &Question::is_core));
    }
    for (const Question& question : questions) {
      INFO(question.id);
      CHECK((question.goal >= 1 && question.goal <= static_cast<int>(goals)));
    }
    const auto core = std::ranges::count(questions, true, &Question::is_core);
    INFO(lesson << " core " << core);
    CHECK((core >= 5 && core <= 6));
  }
}

TEST_CASE("a part of a page that a goal reads is there, and is read once") {
  for (const std::string& lesson : lesson_names(project_home())) {
    LessonForm form;
    read_questions(project_home(), lesson, &form);
    const std::string page =
        read_text_file(project_home() / "lessons" / lesson / "README.md", kMostPageBytes);
    std::vector<std::string> titles;
    for (const PagePiece& piece : page_pieces(page)) titles.push_back(piece.title);
    std::vector<std::string> read;
    for (const LessonForm::Goal& goal : form.goals) {
      read.insert(read.end(), goal.reads.begin(), goal.reads.end());
      read.insert(read.end(), goal.closes.begin(), goal.closes.end());
    }
    for (const std::string& title : read) {
      INFO(lesson << ": " << title);
      CHECK(holds(titles, title));
      CHECK(std::ranges::count(read, title) == 1);
    }
  }
}

TEST_CASE("a learner who is always wrong earns no goal of any lesson") {
  for (const std::string& lesson : lesson_names(project_home())) {
    LessonLearner learner{.lesson = lesson};
    learner.walk(kMostTurns, [](const Question&, std::size_t) { return std::string("wrong"); });
    CHECK(learner.stands().earned() == 0);
  }
}

TEST_CASE("a learner who tries every answer in turn does not earn all goals of any lesson") {
  for (const std::string& lesson : lesson_names(project_home())) {
    INFO(lesson);
    LessonLearner learner{.lesson = lesson};
    learner.walk(kMostTurns, answer_in_turn);
    CHECK(learner.stands().earned() < learner.goals);
  }
}

TEST_CASE("a learner who was wrong everywhere and learns from what is revealed earns every goal") {
  for (const std::string& lesson : lesson_names(project_home())) {
    INFO(lesson);
    LessonLearner learner{.lesson = lesson};
    learner.walk(kMostTurns, [](const Question& question, std::size_t times) {
      return times == 0 ? "wrong" : right_answer(question);
    });
    const LessonProgress stands = learner.stands();
    for (std::size_t i = 0; i < stands.goals.size(); ++i) {
      INFO("goal " << i + 1);
      CHECK(stands.goals[i].earned);
    }
  }
}

TEST_CASE("a question with variants has not the same answer in all of them") {
  for (const std::string& lesson : lesson_names(project_home())) {
    for (const Question& question : read_questions(project_home(), lesson)) {
      if (question.variants.empty()) continue;
      INFO(question.id);
      std::set<std::string> texts, answers;
      for (std::size_t n = 0; n < question.variants.size(); ++n) {
        const Question one = variant(question, n);
        texts.insert(one.ask);
        for (const std::string* const text : {&one.ask, &one.reveal})
          CHECK(text->find("{you}") == std::string::npos);
        if (!one.runs.empty()) continue;
        const Truth truth = rule_named(one.rule)->find({.question = one, .runs = {}, .home = project_home()});
        CHECK(truth.cannot == "");
        answers.insert(truth.accepted.empty() ? std::to_string(truth.number) : truth.accepted.front());
        const double number =
            truth.number > 100 ? std::round(truth.number) : truth.number;  // counts are whole
        const std::string typed = one.kind == AnswerKind::number
                                      ? std::to_string(number)
                                      : truth.accepted.front().substr(0, truth.accepted.front().find('-'));
        CHECK(grade(one, parse_answer(one, typed, 400), truth).outcome == Outcome::right);
      }
      CHECK(texts.size() == question.variants.size());
      CHECK((!question.runs.empty() || answers.size() >= 2));
    }
  }
}
