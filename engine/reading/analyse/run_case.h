#pragma once
// A run and those that repeat it.
#include <cstddef>
#include <filesystem>
#include <vector>

#include "analyse/parity.h"
#include "analyse/steady.h"
#include "log/run_files.h"
#include "log/run_series.h"

namespace isobar {

/// The newest repeats of a run that are looked at.
inline constexpr std::size_t kMostRunRepeats = 20;

struct RunCase {
  std::filesystem::path folder;
  ConfigText config;
  RunSeries series;  ///< the run's own
  Repeats repeats;   ///< the run itself, then those with the same settings in the same place
  std::vector<std::filesystem::path> folders;  ///< folder of each
  std::size_t crowded = 0;  ///< repeats left out: other programs took part of the processors

  const RunView& view() const { return repeats.front().view; }
  /// Samples a step of all ranks; 0 = not known.
  double samples_a_step() const;
};

/// Other programs took the processors while it ran, so that its times are unreliable. Where its own threads,
/// of all ranks, want more processors than there are, waiting for one is its own doing.
bool is_disturbed(const RunView& view, const ConfigText& config);

/// Whether it can be one of several repeats: it ended well, began at its first step, and was measured, here
/// or where it was recorded. Repeats are all measured here, or all recorded.
bool is_whole(const RunView& view);

struct KnownRun {
  std::filesystem::path folder;
  ConfigText config;
};
/// The newest runs of a folder whose settings can be read, at most 2,000, newest first.
std::vector<KnownRun> known_runs(const std::filesystem::path& parent);

/// One run without its repeats. Error (exit code 2) when the folder holds no run.
RunCase read_case(const std::filesystem::path& run);

/// Each run with its repeats: runs of its parent folder that are whole, and of the same lesson, settings,
/// host, device and commit. Error (exit code 2) when a folder holds no run.
std::vector<RunCase> read_cases(const std::vector<std::filesystem::path>& runs);

}  // namespace isobar
