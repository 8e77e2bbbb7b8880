#pragma once
// A run as its folder tells it: live, finished, or dead.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyse/event_log.h"
#include "analyse/run_series.h"
#include "analyse/run_view.h"

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
  const RunView& view() const { return builder_.view.view(); }
  RunSeries& series() { return builder_.series; }
  const std::filesystem::path& folder() const { return folder_; }
  /// How often the stream was replaced by another while it was read.
  int restarts() const { return log_.restarts(); }

 private:
  struct Builder {
    RunViewBuilder view;
    RunSeries series;
    bool keep_series;

    void take(const Event& event) {
      view.take(event);
      if (keep_series) series.take(event);
    }
    void count_unread() { view.count_unread(); }
    void clear() {
      view.clear();
      series = {};
    }
  };

  std::filesystem::path folder_;
  EventLog log_;
  Builder builder_;
  bool has_read_ = false;      ///< all that was there at first
  std::int64_t grown_us_ = 0;  ///< when it was last seen to grow after that, on the steady clock
};

/// What a run says of itself, from the head and the tail of its stream: as good as reading all of it for a
/// run that has its `summary` line, and quick for any. Of a resumed run the line with which its newest
/// attempt begins is looked for too. What cannot be known from them stays 0.
RunView glance(const std::filesystem::path& folder);

}  // namespace isobar
