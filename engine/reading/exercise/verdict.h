#pragma once
// What a check of a learner's file came to.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

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
  double compile_s = 0;
  double check_s = 0;

  bool passed() const { return is_whole && failed.empty() && !problem; }
};

/// What a check came to last, kept beside the skeleton: for whoever shows it without checking again.
struct KeptVerdict {
  std::vector<std::string> held;
  std::string failed;   ///< as in ExerciseVerdict
  std::string problem;  ///< why nothing was checked
  std::string where;
  CheckFinding finding;
  std::string digest;  ///< of the file that was checked
};
/// A folder that cannot be written to keeps none.
void keep_verdict(const Exercise& exercise, const std::filesystem::path& my, const ExerciseVerdict& verdict,
                  const MyFile& mine);
/// Nothing where none is kept, or what is kept cannot be read.
std::optional<KeptVerdict> kept_verdict(const Exercise& exercise, const std::filesystem::path& my);
/// Compiles the file and runs the check programs that lie in `build`/bin. Error (exit code 1) where they are
/// not built, or this machine cannot compile, load or run what it takes.
ExerciseVerdict check_exercise(const Exercise& exercise, const MyFile& mine,
                               const std::filesystem::path& build);

}  // namespace isobar
