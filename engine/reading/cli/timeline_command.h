#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "analyse/timeline.h"

namespace isobar {

/// What `show RUN --timeline` and `show RUN --trace FILE.json` were asked for.
struct TimelineRequest {
  bool draw = false;
  bool json = false;
  int rank = 0;                           ///< whose spans are drawn; a trace has all
  std::optional<std::string> trace_file;  ///< to be written
  bool replace = false;                   ///< whatever is there
  TimelineWish wish;
};

/// Draws the timeline of a run, or prints it as JSON, or writes it as a Chrome trace.
void show_timeline(const std::filesystem::path& run, const TimelineRequest& request);

}  // namespace isobar
