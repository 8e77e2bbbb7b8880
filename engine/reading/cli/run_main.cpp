// The part of ./isobar behind `run` and `data`: a new machine compiles no reader before its first step.
#include <string>
#include <vector>

#include "cli/run_command.h"
#include "cli/start.h"
#include "core/error.h"
#include "core/text.h"

using namespace isobar;

namespace {

std::vector<std::string> words;  // of this command line

/// A run of another machine is shown by the program of all commands.
int show_instead(const LessonInfo&) {
  std::vector<std::string> again = {(program_folder() / "isobar-cli").string()};
  again.insert(again.end(), words.begin(), words.end());
  become(again);
}

int dispatch() {
  const std::string command = words.empty() ? "" : words.front();
  const std::vector<std::string> rest(words.empty() ? words.end() : words.begin() + 1, words.end());
  if (command == "run") return run_command(rest, show_instead);
  if (command == "data") return data_command(rest);
  throw Error("unknown command \"" + printable(command, 40) + "\"", "isobar-run",
              "run or data; isobar-cli knows all");
}

}  // namespace

int main(int argc, char** argv) {
  words.assign(argv + 1, argv + argc);
  return guarded_main("isobar", dispatch);
}
