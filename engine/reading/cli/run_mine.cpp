// ./isobar run LESSON --mine: the lesson's program loads the learner's part instead of ours.
#include <algorithm>
#include <cstdlib>

#include "check/yours.h"
#include "cli/commands.h"
#include "cli/start.h"
#include "core/error.h"
#include "core/files.h"
#include "exercise/compile.h"
#include "exercise/my_file.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMine = "--mine";
constexpr const char* kPrograms = "mine_";

/// The learner's part of the lesson as a library in the folder. Error (exit code 2) where there is none, or
/// it does not compile.
fs::path compiled_part(const Exercise& exercise, const fs::path& folder) {
  const MyFile mine =
      find_my_file(exercise, my_folder(project_home()), "./isobar run " + exercise.lesson + " --mine");
  const std::string name = known_as(mine.path);
  const fs::path build = program_folder().parent_path();
  const fs::path library = folder / (exercise.lesson + ".so");
  std::optional<CompileProblem> problem = forbidden_include(mine.text, exercise, name);
  if (!problem)
    problem =
        compile_part({build, exercise.lesson, Watch::none, mine.path, library, exercise.solution_file()});
  if (problem) throw Error(problem->what, problem->where, "./isobar check " + exercise.lesson + " says more");
  return library;
}

}  // namespace

int run_any_command(const Words& words) {
  Words others = words;
  if (std::erase(others, kMine) == 0) return run_command(words, show_instead_of_running);
  if (others.empty() || others.front().starts_with('-') ||
      std::count(others.begin(), others.end(), "--help") > 0)
    return run_command(others, show_instead_of_running);
  const Exercise exercise = read_exercise(project_home(), find_lesson(project_home(), others.front()).name);
  const PartFolder folder;
  setenv(kPartVariable, compiled_part(exercise, folder.path()).c_str(), 1);
  setenv(kYoursVariable, known_as(my_folder(project_home()) / exercise.own_name()).c_str(), 1);
  return run_command(others, show_instead_of_running, kPrograms);
}

}  // namespace isobar
