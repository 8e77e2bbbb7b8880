#pragma once
// What lessons/NN_name/exercise/exercise.toml says: the part of a lesson that a learner writes.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace isobar {

/// One thing that is looked at, and what helps where it does not hold.
struct ExerciseCheck {
  std::string name;
  std::string says;                ///< "batches come in order, whichever is filled first"
  std::vector<std::string> hints;  ///< each says more than the one before
};

/// The check that the sanitizer for threads makes; an exercise without it is not compiled for that one.
inline constexpr const char* kRaceCheck = "race";

struct Exercise {
  std::string lesson;  ///< "02_workers"
  std::string file;    ///< "read_ahead"
  std::string title;
  std::int64_t minutes = 0;   ///< that somebody who read the page takes
  bool is_sanitized = false;  ///< needs no torch: checked with sanitizers
  std::string run;            ///< words behind ./isobar run LESSON --mine under which the part is at work
  std::string text;           ///< what is to be done
  std::string after;          ///< how the solution reasons, and where the engine's own version differs
  std::vector<ExerciseCheck> checks;
  std::filesystem::path folder;  ///< lessons/NN_name/exercise

  /// "./isobar run 04_amp --mine --set amp.mode=fp16".
  std::string run_command() const;
  std::filesystem::path solution_file() const { return folder / (file + ".cpp"); }
  /// Under the learner's folder: "02_read_ahead.cpp".
  std::string own_name() const { return lesson.substr(0, 3) + file + ".cpp"; }
  /// Null where no check has this name.
  const ExerciseCheck* find(const std::string& name) const;
};

bool has_exercise(const std::filesystem::path& home, const std::string& lesson);

/// Error (exit code 2) for a lesson that has none, or a file that is wrong.
Exercise read_exercise(const std::filesystem::path& home, const std::string& lesson);

}  // namespace isobar
