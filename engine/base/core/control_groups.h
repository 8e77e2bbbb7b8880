#pragma once
// The control groups of this process (cgroups(7)), of version 1, 2, or both beside each other.
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// Folders of the group whose use `controller` ("cpu", "memory") counts, and of those above it, innermost
/// first: each may hold a limit. A container may show a path of the machine outside; what of it can be seen
/// is the longest end that is a folder here. `root` holds proc/ and sys/. cmake/setup/machine.sh has the same
/// rule for what is not built yet; tests/setup/machines.txt holds both to it.
std::vector<std::filesystem::path> control_groups(const std::string& controller,
                                                  const std::filesystem::path& root = "/");

}  // namespace isobar
