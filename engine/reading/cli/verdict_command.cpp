#include <utility>

#include "analyse/run_files.h"
#include "cli/commands.h"
#include "cli/runs_command.h"
#include "cli/verdict_text.h"
#include "config/option_parser.h"
#include "core/error.h"

namespace isobar {

namespace {

constexpr const char* kVerdict = "./isobar verdict";

}  // namespace

int verdict_command(const Words& words) {
  std::string name;
  bool json = false;
  OptionParser app("What bounds a run and by how much, one thing to notice, one to try", kVerdict);
  app.add("RUN", name, "a folder, a name, or last");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words)) return 0;
  if (name.empty()) throw Error("which run?", kVerdict, "./isobar verdict last; ./isobar runs lists them");
  const std::filesystem::path folder = find_shown_run(name);
  check_run_folder(folder);
  const RunCase run = std::move(read_cases({folder}).front());
  const RunFacts facts = facts_of(run);
  const RunVerdict verdict = judge_run(run, find_quartet(run, facts), facts);
  verdict_report(run, verdict, text_columns()).print(json);
  return 0;
}

}  // namespace isobar
