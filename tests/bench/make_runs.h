#pragma once
// Run folders by the thousand, as lessons write them.
#include <filesystem>
#include <functional>

namespace isobar {

/// Writes `runs` finished runs of `steps` steps below `folder`; no two have the same values. `progress` is
/// told how many are done.
void make_runs(const std::filesystem::path& folder, int runs, int steps,
               const std::function<void(int)>& progress);

/// Folders of which a third begin like a run and all go on with noise.
void make_noise(const std::filesystem::path& folder, int count);

/// Asks the system to forget what it keeps of the streams in memory, so that the next look reads the disk.
void forget_pages(const std::filesystem::path& folder);

}  // namespace isobar
