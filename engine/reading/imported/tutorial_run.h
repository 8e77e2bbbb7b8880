#pragma once
// A run of the ERA5 tutorial from its out.log, its event files, or both.
#include <filesystem>
#include <vector>

#include "imported/epoch_log.h"
#include "imported/foreign_run.h"

namespace isobar {

/// Its scalars, each tag by step, as of the last training that they hold.
struct TutorialScalar {
  std::int64_t step = 0;
  double wall_s = 0;
  double value = 0;
};

/// Values are those of the event files where there are some, times of an epoch those of the log. `folder` is
/// EXPERIMENTS/CONFIG/4GPU/RUN, as the tutorial makes it; of another form it only gives its name. An empty
/// `log` or no `events` is none. Error (exit code 2) for logs without a training, and for a log alone whose
/// batch nobody knows.
ForeignRun read_tutorial_run(const std::filesystem::path& log,
                             const std::vector<std::filesystem::path>& events,
                             const std::filesystem::path& folder, const ImportWish& wish);

}  // namespace isobar
