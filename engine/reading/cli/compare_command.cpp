#include <algorithm>
#include <filesystem>

#include "analyse/event_files.h"
#include "cli/commands.h"
#include "cli/compare_text.h"
#include "cli/runs_command.h"
#include "config/option_parser.h"
#include "core/error.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCompare = "./isobar compare";
constexpr std::size_t kMostCompared = 200;

/// Error for what is no run of ours, or named twice.
std::vector<fs::path> named_runs(const Words& names) {
  std::vector<fs::path> out;
  std::error_code code;
  for (const std::string& name : names) {
    const fs::path run = find_shown_run(name);
    if (!is_run_folder(run) && !event_files(run).empty())
      throw Error("event files of another program do not say what a step consists of", run.string(),
                  "./isobar gui compares their curves");
    const bool is_twice = std::any_of(out.begin(), out.end(), [&](const fs::path& other) {
      return fs::weakly_canonical(other, code) == fs::weakly_canonical(run, code);
    });
    if (is_twice) throw Error("the run is named twice", printable(name, 200), "name another");
    out.push_back(run);
  }
  return out;
}

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
  compare_report(read_cases(named_runs(names)), text_columns(), table_columns()).print(json);
  return 0;
}

}  // namespace isobar
