#pragma once
// A rule with its arguments, and what it says of runs that were made up.
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyse/run_case.h"
#include "core/files.h"
#include "course/rules.h"
#include "support/catch.h"

namespace isobar {

/// Arguments of a rule, as a question has them.
using With = std::map<std::string, std::vector<std::string>>;

class AskedRule {
 public:
  /// A question of the first kind that the rule grades.
  explicit AskedRule(const std::string& rule, With with = {}, const std::string& unit = "") {
    INFO(rule);
    rule_ = rule_named(rule);
    REQUIRE(rule_ != nullptr);
    question_.id = "01.asked";
    question_.lesson = "01_baseline";
    question_.rule = rule;
    question_.with = std::move(with);
    question_.unit = unit;
    question_.kind = rule_->kinds.front();
    question_.origin = "questions.toml:3:1";
  }
  AskedRule& kind(AnswerKind kind) {
    question_.kind = kind;
    return *this;
  }
  AskedRule& choice(const std::string& key, const std::string& text,
                    const std::vector<std::string>& shows = {}) {
    question_.choices.push_back({key, text, shows});
    return *this;
  }
  AskedRule& with(const std::string& argument, const std::vector<std::string>& values) {
    question_.with[argument] = values;
    return *this;
  }
  AskedRule& of_lesson(const std::string& lesson) {
    question_.lesson = lesson;
    return *this;
  }
  AskedRule& at_home(const std::filesystem::path& home) {
    home_ = home;
    return *this;
  }
  /// A run that is there, with those beside it that repeat it.
  AskedRule& run(const std::string& name, const std::filesystem::path& folder,
                 const std::string& lesson = "01_baseline") {
    runs_.emplace(name, read_cases({folder}).front());
    return missing(name, lesson);
  }
  /// One that is not.
  AskedRule& missing(const std::string& name, const std::string& lesson = "01_baseline") {
    NeededRun wanted;
    wanted.name = name;
    wanted.lesson = lesson;
    question_.runs.push_back(wanted);
    return *this;
  }
  /// The last one is to end with an error.
  AskedRule& that_fails(const std::string& code = "1") {
    question_.runs.back().fails = code;
    return *this;
  }
  /// A run that the learner named.
  AskedRule& made(const std::filesystem::path& folder) {
    made_.push_back(read_cases({folder}).front());
    return *this;
  }

  const Rule& rule() const { return *rule_; }
  const Question& question() const { return question_; }
  Truth truth() const { return rule_->find(RuleInput{question_, runs_, home_, made_}); }
  /// Why it cannot be told; the run that it takes is `missing`.
  std::string cannot(const std::string& missing = "") const {
    const Truth out = truth();
    CHECK(out.missing == missing);
    CHECK(out.accepted.empty());
    return out.cannot;
  }
  /// What is right, of a rule that can tell.
  std::vector<std::string> accepted() const {
    const Truth out = truth();
    CHECK(out.cannot == "");
    return out.accepted;
  }

 private:
  const Rule* rule_ = nullptr;
  Question question_;
  std::map<std::string, RunCase> runs_;
  std::vector<RunCase> made_;
  std::filesystem::path home_ = project_home();
};

using Keys = std::vector<std::string>;

}  // namespace isobar
