#include "cli/commands.h"
#include "cli/compare_text.h"
#include "cli/runs_command.h"
#include "config/option_parser.h"
#include "core/error.h"

namespace isobar {

namespace {

constexpr const char* kCompare = "./isobar compare";
constexpr std::size_t kMostCompared = 200;
constexpr NotARun kEvents = {"event files of another program do not say what a step consists of",
                             "./isobar gui compares their curves"};

}  // namespace

int compare_command(const Words& words) {
  Words names;
  bool json = false;
  OptionParser app(
      "Which run is faster than the first, by how much, why, and how sure that is; repeats of a run beside "
      "it "
      "are found and counted in",
      kCompare);
  app.add("RUNS", names, "two or more: folders, names, or last");
  app.flag("--json", json, "one JSON object instead of the text");
  if (!app.parse(words)) return 0;
  if (names.size() < 2)
    throw Error(names.empty() ? "which runs?" : "one run compares with nothing", kCompare,
                "./isobar compare A B; ./isobar runs lists them");
  if (names.size() > kMostCompared)
    throw Error("too many runs at once", std::to_string(names.size()),
                "at most " + std::to_string(kMostCompared));
  compare_report(read_cases(find_shown_runs(names, kEvents)), text_columns(), table_columns()).print(json);
  return 0;
}

}  // namespace isobar
