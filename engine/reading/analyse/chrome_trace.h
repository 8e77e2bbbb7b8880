#pragma once
// Spans in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "analyse/run_series.h"
#include "analyse/spans.h"

namespace isobar {

/// How every file of ours begins.
inline constexpr std::string_view kTraceMark = "{\"otherData\":{\"made_by\":\"isobar\"},";

/// Who made the spans: a process of the trace.
struct TraceProcess {
  int rank = 0;
  std::string name;           ///< as it is shown
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
  ~ChromeTrace();
  ChromeTrace(const ChromeTrace&) = delete;
  ChromeTrace& operator=(const ChromeTrace&) = delete;

  void add(const SpanTable& table, const RunSeries* series, const TraceProcess& process);
  void finish();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

/// What to add to the times of `other` so that its collectives end when those of `one` do: the median. 0 when
/// they have none in common.
std::int64_t ends_apart_us(const SpanTable& one, const SpanTable& other);

/// The trace of one process.
void write_chrome_trace(const std::filesystem::path& file, const SpanTable& table, const RunSeries& series,
                        const TraceProcess& process);

}  // namespace isobar
