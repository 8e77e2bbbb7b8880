#pragma once
// Spans in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.h"
#include "log/run_series.h"
#include "log/spans.h"

namespace isobar {

/// How every file of ours begins.
inline constexpr std::string_view kTraceMark = "{\"otherData\":{\"made_by\":\"isobar\"},";

/// Who made the spans: a process of the trace.
struct TraceProcess {
  int rank = 0;
  std::string name;           ///< the name shown
  std::int64_t shift_us = 0;  ///< added to its times, so that those of all processes have one clock
};

/// A trace of several processes, written whole or not at all: a JSON object with `traceEvents`. Each track is
/// a thread with its spans as complete events (microseconds since the attempt began; step and bytes as
/// arguments); spans that lie across another of their track go to a thread of their own behind it, 64 at
/// most: what fits into none of them is left out. `queue_slots` of the traced steps, where `series` is given
/// and has it, is a counter.
class ChromeTrace {
 public:
  explicit ChromeTrace(const std::filesystem::path& file);

  void add(const SpanTable& table, const RunSeries* series, const TraceProcess& process);
  void finish();

 private:
  void add_metadata(int pid, int tid, const char* what, const std::string& argument);
  void add_counters(const TraceProcess& process, const SpanTable& table, const RunSeries& series);
  void add_event(const std::string& event);
  void flush();

  WholeFileWriter writer_;
  std::string text_;  ///< on its way to the file: a million events need no memory
  bool first_ = true;
};

/// What to add to the times of `other` so that its collectives end when those of `one` do: the median;
/// messages of a pipeline are of two ranks alone. 0 when they have none in common.
std::int64_t ends_apart_us(const SpanTable& one, const SpanTable& other);

}  // namespace isobar
