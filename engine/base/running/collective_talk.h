#pragma once
// What one rank does in one all-reduce: it sends and receives chunks of its buffer, and each such step is
// left in the run's spans. Torch-free.
#include <cstdint>
#include <span>
#include <vector>

#include "record/span_writer.h"
#include "ring/collective_step.h"
#include "running/messages.h"

namespace isobar {

class CollectiveTalk {
 public:
  static constexpr int kNobody = -1;

  /// The buffer of `values`, cut into `chunks` that differ by at most one value; chunk numbers are taken
  /// modulo `chunks`, so that r - k may be below 0. Both others outlive it.
  CollectiveTalk(Messages& messages, SpanWriter& spans, std::int64_t step, std::span<float> values,
                 int chunks);

  int rank() const { return messages_.rank(); }
  int size() const { return messages_.size(); }

  /// Step k of the way to the sums: sends one chunk to `to` and adds what comes from `from` to another.
  /// kNobody = it sends, or receives, nothing.
  void send_and_add(int k, int to, int sent_chunk, int from, int received_chunk) {
    move(CollectivePhase::reduce, k, to, sent_chunk, from, received_chunk);
  }
  /// Step k of the way of the sums to all: what comes takes the place of what is there.
  void send_and_keep(int k, int to, int sent_chunk, int from, int received_chunk) {
    move(CollectivePhase::spread, k, to, sent_chunk, from, received_chunk);
  }

 private:
  int around(int index) const;
  std::span<float> chunk(int index) const;
  void move(CollectivePhase phase, int k, int to, int sent_chunk, int from, int received_chunk);

  Messages& messages_;
  SpanWriter& spans_;
  std::int64_t step_;
  std::span<float> values_;
  int chunks_;
  std::vector<float> came_;
};

}  // namespace isobar
