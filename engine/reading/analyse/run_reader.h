#pragma once
// A run as its folder tells it: live, finished, or dead.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/event.h"
#include "analyse/run_series.h"
#include "analyse/run_view.h"
#include "record/stream_reader.h"

namespace isobar {

/// Reads rank 0's stream; `update` takes in what was added. Unknown kinds and keys are ignored; an unknown
/// schema is an Error (exit code 2).
class RunReader {
 public:
  /// With `keep_series`, every value of every step is kept too. Error (exit code 2) when the folder holds no
  /// run.
  explicit RunReader(std::filesystem::path folder, bool keep_series = false);

  /// True when something new was read; at most 16 MiB a call.
  bool update();
  void read_all() {
    while (update()) {
    }
  }
  const RunView& view() const { return builder_.view(); }
  RunSeries& series() { return series_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// How often the stream was replaced by another while it was read.
  int restarts() const { return restarts_; }

 private:
  std::filesystem::path folder_;
  StreamReader stream_;
  EventParser parser_;
  RunViewBuilder builder_;
  RunSeries series_;
  bool keep_series_;
  int restarts_ = 0;
  bool has_read_ = false;      ///< all that was there at first
  std::int64_t grown_us_ = 0;  ///< when it was last seen to grow after that, on the steady clock
};

/// What a run says of itself, from the head and the tail of its stream: as good as reading all of it for a
/// run that has its `summary` line, and quick for any. Of a resumed run the line with which its newest
/// attempt begins is looked for too. What cannot be known from them stays 0.
RunView glance(const std::filesystem::path& folder);

/// One JSON object: state, reason, lesson, scores, summary, and what the watched step was made of.
std::string to_json(const RunReader& reader);

}  // namespace isobar
