#include "09_all_reduce/parts/chunk_comm.h"

#include <limits>

#include "core/clock.h"
#include "ring/ring_plan.h"

namespace isobar {

ChunkComm::ChunkComm(Messages& messages, SpanWriter& spans, std::int64_t step, std::span<float> values,
                     int chunks)
    : messages_(messages), spans_(spans), step_(step), values_(values), chunks_(chunks) {}

int ChunkComm::around(int index) const { return (index % chunks_ + chunks_) % chunks_; }

std::span<float> ChunkComm::chunk(int index) const {
  const RingCut cut{.elements = static_cast<std::int64_t>(values_.size()), .chunks = chunks_};
  const RingCut::Range range = cut.chunk(around(index));
  return values_.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.count));
}

void ChunkComm::move(int k, const SentChunk* sent, const ReceivedChunk* received, Then then) {
  const bool adds = then == Then::add;
  const std::int64_t begin_us = steady_us();
  const std::span<float> out = sent != nullptr ? chunk(sent->chunk) : std::span<float>{};
  const std::span<float> own = received != nullptr ? chunk(received->chunk) : std::span<float>{};
  if (came_.size() < own.size()) came_.resize(own.size());
  const std::span<float> in = adds ? std::span(came_).first(own.size()) : own;
  if (sent != nullptr && received != nullptr) {
    messages_.exchange(sent->to, out, received->from, in);
  } else if (sent != nullptr) {
    messages_.send(sent->to, out);
  } else {
    messages_.receive(received->from, in);
  }
  for (std::size_t i = 0; adds && i < own.size(); ++i) own[i] += in[i];
  if (!traces()) return;
  CollectiveStep step{.phase = adds ? CollectivePhase::reduce : CollectivePhase::spread, .step = k};
  if (sent != nullptr) step.sent_chunk = around(sent->chunk);
  if (received != nullptr) step.received_chunk = around(received->chunk);
  step.bytes = static_cast<std::int64_t>(out.size_bytes());
  step.begin_us = begin_us;
  step.end_us = steady_us();
  trace(step, sent != nullptr ? sent->to : -1, received != nullptr ? received->from : -1,
        own.empty() ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(own.front()));
}

void ChunkComm::trace(const CollectiveStep& step, int to, int from, double value) {
  Span span{.track = "all_reduce",
            .name = step.phase == CollectivePhase::reduce ? "reduce" : "spread",
            .step = step_,
            .begin_us = step.begin_us,
            .end_us = step.end_us,
            .bytes = step.bytes,
            .of = "all_reduce",
            .chunk_step = step.step,
            .sent_chunk = step.sent_chunk,
            .received_chunk = step.received_chunk,
            .to = to,
            .from = from};
  span.value = value;
  spans_.add(span);
}

}  // namespace isobar
