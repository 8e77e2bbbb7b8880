// The part of ./isobar behind `run` and `data`: a new machine compiles no reader before its first step.
#include "cli/commands.h"
#include "cli/start.h"

using namespace isobar;

namespace {

int run_here(const Words& words) {
  static Words again;
  again = {(program_folder() / "isobar-cli").string(), "run"};
  again.insert(again.end(), words.begin(), words.end());
  // A run of another machine is shown by the program of all commands.
  return run_command(words, [](const LessonInfo&) -> int { become(again); });
}

constexpr Command kCommands[] = {{"run", run_here}, {"data", data_command}};

}  // namespace

int main(int argc, char** argv) { return run_program(kCommands, argc, argv); }
