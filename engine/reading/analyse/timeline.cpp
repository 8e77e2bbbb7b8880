#include "analyse/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>

#include "analyse/spread.h"
#include "core/error.h"

namespace isobar {
namespace {

bool is_no_wait(std::string_view name) { return name != "wait"; }

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double length_us(const StepWindow& window) { return static_cast<double>(window.end_us - window.begin_us); }

/// Where `count` steps begin whose mean is nearest to the median step; of equals those nearest to the middle.
std::size_t typical_begin(const std::vector<StepWindow>& steady, std::size_t count, double median_us) {
  const std::size_t last = steady.size() - count;
  std::size_t best = last / 2;
  double least = HUGE_VAL;
  const auto off_middle = [&](std::size_t at) { return at > last / 2 ? at - last / 2 : last / 2 - at; };
  double sum_us = 0;
  for (std::size_t i = 0; i < count; ++i) sum_us += length_us(steady[i]);
  for (std::size_t at = 0; at <= last; ++at) {
    if (at > 0) sum_us += length_us(steady[at + count - 1]) - length_us(steady[at - 1]);
    const double away = std::fabs(sum_us - static_cast<double>(count) * median_us);
    if (away > least || (away == least && off_middle(at) >= off_middle(best))) continue;
    least = away;
    best = at;
  }
  return best;
}

std::vector<StepWindow> drawn_of(const std::vector<StepWindow>& windows,
                                 const std::vector<StepWindow>& steady, const TimelineWish& wish,
                                 double median_us) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(1, wish.steps));
  if (wish.first < 0) {
    const std::size_t shown = std::min(count, steady.size());
    const auto begin = steady.begin() + static_cast<std::ptrdiff_t>(typical_begin(steady, shown, median_us));
    return {begin, begin + static_cast<std::ptrdiff_t>(shown)};
  }
  const auto begin =
      std::ranges::find_if(windows, [&](const StepWindow& window) { return window.step == wish.first; });
  if (begin == windows.end()) {
    throw Error(fmt::format("step {} was not traced", wish.first), "--step",
                fmt::format("steps {} to {} were; run.trace_steps sets how many are", windows.front().step,
                            windows.back().step));
  }
  const auto left = static_cast<std::size_t>(windows.end() - begin);
  return {begin, begin + static_cast<std::ptrdiff_t>(std::min(count, left))};
}

/// Figures of one table over its steady steps.
class Figures {
 public:
  Figures(const SpanTable& table, const std::vector<StepWindow>& steady)
      : table_(table), first_(steady.front().step), last_(steady.back().step) {
    time_ = {steady.front().begin_us, steady.front().end_us};
    for (const StepWindow& window : steady) {
      time_.begin = std::min(time_.begin, window.begin_us);
      time_.end = std::max(time_.end, window.end_us);
    }
    time_.end = std::max(time_.end, time_.begin + 1);
    std::vector<std::vector<std::size_t>> places(
        table.tracks.size());  // places of each name in a track, from 1
    tracks_.resize(table.tracks.size());
    for (std::size_t i = 0; i < table.spans.size(); ++i) {
      const SpanRow& span = table.spans[i];
      places[span.track].resize(table.names.size());
      std::size_t& place = places[span.track][span.name];
      if (place == 0) {
        tracks_[span.track].push_back({span.name, {}});
        place = tracks_[span.track].size();
      }
      tracks_[span.track][place - 1].spans.push_back(i);
    }
  }

  TrackFigures of_track(std::size_t track) const {
    TrackFigures out{track, share(when(track, is_no_wait)), {}};
    for (const NameSpans& name : tracks_[track]) {
      NameFigures figures = of_name(name);
      if (figures.steps > 0) out.names.push_back(figures);
    }
    return out;
  }

  std::optional<double> upload_beside_compute() const {
    const std::optional<std::size_t> upload = find("upload");
    const std::optional<std::size_t> device = find("device");
    const std::optional<std::size_t> computes = device ? device : find("loop");
    if (!upload || !computes) return std::nullopt;
    const std::vector<Interval> moved = when(*upload, is_no_wait);
    if (moved.empty()) return std::nullopt;
    const std::vector<Interval> both = common_to(moved, when(*computes, is_compute));
    return static_cast<double>(length_of(both)) / static_cast<double>(length_of(moved));
  }

 private:
  struct NameSpans {
    std::size_t name;
    std::vector<std::size_t> spans;
  };

