#pragma once
// What a check of a learner's file came to.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/find.h"
#include "exercise/compile.h"
#include "exercise/exercise.h"

namespace isobar {

struct CheckFinding {
  std::string expected;
  std::string came;
  std::string look;
};

struct ExerciseVerdict {
  std::vector<std::string> held;          ///< names of checks, in order
  std::string failed;                     ///< name of the first that did not hold; "" = none
  CheckFinding finding;                   ///< of that one
  std::optional<CompileProblem> problem;  ///< nothing was checked
  bool is_whole = false;                  ///< every check of the exercise was reported as held
  std::string digest;                     ///< of the file that was checked
  double compile_s = 0;
  double check_s = 0;

  bool passed() const { return is_whole && failed.empty() && !problem; }
  bool holds(const ExerciseCheck& check) const { return isobar::holds(held, check.name); }
  bool fails(const ExerciseCheck& check) const { return failed == check.name; }
};

/// Keeps beside the skeleton what a check came to, for whoever shows it without checking again; a folder that
/// cannot be written to keeps nothing.
void keep_verdict(const Exercise& exercise, const std::filesystem::path& my, const ExerciseVerdict& verdict);
/// Nothing where none is kept, or what is kept cannot be read.
std::optional<ExerciseVerdict> kept_verdict(const Exercise& exercise, const std::filesystem::path& my);
/// Compiles the file and runs the check programs that lie in `build`/bin. Error (exit code 1) where they are
/// not built, or this machine cannot compile, load or run what it takes.
ExerciseVerdict check_exercise(const Exercise& exercise, const MyFile& mine,
                               const std::filesystem::path& build);

}  // namespace isobar
