// The part of ./isobar behind `run` and `data`: a new machine compiles no reader before its first step.
// ./isobar doctor asks it for the threads of a run, and ./isobar what a command line needs.
#include <cstdio>

#include "config/needs.h"
#include "core/processors.h"
#include "start/commands.h"

using namespace isobar;

namespace {

int run_here(const Words& words) {
  static Words again;
  again = {(program_folder() / "isobar-cli").string(), "run"};
  again.insert(again.end(), words.begin(), words.end());
  // A run of another machine is shown by the program of all commands.
  return run_command(words, [](const LessonInfo&) -> int { become(again); });
}

int threads_here(const Words& words) {
  OptionParser app("How many threads a run takes here, and what decides it", "isobar-run threads");
  if (!app.parse(words)) return 0;
  const Processors here = processors_here();
  const ThreadChoice threads = here.threads(/*wanted=*/0);
  std::printf("%d %s\n%s%s", threads.count, threads.why.c_str(), here.note.c_str(),
              here.note.empty() ? "" : "\n");
  return 0;
}

int needs_here(const Words& words) {
  std::fputs(needs_of(project_home(), words, needs_machine_here()).text().c_str(), stdout);
  return 0;
}

constexpr Command kCommands[] = {
    {"run", run_here}, {"data", data_command}, {"threads", threads_here}, {"--needs", needs_here}};

}  // namespace

int main(int argc, char** argv) { return run_program(kCommands, argc, argv); }
