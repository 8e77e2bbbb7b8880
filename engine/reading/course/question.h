#pragma once
// What a lesson asks, from lessons/NN_name/questions.toml: one list for terminal and window.
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/choice.h"
#include "core/error.h"

namespace isobar {

/// choice: one of the keys. direction: up, same or down. number: in `unit`. find: a line of the lesson's
/// page. make: runs for which the rule holds.
enum class AnswerKind : unsigned char { choice, direction, number, find, make };
inline constexpr const char* kAnswerKinds[] = {"choice", "direction", "number", "find", "make"};
constexpr Choices choices_of(AnswerKind) { return kAnswerKinds; }
const char* kind_name(AnswerKind kind);

/// What a direction may be, from down to up.
inline constexpr const char* kDirections[] = {"down", "same", "up"};

/// Where a question may be asked.
inline constexpr std::array<const char*, 2> kQuestionBeats = {"predict", "break"};

/// A run that a question needs. Its settings are those of the lesson and preset, then the question's `set`,
/// then its own.
struct NeededRun {
  std::string name;    ///< what the rule and the reveal call it
  std::string lesson;  ///< "NN_name"
  std::string preset;
  std::vector<std::string> sets;  ///< "data.workers=1"
  std::int64_t steps = 0;         ///< train.steps
  std::int64_t ranks = 1;
  std::int64_t repeats = 1;
  std::string recorded;   ///< a folder below lessons/ that is read instead; "" = it is run here
  std::string predicted;  ///< a device: the run is what `predict` writes for it; "" = it is run here
  std::string fails;      ///< the exit code that it ends with on purpose, "" = it ends well
  std::string origin;     ///< "file:line:column" of it
};

struct QuestionChoice {
  std::string key;   ///< what is stored, and what the rule accepts
  std::string text;  ///< what the learner reads; of a curve: its words
};

/// An answer that people often give, and what it comes from.
struct Misconception {
  std::string answer;  ///< a key, a direction, or "below" or "above" the truth
  std::string says;    ///< with placeholders: {name} is a figure of the rule
};

struct Question {
  std::string id;      ///< "02.best_workers"
  std::string lesson;  ///< "NN_name"
  std::string from;    ///< who asked it first
  AnswerKind kind = AnswerKind::choice;
  std::string beat;  ///< "predict" or "break"
  int goal = 0;      ///< goal of lesson.toml that it serves, from 1; 0 = none
  std::string unit;  ///< unit of a number
  std::vector<QuestionChoice> choices;
  std::optional<double> tolerance;  ///< relative, of a number; nothing = 0.25
  double tolerance_abs = 0;         ///< in its unit, beside that
  std::string ask;
  std::string why;                    ///< it matters: one sentence
  std::vector<std::string> giveaway;  ///< strings that no page holds
  std::vector<NeededRun> runs;
  std::string rule;                                      ///< one of rules.h
  std::map<std::string, std::vector<std::string>> with;  ///< arguments of the rule
  std::vector<std::string> hints;                        ///< each reveals more; none gives the answer
  std::vector<Misconception> wrong;
  std::string reveal;  ///< with placeholders
  std::string origin;  ///< "file:line:column" of it

  /// The argument of its rule, or `otherwise`.
  std::string argument(std::string_view name, const std::string& otherwise = "") const;
  std::vector<std::string> arguments(std::string_view name) const;
  const NeededRun* run(std::string_view name) const;
  const QuestionChoice* choice(std::string_view key) const;
};

/// The questions of a text. Error (exit code 2, file:line:column, what, hint) for anything that is wrong in
/// it: an unknown key, kind, rule or argument, a missing field, two of one id, a run that the rule does not
/// name. Names of lessons, presets and settings are checked where runs are looked for, names of placeholders
/// where a text is filled. `opens_with` gets the ids of the questions of earlier lessons that open this one.
std::vector<Question> parse_questions(const std::string& text, const std::string& file,
                                      const std::string& lesson,
                                      std::vector<std::string>* opens_with = nullptr);

/// Questions of a lesson, in order; none where it has no such file.
std::vector<Question> read_questions(const std::filesystem::path& home, const std::string& lesson,
                                     std::vector<std::string>* opens_with = nullptr);

struct CourseQuestions {
  std::vector<Question> questions;
  std::map<std::string, Error> problems;                     ///< lesson -> why its questions cannot be read
  std::map<std::string, std::vector<std::string>> openings;  ///< lesson -> ids, its opens_with
};
/// Questions of all lessons, in the order of the ladder.
CourseQuestions all_questions(const std::filesystem::path& home);

/// The questions of earlier lessons that open this one.
std::vector<Question> opening_questions(const CourseQuestions& all, const std::string& lesson);

/// The one of this id, whole or without its lesson's number where that is plain; Error (exit code 2) with the
/// nearest, or the problem of the lesson that it would be of.
Question find_question(const std::filesystem::path& home, const std::string& id);

}  // namespace isobar
