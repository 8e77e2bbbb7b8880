#pragma once
// Rules: functions of runs that return what is true. They do not see the answer.
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/run_case.h"
#include "course/answer.h"
#include "course/question.h"

namespace isobar {

struct RuleInput {
  const Question& question;
  std::map<std::string, RunCase> runs;  ///< by their names in the question; those that are there
  std::filesystem::path home;           ///< home of the project: pages, presets, published figures
  std::vector<RunCase> made = {};       ///< runs that the learner named for a `make`

  /// The argument of the question's rule.
  std::string argument(std::string_view name, const std::string& otherwise = "") const;
  std::vector<std::string> arguments(std::string_view name) const;
};

/// What is true, as far as runs show.
struct Truth {
  std::string cannot;   ///< why it cannot be said: "`slow` has 1 run, 3 are needed"; "" = it can
  std::string missing;  ///< the run that it takes, by name; "" = none of the question's would help
  double number = std::numeric_limits<double>::quiet_NaN();
  /// Bounds of a number that is right without any tolerance, such as the interval of a ratio.
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> accepted;  ///< keys, directions or lines ("12-14"); of a make "yes", or nothing
  std::string text;                   ///< a sentence: what was measured
  std::map<std::string, std::string> figures;  ///< for placeholders in texts: "best" -> "4"
  std::string source;  ///< "measured here", "recorded on ...", "predicted by model ...", "by formula"
};

struct Rule {
  const char* name;
  const char* means;                      ///< for who writes questions
  std::vector<AnswerKind> kinds;          ///< kinds that it can grade
  std::vector<std::string> needs;         ///< arguments that must be there
  std::vector<std::string> may;           ///< arguments that it may have
  Truth (*tell)(const RuleInput& input);  ///< may throw Cannot (course/rules/parts.h)
  /// Whether it asks for times of its runs, which other programs change; null = never.
  bool (*is_timed)(const Question& question) = nullptr;
  /// Error (exit code 2) for arguments, a unit or choices that it cannot grade; null = any will do.
  void (*check)(const Question& question) = nullptr;

  Truth find(const RuleInput& input) const;
};

/// Whether the question's rule asks for times; false for an unknown rule.
bool is_timed(const Question& question);

/// Adds the rules that only one lesson has: an object of lessons/NN_name/view, which a program has where it
/// links isobar::views.
struct LessonRules {
  explicit LessonRules(std::vector<Rule> rules);
};

/// All of them, by name.
std::span<const Rule> all_rules();
const Rule* rule_named(std::string_view name);

/// What must hold in one question, once all its keys were taken. Error (exit code 2) at its origin: a field
/// that is missing or does not go with its kind, an unknown rule or argument, a run that is not there or that
/// the rule does not name.
void check_question(const Question& question);

}  // namespace isobar
