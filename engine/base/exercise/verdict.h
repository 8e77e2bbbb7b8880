#pragma once
// What a check of a learner's file came to. The file becomes a library that a check program, or a lesson,
// loads: compiled with the very command by which the build compiles the part's other half,
// lessons/NN_name/exercise/part.cpp, and watched if wanted.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/find.h"
#include "exercise/exercise.h"
#include "launch/private_folder.h"

namespace isobar {

/// Why no library was made.
struct CompileProblem {
  std::string what;                ///< "it does not compile: expected ';' before 'return'"
  std::string where;               ///< "my/02_read_ahead.cpp:41:12"; "" where no line is known
  std::vector<std::string> lines;  ///< the line of the file, and the compiler's mark below it
};

/// How it is watched while it runs.
enum class Watch { none, address, threads };

struct CompileSetting {
  std::filesystem::path build;  ///< CMake's build folder
  std::string lesson;           ///< whose part it is: "NN_name"
  Watch watch = Watch::none;
  std::filesystem::path source;    ///< the learner's file
  std::filesystem::path library;   ///< what is to be made, in a PartFolder
  std::filesystem::path solution;  ///< which the file may not include, in whatever way
};

/// Where parts are made and loaded from, and checks write: gone with this, or swept by the next one. Error
/// (exit code 1) where there is no place for it, or nothing can be loaded from there.
class PartFolder {
 public:
  PartFolder();
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  PrivateFolder folder_;
};

/// Throws an Error (exit code 1) with the place of a PartFolder: what this machine lacks is not the learner's
/// mistake.
[[noreturn]] void refuse_place(const std::string& what, const std::filesystem::path& folder);

/// "my/02_read_ahead.cpp": as much of the path as a check names.
std::string known_as(const std::filesystem::path& source);

/// Nothing when the library is there. Error (exit code 1) where the build or the machine lacks what it takes.
std::optional<CompileProblem> compile_part(const CompileSetting& setting);

/// What an exercise may not include: its header and those in <> of the language and of libtorch it may.
std::optional<CompileProblem> forbidden_include(const std::string& text, const Exercise& exercise,
                                                const std::string& name);

/// The compiler's first error in the learner's file, or the place in it that led there; for tests too.
CompileProblem first_error(const std::string& said, const std::string& name);

/// The line in which a compiler or a linker reports what the machine lacks: room, memory, a program; "" where
/// it has nothing against the machine.
std::string machine_problem(const std::string& said);

struct CheckFinding {
  std::string expected;
  std::string came;
  std::string look;
  /// "expected A, came B; look at C".
  std::string sentence() const { return "expected " + expected + ", came " + came + "; look at " + look; }
};

struct ExerciseVerdict {
  std::vector<std::string> held;          ///< names of checks, in order
  std::string failed;                     ///< name of the first that did not hold; "" = none
  CheckFinding finding;                   ///< finding of that check
  std::optional<CompileProblem> problem;  ///< nothing was checked
  std::string picture;                    ///< lines that a check which holds shows; "" = none
  bool is_whole = false;                  ///< every check of the exercise was reported as held
  std::string digest;                     ///< digest of the file that was checked
  std::int64_t checks = 0;                ///< so far, where it was kept
  double compile_s = 0;
  double check_s = 0;

  bool passed() const { return is_whole && failed.empty() && !problem; }
  bool holds(const ExerciseCheck& check) const { return isobar::holds(held, check.name); }
  bool fails(const ExerciseCheck& check) const { return failed == check.name; }
};

/// Whether the exercise's first step is done, and nothing else was begun: no mistake to report.
bool has_first_step_alone(const Exercise& exercise, const MyFile& mine, const ExerciseVerdict& verdict);

/// Keeps beside the skeleton what a check came to, to be shown without checking again, and counts it; a
/// folder that cannot be written to keeps nothing.
void keep_verdict(const Exercise& exercise, const std::filesystem::path& my, const ExerciseVerdict& verdict);
/// Nothing where none is kept, or what is kept cannot be read.
std::optional<ExerciseVerdict> kept_verdict(const Exercise& exercise, const std::filesystem::path& my);
/// Error (exit code 2) before three checks, unless one has passed.
void refuse_early_solution(const Exercise& exercise, const std::filesystem::path& my);

/// Compiles the file and runs the check programs that lie in `build`/bin. Error (exit code 1) where they are
/// not built, or this machine cannot compile, load or run what it takes.
ExerciseVerdict check_exercise(const Exercise& exercise, const MyFile& mine,
                               const std::filesystem::path& build);

}  // namespace isobar
