#include "analyse/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "analyse/comm_times.h"
#include "analyse/spread.h"
#include "core/json.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;

std::string quoted(const std::string& text) { return json_quoted(text, JsonEscapes::ascii); }

/// Spans of one track in lanes, so that no two of a lane run at once; each lane in the order of time.
std::vector<std::vector<SpanRow>> lanes_of(std::vector<SpanRow> spans) {
  std::ranges::stable_sort(spans, [](const SpanRow& a, const SpanRow& b) { return a.begin_us < b.begin_us; });
  constexpr std::size_t kMostLanes = 64;
  std::vector<std::vector<SpanRow>> lanes;
  for (const SpanRow& span : spans) {
    const auto free = std::ranges::find_if(
        lanes, [&](const std::vector<SpanRow>& lane) { return lane.back().end_us <= span.begin_us; });
    if (free != lanes.end()) {
      free->push_back(span);
    } else if (lanes.size() < kMostLanes) {
      lanes.push_back({span});
    }
  }
  return lanes;
}

}  // namespace

ChromeTrace::ChromeTrace(const std::filesystem::path& file) : writer_(file) {
  text_ = std::string(kTraceMark) + "\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
}

void ChromeTrace::add_event(const std::string& event) {
  text_ += (std::exchange(first_, false) ? "" : ",\n") + event;
  if (text_.size() >= kFlushBytes) flush();
}

void ChromeTrace::flush() {
  writer_.write(std::as_bytes(std::span(text_)));
  text_.clear();
}

void ChromeTrace::finish() {
  text_ += "\n]}\n";
  flush();
  writer_.finish();
}

void ChromeTrace::add_metadata(int pid, int tid, const char* what, const std::string& argument) {
  add_event(
      fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{{}}}}})", pid, tid, what, argument));
}

void ChromeTrace::add_counters(const TraceProcess& process, const SpanTable& table, const RunSeries& series) {
  const CurveRef slots = series.find("train/queue_slots");
  for (const StepWindow& window : step_windows(table)) {
    if (const std::optional<double> value = slots.between(window.step, window.step).mean())
      add_event(
          fmt::format(R"({{"ph":"C","pid":{},"tid":0,"name":"queue_slots","ts":{},"args":{{"ready":{}}}}})",
                      process.rank, window.begin_us + process.shift_us, *value));
  }
}

void ChromeTrace::add(const SpanTable& table, const RunSeries* series, const TraceProcess& process) {
  const int pid = process.rank;
  add_metadata(pid, 0, "process_name", "\"name\":" + quoted(process.name));
  add_metadata(pid, 0, "process_sort_index", fmt::format("\"sort_index\":{}", process.rank));
  std::vector<std::string> names;
  for (const std::string& name : table.names) names.push_back(quoted(name));
  std::vector<std::vector<SpanRow>> tracks(table.tracks.size());
  for (SpanRow span : table.spans) {
    span.begin_us += process.shift_us;
    span.end_us += process.shift_us;
    tracks[span.track].push_back(span);
  }
  int tid = 0;
  for (const std::size_t track : ordered_tracks(table)) {
    int lane_number = 0;
    for (const std::vector<SpanRow>& lane : lanes_of(std::move(tracks[track]))) {
      ++tid;
      const std::string more = ++lane_number > 1 ? fmt::format(" ({})", lane_number) : "";
      add_metadata(pid, tid, "thread_name", "\"name\":" + quoted(table.tracks[track] + more));
      add_metadata(pid, tid, "thread_sort_index", fmt::format("\"sort_index\":{}", tid));
      for (const SpanRow& span : lane) {
        const std::string bytes = span.bytes > 0 ? fmt::format(R"(,"bytes":{})", span.bytes) : "";
        add_event(
            fmt::format(R"({{"ph":"X","pid":{},"tid":{},"name":{},"ts":{},"dur":{},"args":{{"step":{}{}}}}})",
                        pid, tid, names[span.name], span.begin_us, span.duration_us(), span.step, bytes));
      }
    }
  }
  if (series != nullptr) add_counters(process, table, *series);
}

std::int64_t ends_apart_us(const SpanTable& one, const SpanTable& other) {
  using Key = std::tuple<std::int64_t, std::string, std::string>;
  const auto ends_of = [](const SpanTable& table) {
    std::map<Key, std::int64_t> out;
    for (const SpanRow& span : table.spans) {
      if (!is_collective(table.names[span.name]) ||
          is_one_of(table.tracks[span.track], {"pp.forward", "pp.backward"}))
        continue;
      out.try_emplace({span.step, table.tracks[span.track], table.names[span.name]}, span.end_us);
    }
    return out;
  };
  const std::map<Key, std::int64_t> ends = ends_of(one);
  std::vector<double> apart;
  for (const auto& [key, end_us] : ends_of(other)) {
    const auto found = ends.find(key);
    if (found != ends.end()) apart.push_back(static_cast<double>(found->second - end_us));
  }
  return std::llround(Spread(apart).median());
}

}  // namespace isobar
