#pragma once
// The file that `bench loader` reads, and whether it lies in the page cache.
#include <array>
#include <cstdint>
#include <filesystem>

namespace isobar {

/// Writes `root`/train/2000.h5 of this shape [time, channel, lat, lon] and its statistics. Durable on return.
std::filesystem::path make_loader_data(const std::filesystem::path& root,
                                       const std::array<std::int64_t, 4>& shape);

/// Share of the file's pages that lie in memory, 0 to 1.
double share_in_cache(const std::filesystem::path& file);

/// Asks the system to forget the file's pages; the share that is still there (file systems in memory keep
/// all).
double drop_from_cache(const std::filesystem::path& file);

/// Reads the file through, so that it lies in memory if there is room.
void bring_into_cache(const std::filesystem::path& file);

}  // namespace isobar
