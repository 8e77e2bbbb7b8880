#pragma once
// What a lesson asks, from lessons/NN_name/questions.toml: one list for terminal and window.
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
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
inline constexpr const char* kBreakBeat = "break";
inline constexpr std::array<const char*, 2> kQuestionBeats = {"predict", kBreakBeat};

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
  std::string key;                      ///< what is stored, and what the rule accepts
  std::string text;                     ///< what the learner reads; of a curve: its words
  std::vector<std::string> shows = {};  ///< settings of its picture, which is chosen by its letter alone

  /// "picture", so that nothing names its settings before the answer; else the text.
  std::string asked_as() const { return shows.empty() ? text : "picture"; }
};

/// An answer that people often give, and what it comes from.
struct Misconception {
  std::string answer;      ///< a key, a direction, or "below" or "above" the truth
  std::string says;        ///< with placeholders: {name} is a figure of the rule
  std::string about = {};  ///< its name, where questions of several lessons share it: "sum_or_mean"
};

/// What stands in place of {NAME} in the texts, arguments and settings of a question.
using DrawnValues = std::map<std::string, std::string>;

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
  std::string reveal;                         ///< with placeholders
  bool is_core = false;                       ///< asked on the core path
  std::string origin;                         ///< "file:line:column" of it
  DrawnValues drawn = {};                     ///< values of this variant; empty where nothing is drawn
  std::vector<DrawnValues> variants = {};     ///< all that may be drawn; the first is asked first
  std::shared_ptr<const Question> form = {};  ///< the written form, {NAME} in it; null where nothing is drawn

  /// The argument of its rule, or `otherwise`.
  std::string argument(std::string_view name, const std::string& otherwise = "") const;
  std::vector<std::string> arguments(std::string_view name) const;
  const NeededRun* run(std::string_view name) const;
  const QuestionChoice* choice(std::string_view key) const;
  /// Settings of the pictures of its choices; none where choices are words.
  std::vector<std::vector<std::string>> pictures() const;
};

/// "mb=60 ranks=4": how an answer keeps what was drawn; "" where nothing is.
std::string drawn_text(const DrawnValues& drawn);

/// $ISOBAR_LEARNER, else a number of the user and the machine. "0": choices stand as in the file.
std::string learner_seed();

/// Orders the choices by learner. Those that have an order of their own stay: ranges of numbers, shapes of
/// curves, and what closes a list ("both", "none of these").
void shuffle_choices(Question& question, const std::string& learner);

/// What a lesson brings beside its questions, from the same file.
struct LessonForm {
  struct Goal {
    std::vector<std::string> reads;   ///< parts of the page (page_pieces) that are shown before its questions
    std::vector<std::string> closes;  ///< those that would answer them, shown after its last reveal
    std::string notice, next;         ///< then one thing to notice, and one to try
  };
  std::vector<std::string> opens_with;  ///< ids of questions of earlier lessons that open this one
  std::vector<Goal> goals;              ///< in the order of lesson.toml
};

/// The questions of a text. Error (exit code 2, file:line:column, what, hint) for anything that is wrong in
/// it: an unknown key, kind, rule or argument, a missing field, two of one id, a run that the rule does not
/// name. Names of lessons, presets and settings are checked where runs are looked for, names of placeholders
/// where a text is filled.
std::vector<Question> parse_questions(const std::string& text, const std::string& file,
                                      const std::string& lesson, LessonForm* form = nullptr);

/// Questions of a lesson, in order; none where it has no such file. Choices stand in an order of the
/// learner's own, by $ISOBAR_LEARNER ("0": that of the file), else by user and machine.
std::vector<Question> read_questions(const std::filesystem::path& home, const std::string& lesson,
                                     LessonForm* form = nullptr);

struct CourseQuestions {
  std::vector<Question> questions;
  std::map<std::string, Error> problems;    ///< lesson -> why its questions cannot be read
  std::map<std::string, LessonForm> forms;  ///< by lesson
};
/// Questions of all lessons, in the order of the ladder.
CourseQuestions all_questions(const std::filesystem::path& home);

/// The questions of earlier lessons that open this one.
std::vector<Question> opening_questions(const CourseQuestions& all, const std::string& lesson);

/// The one of this id, whole or without its lesson's number where that is plain; Error (exit code 2) with the
/// nearest, or the problem of the lesson that it would be of.
Question find_question(const std::filesystem::path& home, const std::string& id);

}  // namespace isobar
