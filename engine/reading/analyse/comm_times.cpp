#include "analyse/comm_times.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/number_text.h"

namespace isobar {

std::vector<Interval> union_of(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> out;
  for (const Interval& next : intervals) {
    if (next.end <= next.begin) continue;
    if (!out.empty() && next.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, next.end);
    } else {
      out.push_back(next);
    }
  }
  return out;
}

std::vector<Interval> common_to(const std::vector<Interval>& one, const std::vector<Interval>& other) {
  std::vector<Interval> out;
  for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    const std::int64_t begin = std::max(one[i].begin, other[j].begin);
    const std::int64_t end = std::min(one[i].end, other[j].end);
    if (begin < end) out.push_back({begin, end});
    if (one[i].end < other[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

std::int64_t length_of(const std::vector<Interval>& intervals) {
  std::int64_t sum = 0;
  for (const Interval& interval : intervals) sum += interval.end - interval.begin;
  return sum;
}

namespace {

bool is_between_steps(std::string_view name) { return name == "validate" || name == "checkpoint"; }

/// Times of some spans, clipped to the windows of their steps.
class Clipped {
 public:
  explicit Clipped(const std::vector<StepWindow>& windows) {
    for (const StepWindow& window : windows) windows_.emplace(window.step, window);
  }

  /// False when the step is none of the windows.
  bool add(const SpanRow& span, std::vector<Interval>& to) const {
    const auto found = windows_.find(span.step);
    if (found == windows_.end()) return false;
    const StepWindow& window = found->second;
    to.push_back({std::max(span.begin_us, window.begin_us), std::min(span.end_us, window.end_us)});
    return true;
  }

 private:
  std::map<std::int64_t, StepWindow> windows_;
};

std::vector<Interval> without(const std::vector<Interval>& all, const std::vector<Interval>& some) {
  std::vector<Interval> out;
  std::size_t next = 0;
  for (Interval left : all) {
    while (next < some.size() && some[next].end <= left.begin) ++next;
    for (std::size_t i = next; i < some.size() && some[i].begin < left.end; ++i) {
      if (some[i].begin > left.begin) out.push_back({left.begin, some[i].begin});
      left.begin = std::max(left.begin, some[i].end);
    }
    if (left.begin < left.end) out.push_back(left);
  }
  return out;
}

/// The track of the bucket with the highest number; nothing without buckets, and where spans were left out:
/// that bucket may be among them.
std::optional<std::size_t> last_bucket_track(const SpanTable& table) {
  constexpr std::string_view kBucket = "bucket.";
  std::optional<std::size_t> out;
  if (table.left_out > 0) return out;
  int highest = -1;
  for (std::size_t i = 0; i < table.tracks.size(); ++i) {
    if (!table.tracks[i].starts_with(kBucket)) continue;
    const int number = number_of<int>(std::string_view(table.tracks[i]).substr(kBucket.size())).value_or(-1);
    if (number <= highest) continue;
    highest = number;
    out = i;
  }
  return out;
}

double share_of(const std::vector<Interval>& both, const std::vector<Interval>& all) {
  return static_cast<double>(length_of(both)) / static_cast<double>(length_of(all));
}

}  // namespace

bool is_collective(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames = {"all-reduce", "all_reduce",     "broadcast",
                                                             "all-gather", "all_gather",     "reduce-scatter",
                                                             "barrier",    "reduce_scatter", "all-to-all"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool is_compute(std::string_view name) {
  return name == "forward" || name == "backward" || name == "optimize" || name == "replay";
}

std::vector<StepWindow> step_windows(const SpanTable& table) {
  std::map<std::int64_t, StepWindow> windows;
  for (const SpanRow& span : table.spans) {
    if (table.tracks[span.track] != "loop" || is_between_steps(table.names[span.name])) continue;
    const auto [place, is_new] =
        windows.try_emplace(span.step, StepWindow{span.step, span.begin_us, span.end_us});
    place->second.begin_us = std::min(place->second.begin_us, span.begin_us);
    place->second.end_us = std::max(place->second.end_us, span.end_us);
  }
  std::vector<StepWindow> out;
  for (const auto& [step, window] : windows) out.push_back(window);
  return out;
}

std::vector<StepWindow> steady_windows(const std::vector<StepWindow>& windows, StepRange wanted) {
  std::vector<StepWindow> out;
  for (const StepWindow& window : windows) {
    if (window.step >= wanted.first && window.step <= wanted.last) out.push_back(window);
  }
  if (!out.empty()) return out;
  const std::size_t warm_up = windows.size() > 3 ? std::max<std::size_t>(1, windows.size() / 10) : 0;
  return {windows.begin() + static_cast<std::ptrdiff_t>(warm_up), windows.end()};
}

std::vector<bool> comm_tracks(const SpanTable& table) {
  std::vector<bool> out(table.tracks.size(), false);
  for (const SpanRow& span : table.spans) {
    if (is_collective(table.names[span.name])) out[span.track] = true;
  }
  return out;
}

std::optional<CommTimes> comm_times(const SpanTable& table, StepRange wanted) {
  const std::vector<StepWindow> steady = steady_windows(step_windows(table), wanted);
  if (steady.empty()) return std::nullopt;
  const std::vector<bool> communicates = comm_tracks(table);
  const bool on_device = std::ranges::find(table.tracks, "device") != table.tracks.end();
  const Clipped clipped(steady);
  const std::optional<std::size_t> last = last_bucket_track(table);
  std::vector<Interval> moving, waiting, computing, backward, blocking, of_last, moving_others;
  CommTimes out;
  out.steps = {steady.front().step, steady.back().step};
  for (const SpanRow& span : table.spans) {
    const std::string& name = table.names[span.name];
    if (communicates[span.track]) {
      const bool moves = is_collective(name);
      // The ranks of a model stand still for each other: that is no computing, whatever stage it is in.
      if (table.tracks[span.track].starts_with("tp.")) clipped.add(span, blocking);
      if (!clipped.add(span, moves ? moving : waiting)) continue;
      if (span.track == last) {
        clipped.add(span, of_last);
      } else if (moves) {
        clipped.add(span, moving_others);
      }
      if (!moves) continue;
      ++out.calls;
      out.bytes += static_cast<double>(span.bytes);
    } else if (table.tracks[span.track] == (on_device ? "device" : "loop") && is_compute(name)) {
      clipped.add(span, computing);
      if (name == "backward") clipped.add(span, backward);
    }
  }
  if (out.calls == 0) return std::nullopt;
  const auto steps = static_cast<double>(steady.size());
  std::vector<Interval> all = moving;
  all.insert(all.end(), waiting.begin(), waiting.end());
  moving = union_of(std::move(moving));
  waiting = union_of(std::move(waiting));
  blocking = union_of(std::move(blocking));
  computing = without(union_of(std::move(computing)), blocking);
  backward = without(union_of(std::move(backward)), blocking);
  out.calls /= steps;
  out.bytes /= steps;
  out.total_us = static_cast<double>(length_of(moving)) / steps;
  out.queued_us = static_cast<double>(length_of(without(waiting, moving))) / steps;
  const std::vector<Interval> exposed = without(union_of(std::move(all)), computing);
  out.exposed_us = static_cast<double>(length_of(exposed)) / steps;
  if (last && out.exposed_us > 0) {
    const std::vector<Interval> alone =
        without(union_of(std::move(of_last)), union_of(std::move(moving_others)));
    out.last_bucket = share_of(common_to(exposed, alone), exposed);
  }
  if (!moving.empty() && length_of(moving) > 0) {
    out.overlap = share_of(common_to(moving, computing), moving);
    out.backward_overlap = share_of(common_to(moving, backward), moving);
  }
  return out;
}

}  // namespace isobar
