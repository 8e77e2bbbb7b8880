#pragma once
// What `main` of a lesson does around its run: the start of each run, and the end of each.
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "config/command_line.h"
#include "launch/rank_environment.h"
#include "running/run_journal.h"

namespace isobar {

/// What a run is started with.
struct RunStart {
  LessonInfo lesson;
  RunArguments arguments;  ///< the launcher decides the number of ranks
  std::vector<std::string> command;
  RankEnvironment ranks;
};

/// Reads the command line, answers --help, and turns the outcome of `body` into an exit code
/// (core/error.h).
int run_main(const std::string& lesson, int argc, char** argv,
             const std::function<int(const RunStart&)>& body);

/// What a run is made with, and on.
struct RunPlace {
  const Config& config;
  std::vector<std::pair<std::string, std::string>> about;  ///< such as the device and the version of libtorch
  int threads = 1;
  std::filesystem::path resumed = {};  ///< the folder of the run that is resumed; "" = a new one begins
};

/// Rank 0 makes or takes the run folder (the resumed one, --run-dir, or a new one below runs/), keeps the
/// console in it and writes run.toml there. All ranks call it; `broadcast` gives each the text of rank 0.
JournalFolder meet_in_folder(const RunStart& start, const RunPlace& place, Console& console,
                             const std::function<std::string(std::string)>& broadcast);

/// Prints what a learner's part or a mistake on purpose changes, where there is one.
void announce_changes(RunJournal& journal);

/// Ends a run that is `complete`, or that the signal `stop` stopped, and prints the outcome. `resume`: the
/// command that continues it; "" = there is no checkpoint. The exit code: done; 75 after a stop with a
/// checkpoint, 128 + signal without one.
int finish_run(RunJournal& journal, bool complete, int stop, const std::string& resume,
               const RunSummary& whole);

/// Ends a run after an error; with `followed` another rank is to blame. Other errors are not reported.
void fail_run(RunJournal& journal, bool followed, const std::string& reason,
              const std::function<RunSummary()>& summary) noexcept;

}  // namespace isobar