  std::optional<std::size_t> find(std::string_view track) const {
    const auto found = std::ranges::find(table_.tracks, track);
    if (found == table_.tracks.end()) return std::nullopt;
    return static_cast<std::size_t>(found - table_.tracks.begin());
  }

  /// Within the steady time.
  void add_times(const NameSpans& name, std::vector<Interval>& to) const {
    for (const std::size_t i : name.spans) {
      const SpanRow& span = table_.spans[i];
      to.push_back({std::max(span.begin_us, time_.begin), std::min(span.end_us, time_.end)});
    }
  }

  /// When spans of a track with such names ran.
  std::vector<Interval> when(std::size_t track, bool (*wanted)(std::string_view)) const {
    std::vector<Interval> out;
    for (const NameSpans& name : tracks_[track]) {
      if (wanted(table_.names[name.name])) add_times(name, out);
    }
    return union_of(std::move(out));
  }

  double share(const std::vector<Interval>& times) const {
    return static_cast<double>(length_of(times)) / static_cast<double>(time_.end - time_.begin);
  }

  NameFigures of_name(const NameSpans& name) const {
    NameFigures out{.name = name.name};
    std::map<std::int64_t, double> steps_us;
    double moving_us = 0;
    double bytes = 0;
    for (const std::size_t i : name.spans) {
      const SpanRow& span = table_.spans[i];
      if (span.step < first_ || span.step > last_) continue;
      const auto duration_us = static_cast<double>(span.duration_us());
      steps_us[span.step] += duration_us;
      if (span.bytes == 0) continue;
      bytes += static_cast<double>(span.bytes);
      moving_us += duration_us;
    }
    std::vector<double> values;
    for (const auto& [step, time_us] : steps_us) values.push_back(time_us);
    std::vector<Interval> times;
    add_times(name, times);
    out.steps = static_cast<std::int64_t>(values.size());
    out.step_us = mean(values);
    out.share = share(union_of(std::move(times)));
    out.bytes = static_cast<std::int64_t>(std::min(bytes, 9e15));
    out.bytes_per_us = moving_us > 0 ? bytes / moving_us : 0;
    return out;
  }

  const SpanTable& table_;
  std::int64_t first_, last_;
  Interval time_;
  std::vector<std::vector<NameSpans>> tracks_;  ///< names of each in the order in which they appear
};

}  // namespace

Timeline make_timeline(const SpanTable& table, const RunSeries& series, const TimelineWish& wish) {
  const std::vector<StepWindow> windows = step_windows(table);
  if (windows.empty()) {
    throw Error("there is no span of the training loop to lay the others beside", "track \"loop\"",
                "a run writes them once its first step is done");
  }
  Timeline out;
  out.steady = steady_windows(windows, wish.steady);
  out.last_step = windows.back().step;
  std::vector<double> lengths_us;
  for (const StepWindow& window : out.steady) lengths_us.push_back(length_us(window));
  out.step_us = mean(lengths_us);
  out.median_step_us = Spread(lengths_us).median();
  out.drawn = drawn_of(windows, out.steady, wish, out.median_step_us);
  out.begin_us = out.drawn.front().begin_us;
  for (const StepWindow& window : out.drawn) {
    out.begin_us = std::min(out.begin_us, window.begin_us);
    out.end_us = std::max(out.end_us, window.end_us);
  }
  out.end_us = std::max(out.end_us, out.begin_us + 1);
  out.tracks = ordered_tracks(table);
  for (std::size_t i = 0; i < table.spans.size(); ++i) {
    if (table.spans[i].begin_us < out.end_us && table.spans[i].end_us > out.begin_us) out.spans.push_back(i);
  }
  const Figures figures(table, out.steady);
  for (const std::size_t track : out.tracks) out.figures.push_back(figures.of_track(track));
  out.upload_beside_compute = figures.upload_beside_compute();
  out.comm = comm_times(table, wish.steady);

  const auto mean_of = [&](std::string_view name) {
    return series.find(name).between(out.steady.front().step, out.steady.back().step).mean();
  };
  const std::optional<double> stall_us = mean_of("train/stall_us"), step_us = mean_of("train/step_us");
  if (stall_us && step_us && *step_us > 0) out.stall = StallFigures{*stall_us, *stall_us / *step_us};
  out.ready = mean_of("train/queue_slots");
  return out;
}

}  // namespace isobar
