#pragma once
// What event files of another program hold, for a terminal.
#include <filesystem>
#include <string>
#include <vector>

namespace isobar {

/// A line a tag: how many values it has, the first and the last of them; at most 100 tags. Damaged files say
/// so.
std::vector<std::string> event_lines(const std::filesystem::path& folder);

}  // namespace isobar
