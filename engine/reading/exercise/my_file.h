#pragma once
// The learner's files: my/NN_name.cpp, put there once and from then on only read. Beside them my/.given keeps
// each skeleton as it was given, so that a later edition can say what changed.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyse/line_diff.h"
#include "exercise/exercise.h"

namespace isobar {

/// $ISOBAR_MY, else my/ in the project.
std::filesystem::path my_folder(const std::filesystem::path& home);

/// As it would be given now.
std::string read_skeleton(const Exercise& exercise);

/// What tells two texts apart, in eight letters.
std::string digest_of_text(const std::string& text);

struct MyFile {
  std::filesystem::path path;
  bool is_there = false;
  std::string text;                  ///< what the learner has so far
  std::string skeleton;              ///< as it would be given today
  std::string given;                 ///< as it was given; `skeleton` where that was not kept
  bool is_of_older_edition = false;  ///< header or skeleton have changed since it was given
};

MyFile read_my_file(const Exercise& exercise, const std::filesystem::path& my);

/// The same; Error (exit code 2) where it is not there. `command`: what asked for it.
MyFile find_my_file(const Exercise& exercise, const std::filesystem::path& my, const std::string& command);

/// Puts the skeleton there unless a file or a link of this name is there; true when it did. Error (exit code
/// 1) where that cannot be: what, where, hint.
bool place_my_file(const Exercise& exercise, const std::filesystem::path& my);

/// Those of the check, and last the one that names the solution.
std::vector<std::string> hints_of(const Exercise& exercise, const ExerciseCheck& check);

/// How many are shown now, at least 1: `one_more` than last time. A folder that cannot be written to keeps
/// none.
int shown_hints(const Exercise& exercise, const std::filesystem::path& my, const std::string& check,
                bool one_more);

/// The same, and nothing is kept.
int kept_hints(const Exercise& exercise, const std::filesystem::path& my, const std::string& check);

/// What stands between "// BEGIN what to do" and "// END" goes, and "// YOU: what to do" takes its place;
/// lines "//> code" in it stay as code, for what has to compile. `origin` is named in errors (exit code 1):
/// marks that do not pair.
std::string cut_skeleton(const std::string& solution, const std::string& origin);

/// The solution as a learner reads it: without marks.
std::string plain_solution(const std::string& solution, const std::string& origin);

}  // namespace isobar
