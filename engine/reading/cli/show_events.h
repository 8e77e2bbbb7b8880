#pragma once
// What the event files of another program hold, as a table and as JSON.
#include <filesystem>

#include "cli/report.h"

namespace isobar {

/// A line a tag: how many values, the first, the last, its step; then what cannot be read, and what was read
/// and is left out. {"folder", "event_files", "tags": [...], "problems": [...], "left_out": [...]}.
Report event_report(const std::filesystem::path& folder);

}  // namespace isobar
