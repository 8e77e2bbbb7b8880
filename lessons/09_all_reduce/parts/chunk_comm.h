#pragma once
// What one rank does in one all-reduce: it sends and receives chunks of its buffer, and each such step is
// left in the run's spans. Torch-free.
#include <cstdint>
#include <span>
#include <vector>

#include "09_all_reduce/parts/messages.h"
#include "record/span_writer.h"
#include "ring/collective_step.h"

namespace isobar {

/// What a receiver does with a chunk: adds it to its own, or puts it in its place.
enum class Then : unsigned char { add, keep };

/// Both ends of a message; chunk numbers are taken modulo the number of chunks, so that r - k may be below 0.
struct SentChunk {
  int to = -1;
  int chunk = 0;
};
struct ReceivedChunk {
  int from = -1;
  int chunk = 0;
};

class ChunkComm {
 public:
  /// The buffer of `values`, cut into `chunks` that differ by at most one value. All others outlive it.
  ChunkComm(Messages& messages, SpanWriter& spans, std::int64_t step, std::span<float> values, int chunks);

  int rank() const { return messages_.rank(); }
  int size() const { return messages_.size(); }
  std::span<float> values() const { return values_; }
  Messages& messages() { return messages_; }

  // Step k of the way to the sums (Then::add), or of the way of the sums to all (Then::keep).
  /// Sends a chunk while another comes.
  void exchange(int k, SentChunk out, ReceivedChunk in, Then then) { move(k, &out, &in, then); }
  void send(int k, SentChunk out, Then then) { move(k, &out, nullptr, then); }
  void receive(int k, ReceivedChunk in, Then then) { move(k, nullptr, &in, then); }

  bool traces() const { return spans_.wants(step_); }
  /// Leaves a step in the spans, where these are kept: a chunk below 0 is none, `bytes` is what was sent and
  /// `value` the first number of the chunk that came.
  void trace(const CollectiveStep& step, int to, int from, double value);

 private:
  int around(int index) const;
  std::span<float> chunk(int index) const;
  void move(int k, const SentChunk* sent, const ReceivedChunk* received, Then then);

  Messages& messages_;
  SpanWriter& spans_;
  std::int64_t step_;
  std::span<float> values_;
  int chunks_;
  std::vector<float> came_;
};

}  // namespace isobar
