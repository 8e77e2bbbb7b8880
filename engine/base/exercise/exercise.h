#pragma once
// The part of a lesson that a learner writes: what lessons/NN_name/exercise/exercise.toml has of it, and the
// learner's file, my/NN_name.cpp, put there once and from then on only read. Beside it my/.given keeps each
// skeleton as it was given, so that a later edition can name what changed.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// One thing that is looked at, and what helps where it does not hold.
struct ExerciseCheck {
  std::string name;
  std::string says;                ///< "batches come in order, whichever is filled first"
  std::vector<std::string> hints;  ///< each reveals more than the one before
};

/// A mistake that is recognised by what was found, and what helps with it in place of the check's hints.
struct ExerciseMistake {
  std::string finds;               ///< a piece of CheckFinding::sentence
  std::vector<std::string> hints;  ///< each reveals more than the one before
};

/// The check that the sanitizer for threads makes; an exercise without it is not compiled for that one.
inline constexpr const char* kRaceCheck = "race";

struct Exercise {
  std::string lesson;  ///< "NN_name"
  std::string file;    ///< "read_ahead"
  std::string title;
  std::int64_t minutes = 0;   ///< time that a learner takes who has read the page
  bool is_sanitized = false;  ///< needs no torch: checked with sanitizers
  std::string run;            ///< words behind ./isobar run LESSON --mine under which the part is at work
  std::string text;           ///< what is to be done
  std::string after;          ///< how the solution reasons, and where the engine's own version differs
  std::vector<ExerciseCheck> checks;
  std::vector<ExerciseMistake> mistakes;
  // A small step to begin with: the check that looks at it alone. "" = there is none.
  std::string first;
  std::int64_t first_minutes = 0;
  std::string first_text;
  std::filesystem::path folder;  ///< lessons/NN_name/exercise

  /// "./isobar run NN_name --mine --set amp.mode=fp16".
  std::string run_command() const;
  /// "first, about 3 minutes: take_step alone ..."; "" where it does not begin with a small step.
  std::string first_step() const;
  std::filesystem::path solution_file() const { return folder / (file + ".cpp"); }
  /// Under the learner's folder: "02_read_ahead.cpp".
  std::string own_name() const { return lesson.substr(0, 3) + file + ".cpp"; }
  /// Null where no check has this name.
  const ExerciseCheck* find(const std::string& name) const;
};

bool has_exercise(const std::filesystem::path& home, const std::string& lesson);

/// Error (exit code 2) for a lesson that has none, or a file that is wrong.
Exercise read_exercise(const std::filesystem::path& home, const std::string& lesson);

/// $ISOBAR_MY, else my/ in the project.
std::filesystem::path my_folder(const std::filesystem::path& home);

/// The skeleton that would be given now.
std::string read_skeleton(const Exercise& exercise);

/// A digest of a text, in eight letters.
std::string digest_of_text(const std::string& text);

struct MyFile {
  std::filesystem::path path;
  bool is_there = false;
  std::string text;                  ///< what the learner has so far
  std::string skeleton;              ///< the skeleton that would be given now
  std::string given;                 ///< the skeleton that was given; `skeleton` where that was not kept
  bool is_of_older_edition = false;  ///< header or skeleton have changed since it was given
  /// Whether all behind the function with the first gap is as it was given.
  bool rest_is_untouched() const;
};

MyFile read_my_file(const Exercise& exercise, const std::filesystem::path& my);

/// Reads the learner's file; Error (exit code 2) where it is not there. `command`: what asked for it.
MyFile find_my_file(const Exercise& exercise, const std::filesystem::path& my, const std::string& command);

/// Puts the skeleton there unless a file or a link of this name is there; true when it did. Error (exit code
/// 1) where that cannot be: what, where, hint.
bool place_my_file(const Exercise& exercise, const std::filesystem::path& my);

struct Hints {
  std::string of;  ///< "order" for a check, "order:2" for a mistake; "" = no check is so named
  std::vector<std::string> texts;  ///< the last one names the solution
};

/// Hints for a check that does not hold: those of the mistake that `sentence` shows (CheckFinding::sentence),
/// else those of the check.
Hints hints_of(const Exercise& exercise, const std::string& check, const std::string& sentence);

/// How many are shown now, at least 1: `one_more` than last time. A folder that cannot be written to keeps
/// none.
int shown_hints(const Exercise& exercise, const std::filesystem::path& my, const Hints& hints, bool one_more);

/// The number of hints kept; changes nothing.
int kept_hints(const Exercise& exercise, const std::filesystem::path& my, const Hints& hints);

/// What stands between "// BEGIN what to do" and "// END" goes, and "// YOU: what to do" takes its place;
/// lines "//> code" in it stay as code, for what has to compile. `origin` is named in errors (exit code 1):
/// marks that do not pair.
std::string cut_skeleton(const std::string& solution, const std::string& origin);

/// The solution as a learner reads it: without marks.
std::string plain_solution(const std::string& solution, const std::string& origin);

}  // namespace isobar
