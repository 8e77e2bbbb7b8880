#pragma once
// Some steps of a run with everything that ran beside them, and what it amounts to over all steady steps.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyse/comm_times.h"
#include "core/json.h"
#include "log/run_series.h"
#include "log/spans.h"

namespace isobar {

/// Which steps to draw.
struct TimelineWish {
  std::int64_t first = -1;  ///< -1 = the steady ones whose mean is nearest to the median step
  std::int64_t steps = 3;
  StepRange steady =
      {};  ///< over which figures are made, so that they are of the steps of other figures shown
};

struct NameFigures {
  std::size_t name = 0;     ///< place in SpanTable::names
  std::int64_t steps = 0;   ///< in so many of the steady steps it is there
  double step_us = 0;       ///< its time in such a step, summed over its spans: the mean
  double share = 0;         ///< share of the time from the first steady step to the last in which it ran
  double bytes_per_us = 0;  ///< bytes over duration of the spans that have bytes; 0 = none has
  std::int64_t bytes = 0;   ///< sum over its spans in the steady steps
};

struct TrackFigures {
  std::size_t track = 0;  ///< place in SpanTable::tracks
  double busy = 0;        ///< share of the time in which any of its spans ran, those named "wait" left out
  std::vector<NameFigures> names;
};

/// Stalls from the step events of these steps. Batches come in bursts where workers share a slow disk, so
/// that most steps wait for nothing and some for all of them: only means count.
struct StallFigures {
  double step_us = 0;  ///< time in which Loader::next kept the loop waiting, mean of the steps
  double of_step = 0;  ///< over the mean step
};

struct Timeline {
  std::vector<StepWindow> drawn;
  std::int64_t begin_us = 0;        ///< begin of what is drawn
  std::int64_t end_us = 0;          ///< later than begin_us
  std::vector<std::size_t> tracks;  ///< rows from top to bottom, places in SpanTable::tracks
  std::vector<std::size_t> spans;   ///< those that reach into the drawn time, places in SpanTable::spans

  std::vector<StepWindow> steady;  ///< the traced steps that figures are made over, in their order
  std::int64_t last_step = 0;      ///< last traced step
  double step_us = 0;              ///< mean of them
  double median_step_us = 0;
  std::vector<TrackFigures> figures;
  /// Share of the time of the track "upload" in which forward, backward or optimize ran beside it, on the
  /// device where there is that track; nothing without uploads.
  std::optional<double> upload_beside_compute;
  std::optional<StallFigures> stall;  ///< nothing where step events have no `stall_us`
  std::optional<double> ready;        ///< mean of `queue_slots`
  std::optional<CommTimes> comm;      ///< nothing where no collective was traced
};

/// Errors (exit code 2): no span of the training loop, a first step that was not traced.
Timeline make_timeline(const SpanTable& table, const RunSeries& series, const TimelineWish& wish);

/// Widths for a terminal: rows of the drawing are tracks, columns are time, a letter is what ran.
struct TextWidth {
  std::size_t columns = 80;  ///< columns of a line; fewer than 60 are taken for 60
  bool colour = false;       ///< with the escape codes of a terminal
};

/// The drawn steps, in ASCII. A cell shows what covers most of its time, '.' where that is nothing. At most
/// 48 tracks.
std::vector<std::string> draw_timeline(const SpanTable& table, const Timeline& timeline,
                                       const TextWidth& width);

/// Figures of one name of a track over the steady steps, as texts: the track and how busy it was (both only
/// in its first row), the name, ms a step, its share of the time, in so many steps, GB/s ("" = it has no
/// bytes).
struct FigureRow {
  std::size_t track = 0;  ///< place in SpanTable::tracks
  std::size_t name = 0;   ///< place in SpanTable::names
  std::array<std::string, 7> cells;
};
inline constexpr std::array<const char*, 7> kFigureHeads = {"track",       "busy",     "what", "ms a step",
                                                            "of the time", "in steps", "GB/s"};

/// At most 48 tracks.
std::vector<FigureRow> figure_rows(const SpanTable& table, const Timeline& timeline);

/// "2.100 ms a step under way in 4 calls, 80.0 % of it beside compute ...; 0.400 ms exposed, ..."
std::string comm_text(const CommTimes& comm);

/// The timeline for a terminal, and the stalls from the step events.
std::vector<std::string> timeline_lines(const SpanTable& table, const Timeline& timeline);

/// Figures and drawn spans as one JSON object.
Json timeline_json(const SpanTable& table, const Timeline& timeline, const std::string& run);

}  // namespace isobar
