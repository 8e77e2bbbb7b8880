#pragma once
// Tests with several real processes: a scenario is a function that every rank runs in a process of its own,
// with the environment of a launcher; the test starts them, waits with a deadline, and reads what they said.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "launch/rank_launcher.h"
#include "support/bin_folder.h"

namespace isobar::testing {

/// Gets what stands behind the scenario's name on the command line; returns the exit code. Throwing fails
/// too.
using Scenario = std::function<int(const std::vector<std::string>&)>;

inline std::map<std::string, Scenario>& scenarios() {
  static std::map<std::string, Scenario> all;
  return all;
}

/// At namespace scope: const AddScenario name{"name", [](const auto& words) { ... return 0; }};
struct AddScenario {
  AddScenario(const std::string& name, Scenario scenario) { scenarios()[name] = std::move(scenario); }
};

/// `main` of a program of scenarios.
inline int scenario_main(int argc, char** argv) {
  return guarded_main("scenario", [&] {
    const auto found = scenarios().find(argc > 1 ? argv[1] : "");
    if (found == scenarios().end()) throw Error("there is no such scenario", argc > 1 ? argv[1] : "", "");
    return found->second({argv + 2, argv + argc});
  });
}

/// Runs `scenario` of `program` (a name in the folder of programs) on `ranks` ranks, quietly.
inline RanksEnded run_scenario(const std::string& program, int ranks, std::vector<std::string> words,
                               double deadline_s = 300) {
  words.insert(words.begin(), bin_folder(ISOBAR_BIN) + "/" + program);
  return launch_ranks(words, ranks, {.quiet = true, .deadline_s = deadline_s, .grace_s = 5, .tick = {}});
}

/// What every rank said, for INFO of a failed test.
inline std::string said(const RanksEnded& ended) {
  std::string out;
  for (const RankEnded& rank : ended.ranks) {
    out += "rank " + std::to_string(rank.rank) + " ended with " + std::to_string(rank.code) + "\n" +
           rank.output + rank.errors;
  }
  return out;
}

}  // namespace isobar::testing
