#include "record/span_writer.h"

namespace isobar {

SpanWriter::SpanWriter(std::filesystem::path path, int flush_ms, StreamStart start, std::int64_t origin_us,
                       std::int64_t first_step, std::int64_t steps, int attempt)
    : path_(std::move(path)),
      flush_ms_(flush_ms),
      start_(start),
      origin_us_(origin_us),
      first_step_(first_step),
      end_step_(first_step + steps),
      attempt_(attempt) {}

StreamWriter& SpanWriter::stream() {
  if (!stream_) {
    stream_ = std::make_unique<StreamWriter>(path_, flush_ms_, start_);
    stream_->write(JsonLine("attempt")
                       .add("schema", kSpanSchema)
                       .add("attempt", attempt_)
                       .add("from_step", first_step_)
                       .add("origin_us", origin_us_));
  }
  return *stream_;
}

void SpanWriter::add(const Span& span) noexcept {
  if (!wants(span.step)) return;
  const std::scoped_lock lock(mutex_);
  if (finished_ || failure_) return;
  try {
    JsonLine line("span");
    line.add("step", span.step).add("track", span.track).add("name", span.name);
    line.add("begin_us", span.begin_us - origin_us_).add("duration_us", span.end_us - span.begin_us);
    if (span.bytes > 0) line.add("bytes", span.bytes);
    if (!span.of.empty()) line.add("of", span.of);
    if (span.chunk_step >= 0) line.add("chunk_step", span.chunk_step);
    if (span.sent_chunk >= 0) line.add("sent_chunk", span.sent_chunk);
    if (span.received_chunk >= 0) line.add("received_chunk", span.received_chunk);
    if (span.to >= 0) line.add("to", span.to);
    if (span.from >= 0) line.add("from", span.from);
    if (!std::isnan(span.value)) line.add("value", span.value);
    stream().write(line);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void SpanWriter::finish() {
  const std::scoped_lock lock(mutex_);
  if (finished_) return;
  finished_ = true;
  if (stream_ && !failure_) stream_->finish();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace isobar
