#pragma once
// Tests with several real processes: a scenario is a function that every rank runs in a process of its own,
// with the environment of a launcher; the test starts them, waits with a deadline, and reads what they said.
// They are copies of the test, whose libraries are loaded already: starting libtorch takes 0.3 s a process.
#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "launch/rank_launcher.h"
#include "support/forked.h"

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

/// Runs the scenario that the first word names on `ranks` ranks, quietly; it gets the other words.
inline RanksEnded run_scenario(int ranks, const std::vector<std::string>& words, double deadline_s = 300) {
  const Scenario& scenario = scenarios().at(words.at(0));
  const auto start = [&](const std::vector<std::string>& all, const SpawnOptions& options) {
    return forked(
        [&] {
          std::signal(SIGPIPE, SIG_IGN);  // as a lesson: Gloo writes to ranks that are gone
          return guarded_main("scenario", [&] { return scenario({all.begin() + 1, all.end()}); });
        },
        options);
  };
  return launch_ranks(words, ranks, {.quiet = true, .deadline_s = deadline_s, .grace_s = 5, .start = start});
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
