#pragma once
// Activities beside the training loop and within it: spans of time on named tracks, for a timeline. They
// lie in a stream of their own, `rank-NNNN.spans.jsonl`, for the first steps of an attempt only. Each attempt
// begins with a line of kind `attempt` (schema, attempt, from_step, and origin_us: the steady clock at time
// 0, which ranks on one machine have in common); readers keep what is behind the last.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>

#include "record/stream_writer.h"

namespace isobar {

/// Schema of the stream of spans; a reader refuses another.
inline constexpr int kSpanSchema = 1;

struct Span {
  std::string_view track;     ///< "loop", "load.0", "upload", ...
  std::string_view name;      ///< "read", "normalise", "wait", "forward", ...
  std::int64_t step = 0;      ///< step of the run that it belongs to; of a batch the step that gets it
  std::int64_t begin_us = 0;  ///< steady clock (core/clock.h)
  std::int64_t end_us = 0;
  std::int64_t bytes = 0;  ///< bytes moved; 0 = not known
  // Of one step of a collective that is made of several (ring/collective_step.h); its name is the phase.
  std::string_view of = {};  ///< the collective: the track of its own span
  int chunk_step = -1;       ///< within its phase, from 0; -1 = it is no such step
  int sent_chunk = -1;       ///< -1 = it sends nothing
  int received_chunk = -1;   ///< -1 = it receives nothing
  int to = -1;               ///< the rank that gets the sent chunk; -1 = not known
  int from = -1;             ///< the rank that sends; -1 = not known
  double value =
      std::numeric_limits<double>::quiet_NaN();  ///< the first of the received chunk, as it is then
};

class SpanWriter {
 public:
  /// Keeps spans of steps first_step .. first_step + steps - 1; times are written since `origin_us` (steady
  /// clock). The file is made with the first span.
  SpanWriter(std::filesystem::path path, int flush_ms, StreamStart start, std::int64_t origin_us,
             std::int64_t first_step, std::int64_t steps, int attempt = 0);
  SpanWriter(const SpanWriter&) = delete;
  SpanWriter& operator=(const SpanWriter&) = delete;

  /// Whether spans of this step are kept: ask before going to the trouble of measuring.
  bool wants(std::int64_t step) const { return step >= first_step_ && step < end_step_; }

  /// Any thread may call it. Spans of steps that are not kept are dropped. An earlier failure to write (disk
  /// full) is thrown by `finish`, not here: a loader's thread could not handle it.
  void add(const Span& span) noexcept;

  /// Writes what is waiting and closes; spans that come later are dropped.
  void finish();

 private:
  StreamWriter& stream();  ///< with mutex_ held

  std::filesystem::path path_;
  int flush_ms_;
  StreamStart start_;
  std::int64_t origin_us_;
  std::int64_t first_step_;
  std::int64_t end_step_;
  int attempt_;
  std::mutex mutex_;
  std::unique_ptr<StreamWriter> stream_;
  std::exception_ptr failure_;
  bool finished_ = false;
};

}  // namespace isobar
