#pragma once
// What a check of a learner's file came to.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "exercise/compile.h"
#include "exercise/exercise.h"
#include "exercise/my_file.h"

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
  double compile_s = 0;
  double check_s = 0;

  bool passed() const { return failed.empty() && !problem; }
};

/// Compiles the file and runs the check programs that lie in `build`/bin. Error (exit code 1) where they are
/// not built.
ExerciseVerdict check_exercise(const Exercise& exercise, const MyFile& mine,
                               const std::filesystem::path& build);

}  // namespace isobar
