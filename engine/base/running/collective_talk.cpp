#include "running/collective_talk.h"

#include "core/clock.h"
#include "ring/ring_plan.h"

namespace isobar {

CollectiveTalk::CollectiveTalk(Messages& messages, SpanWriter& spans, std::int64_t step,
                               std::span<float> values, int chunks)
    : messages_(messages), spans_(spans), step_(step), values_(values), chunks_(chunks) {}

int CollectiveTalk::around(int index) const { return (index % chunks_ + chunks_) % chunks_; }

std::span<float> CollectiveTalk::chunk(int index) const {
  const RingCut cut{.elements = static_cast<std::int64_t>(values_.size()), .chunks = chunks_};
  const RingCut::Range range = cut.chunk(around(index));
  return values_.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.count));
}

void CollectiveTalk::move(CollectivePhase phase, int k, int to, int sent_chunk, int from,
                          int received_chunk) {
  const bool sends = to != kNobody, receives = from != kNobody, adds = phase == CollectivePhase::reduce;
  const std::int64_t begin_us = steady_us();
  const std::span<float> out = sends ? chunk(sent_chunk) : std::span<float>{};
  const std::span<float> own = receives ? chunk(received_chunk) : std::span<float>{};
  if (came_.size() < own.size()) came_.resize(own.size());
  const std::span<float> in = adds ? std::span(came_).first(own.size()) : own;
  if (sends && receives) {
    messages_.exchange(to, out, from, in);
  } else if (sends) {
    messages_.send(to, out);
  } else if (receives) {
    messages_.receive(from, in);
  }
  for (std::size_t i = 0; adds && i < own.size(); ++i) own[i] += in[i];
  if (!spans_.wants(step_)) return;
  Span span{.track = "all_reduce",
            .name = adds ? "reduce" : "spread",
            .step = step_,
            .begin_us = begin_us,
            .end_us = steady_us(),
            .bytes = static_cast<std::int64_t>(out.size_bytes()),
            .of = "all_reduce",
            .chunk_step = k};
  if (sends) span.sent_chunk = around(sent_chunk);
  if (receives) span.received_chunk = around(received_chunk);
  span.to = to;
  span.from = from;
  if (!own.empty()) span.value = static_cast<double>(own.front());
  spans_.add(span);
}

}  // namespace isobar
