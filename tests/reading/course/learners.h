#pragma once
// A right and a wrong learner through every question of a lesson, with runs that are made up once for all of
// them.
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "config/load.h"
#include "core/files.h"
#include "core/text.h"
#include "course/grade.h"
#include "course/needed_runs.h"
#include "course/variant.h"
#include "support/catch.h"
#include "support/says.h"
#include "support/temp_folder.h"

namespace isobar {

struct Learners {
  std::string right;  ///< "" = of a question for a line: main.cpp may change
  std::string wrong;
  // Where runs are to be made: the settings of each, "optim.lr=0.2 train.steps=500; optim.lr=0.4".
};

/// The runs of a lesson's questions: one that several ask for is made once.
class MadeForQuestions {
 public:
  using Write = std::function<void(const std::filesystem::path&, const Config&, std::int64_t repeat)>;

  explicit MadeForQuestions(Write write) : write_(std::move(write)) {}

  RuleInput input(const Question& question) {
    std::vector<FoundRuns> found = find_runs(question, project_home(), std::vector<KnownRun>{}, nullptr);
    for (FoundRuns& one : found) {
      CHECK(one.cannot == "");
      CHECK(one.missing == one.wanted.repeats);
      for (std::int64_t i = 0; i < one.wanted.repeats; ++i) one.folders.push_back(run(one, i));
    }
    return rule_input(question, project_home(), found);
  }
  /// With runs of the learner's, three of each: their settings are given.
  RuleInput with_made(const Question& question, const std::string& settings) {
    RuleInput out{question, {}, project_home()};
    const LessonInfo lesson = read_lesson(project_home(), question.lesson);
    for (const std::string& one : split(settings, ';')) {
      std::vector<std::string> sets = split(one, ' ');
      std::erase(sets, "");
      const Config config = load_config(project_home(), lesson, {.sets = sets}, "cpu").config;
      std::vector<std::filesystem::path> folders;
      for (std::int64_t i = 0; i < 3; ++i) {
        folders.push_back(folder_ / ("mine" + std::to_string(mine_++)));
        write_(folders.back(), config, i);
      }
      out.made.push_back(read_cases({folders.front()}).front());
      CHECK(out.made.back().repeats.size() % 3 == 0);
    }
    return out;
  }
  std::size_t count() const { return made_.size(); }

 private:
  std::filesystem::path run(const FoundRuns& found, std::int64_t repeat) {
    const auto [at, is_new] = made_.try_emplace(found.command + std::to_string(repeat));
    if (!is_new) return at->second;
    at->second = folder_ / ("run" + std::to_string(made_.size()));
    write_(at->second, found.config.config, repeat);
    return at->second;
  }

  Write write_;
  TempFolder folder_;
  std::map<std::string, std::filesystem::path> made_;
  std::size_t mine_ = 0;
};

/// No {name} is left; code in it has braces of its own.
inline void check_filled(const std::string& text) {
  static const std::regex kPlaceholder("\\{[a-z_0-9]+\\}");
  INFO(text);
  CHECK_FALSE(std::regex_search(text, kPlaceholder));
  CHECK_THAT(text, !says("not a number"));
}

inline void check_two_learners(const Question& question, const Learners& two, const Truth& truth) {
  const auto told = [&](const std::string& answer) {
    return grade(question, parse_answer(question, answer, /*page_lines=*/200), truth);
  };
  REQUIRE((!two.right.empty() || truth.accepted.size() == 1));
  const Graded right =
      told(two.right.empty() ? truth.accepted[0].substr(0, truth.accepted[0].find('-')) : two.right);
  CHECK(right.cannot == "");
  CHECK(right.outcome == Outcome::right);
  check_filled(right.reveal);
  const Graded wrong = told(two.wrong);
  CHECK(wrong.outcome == Outcome::not_right);
  check_filled(wrong.says);
  CHECK(wrong.says != "");
  for (const Misconception& one : question.wrong) {
    if (one.answer == "below" || one.answer == "above") continue;
    INFO(one.answer);
    CHECK(told(one.answer).outcome == Outcome::not_right);
    CHECK(told(one.answer).says != "");
  }
}

/// Runs that show it are right, others are not, and each answer gets what its runs show.
inline void check_two_makers(const Question& question, const Learners& two, MadeForQuestions& made) {
  for (const std::string* const settings : {&two.right, &two.wrong}) {
    INFO(*settings);
    const Truth truth = rule_named(question.rule)->find(made.with_made(question, *settings));
    INFO(truth.text << truth.cannot);
    const Graded graded = grade(question, parse_answer(question, "a b", /*page_lines=*/200), truth);
    CHECK(graded.cannot == "");
    CHECK(graded.outcome == (settings == &two.right ? Outcome::right : Outcome::not_right));
    check_filled(graded.reveal);
    check_filled(graded.truth);
    CHECK(graded.truth != "");
  }
}

/// Each question of the lesson has its learners, and the other way round.
inline void check_learners(const std::string& lesson, const std::map<std::string, Learners>& learners,
                           MadeForQuestions& made) {
  std::set<std::string> asked;
  for (const Question& question : read_questions(project_home(), lesson)) {
    INFO(question.id << " at " << question.origin);
    REQUIRE(learners.contains(question.id));
    asked.insert(question.id);
    if (question.kind == AnswerKind::make) {
      check_two_makers(question, learners.at(question.id), made);
      continue;
    }
    const Truth truth = rule_named(question.rule)->find(made.input(question));
    INFO(truth.text << truth.cannot);
    check_two_learners(question, learners.at(question.id), truth);
  }
  CHECK(asked.size() == learners.size());
}

/// Questions over runs have a truth in each of their variants, and texts that are filled.
inline void check_variants(const std::string& lesson, MadeForQuestions& made) {
  for (const Question& question : read_questions(project_home(), lesson)) {
    std::set<std::string> truths;
    for (std::size_t n = 0; n < question.variants.size(); ++n) {
      const Question one = variant(question, n);
      INFO(one.ask);
      const Truth truth = rule_named(one.rule)->find(made.input(one));
      CHECK(truth.cannot == "");
      const std::string text = truth.accepted.empty() ? std::to_string(truth.number) : truth.accepted.front();
      const Answer right = parse_answer(one, text.substr(0, text.find('-', 1)), /*page_lines=*/200);
      const Graded graded = grade(one, right, truth);
      CHECK(graded.outcome == Outcome::right);
      check_filled(graded.reveal);
      truths.insert(graded.truth);
    }
    CHECK((question.variants.empty() || truths.size() > 1));
  }
}

}  // namespace isobar
