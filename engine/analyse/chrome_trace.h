#pragma once
// Spans in the Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
#include <filesystem>
#include <string>

#include "analyse/run_series.h"
#include "analyse/spans.h"

namespace isobar {

/// Who made the spans: a process of the trace.
struct TraceProcess {
  int rank = 0;
  std::string name;  ///< as it is shown
};

/// Writes all of `table` to `file`, whole or not at all: a JSON object with `traceEvents`. Each track is a
/// thread with its spans as complete events (microseconds since the attempt began; step and bytes as
/// arguments); spans that lie across another of their track go to a thread of their own behind it, 64 at most:
/// what fits into none of them is left out.
/// `queue_slots` of the traced steps, where `series` has it, is a counter.
void write_chrome_trace(const std::filesystem::path& file, const SpanTable& table, const RunSeries& series,
                        const TraceProcess& process);

}  // namespace isobar
