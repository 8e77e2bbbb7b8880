#include <cstdio>

#include "cli/commands.h"
#include "cli/exercise_text.h"
#include "config/lesson.h"
#include "config/option_parser.h"
#include "core/files.h"

namespace isobar {

namespace fs = std::filesystem;

int exercise_command(const Words& words) {
  std::string name;
  bool json = false;
  bool prints = false;
  OptionParser app(
      "The part of a lesson that you write: puts its skeleton into my/, and never over a file of yours",
      "./isobar exercise");
  app.add("LESSON", name, "such as 02_workers; without one all exercises are listed");
  app.flag("--print", prints, "prints the skeleton, and puts nothing anywhere");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words, {.where = "./isobar exercise", .example = "02_workers"})) return 0;
  const fs::path home = project_home();
  if (name.empty()) {
    exercise_list(home).print(json);
    return 0;
  }
  const Exercise exercise = read_exercise(home, find_lesson(home, name).name);
  if (prints) {
    std::fputs(read_skeleton(exercise).c_str(), stdout);
    return 0;
  }
  const bool is_new = place_my_file(exercise, my_folder(home));
  exercise_report(exercise, read_my_file(exercise, my_folder(home)), is_new).print(json);
  return 0;
}

}  // namespace isobar
