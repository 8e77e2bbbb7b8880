#include "exercise/hints.h"

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "core/files.h"

namespace isobar {

namespace fs = std::filesystem;

std::vector<std::string> hints_of(const Exercise& exercise, const ExerciseCheck& check) {
  std::vector<std::string> out = check.hints;
  out.push_back("the solution is " + as_typed(exercise.solution_file()).string() + "; ./isobar check " +
                exercise.lesson + " --solution shows it beside yours");
  return out;
}

namespace {

fs::path hints_file(const Exercise& exercise, const fs::path& my) {
  return my / ".given" / (exercise.lesson + ".hints");
}

/// At least 1, at most all of the check; 0 where the exercise has no such check.
int count_of(const Exercise& exercise, const fs::path& my, const std::string& check, int more) {
  const ExerciseCheck* const found = exercise.find(check);
  if (found == nullptr) return 0;
  std::string name;
  int shown = 1;
  std::ifstream(hints_file(exercise, my)) >> name >> shown;
  return std::clamp(name == check ? shown + more : 1, 1, static_cast<int>(found->hints.size()) + 1);
}

}  // namespace

int kept_hints(const Exercise& exercise, const fs::path& my, const std::string& check) {
  return count_of(exercise, my, check, 0);
}

int shown_hints(const Exercise& exercise, const fs::path& my, const std::string& check, bool one_more) {
  const int shown = count_of(exercise, my, check, one_more ? 1 : 0);
  if (shown == 0) return 0;
  const fs::path file = hints_file(exercise, my);
  try {
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    write_file_whole(file, check + " " + std::to_string(shown) + "\n");
  } catch (const Error&) {
    // Asked again, the same hint comes.
  }
  return shown;
}

}  // namespace isobar
