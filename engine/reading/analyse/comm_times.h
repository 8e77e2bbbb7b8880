#pragma once
// When a rank communicated, and what ran beside it, from its spans.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "log/spans.h"

namespace isobar {

/// A stretch of time. Sets of them count when something ran, not how often.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;  ///< not part of it
  bool operator==(const Interval&) const = default;
};

/// Their union as intervals that are in order and do not touch; empty ones are dropped.
std::vector<Interval> union_of(std::vector<Interval> intervals);

/// What two unions have in common.
std::vector<Interval> common_to(const std::vector<Interval>& one, const std::vector<Interval>& other);

/// Length of a union.
std::int64_t length_of(const std::vector<Interval>& intervals);

/// From the beginning of the first stage of a step to the end of its last, on the host's clock.
struct StepWindow {
  std::int64_t step = 0;
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
};

/// The window of every traced step, in order of their numbers; what the loop does between steps belongs to
/// none.
std::vector<StepWindow> step_windows(const SpanTable& table);

/// Steps over which figures are made; none when `last` lies before `first`.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = -1;

  bool operator==(const StepRange&) const = default;
};

/// The windows in `wanted`; where there is none, all without the first tenth, which fills queues and caches
/// and is like no other.
std::vector<StepWindow> steady_windows(const std::vector<StepWindow>& windows, StepRange wanted = {});

/// Whether spans of this name are a collective under way: "all-reduce", "broadcast", ...
bool is_collective(std::string_view name);

/// Whether spans of this name compute: forward, backward, optimize, replay.
bool is_compute(std::string_view name);

/// Tracks with a collective, places in SpanTable::tracks; on these a span "wait" lasts from when a bucket is
/// ready here until it is on all ranks.
std::vector<bool> comm_tracks(const SpanTable& table);

/// Over the steady steps, each clipped to its step: unions of times, never sums.
struct CommTimes {
  StepRange steps;
  double total_us = 0;                     ///< a step: something was under way
  double queued_us = 0;                    ///< a step: buckets were ready, and nothing was under way
  double exposed_us = 0;                   ///< a step: under way or waiting, and nothing computed
  double calls = 0;                        ///< a step
  double bytes = 0;                        ///< a step, of all tensors
  std::optional<double> overlap;           ///< time computing while communicating over time communicating
  std::optional<double> backward_overlap;  ///< overlap with backward alone
  /// Share of exposed_us that is the last bucket's: it was under way, or was waited for while no other was.
  /// Nothing where the table is not whole.
  std::optional<double> last_bucket;
};

/// Over the steady steps of `wanted`. Nothing when no collective was traced.
std::optional<CommTimes> comm_times(const SpanTable& table, StepRange wanted = {});

}  // namespace isobar
