// ./isobar run 09_all_reduce --mine: where the page has its ring, the learner's is at work. Tree and naive
// are the page's.
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "09_all_reduce/exercise/part.h"
#include "09_all_reduce/parts/all_reduce_bench.h"
#include "09_all_reduce/parts/chunk_comm.h"
#include "check/own_part.h"
#include "core/clock.h"

using namespace isobar;

namespace {

const exercise::Part& part() { return own_part_as<exercise::Part>(); }

/// The ring's messages, each with its trace. That lasts to the next message, so that the addition is in it;
/// the chunk that came is then the one whose first number has changed.
class TracedRing final : public exercise::Ring {
 public:
  TracedRing(ChunkComm& comm, const RingPlace& at) : comm_(comm), at_(at) {}

  int place() const override { return at_.place; }
  int size() const override { return comm_.size(); }
  int left() const override { return at_.left; }
  int right() const override { return at_.right; }
  void send(int to, std::span<const float> out) override {
    begin(to, out, kNobody, {});
    comm_.messages().send(to, out);
  }
  void receive(int from, std::span<float> into) override {
    begin(kNobody, {}, from, into);
    comm_.messages().receive(from, into);
  }
  void exchange(int to, std::span<const float> out, int from, std::span<float> into) override {
    begin(to, out, from, into);
    comm_.messages().exchange(to, out, from, into);
  }

  /// One of the learner's two functions.
  void go(CollectivePhase phase, void (*function)(exercise::Ring& ring, std::span<float> values)) {
    phase_ = phase;
    sends_ = receives_ = 0;
    firsts_ = first_numbers();
    function(*this, comm_.values());
    end();
  }

 private:
  static constexpr int kNobody = -1;

  exercise::Chunk chunk(int index) const {
    return part().chunk_of(static_cast<std::int64_t>(comm_.values().size()), size(), index);
  }
  /// -1: it is none of the buffer's.
  int chunk_at(std::span<const float> numbers) const {
    for (int index = 0; index < size() && !numbers.empty(); ++index) {
      const exercise::Chunk one = chunk(index);
      if (comm_.values().data() + one.begin == numbers.data() && one.count > 0) return index;
    }
    return -1;
  }
  std::vector<float> first_numbers() const {
    std::vector<float> out;
    for (int index = 0; index < size(); ++index) {
      const exercise::Chunk one = chunk(index);
      out.push_back(one.count > 0 ? comm_.values()[static_cast<std::size_t>(one.begin)] : 0);
    }
    return out;
  }

  void begin(int to, std::span<const float> out, int from, std::span<const float> into) {
    end();
    const bool sends = to != kNobody;
    open_ = {.phase = phase_, .step = sends ? sends_++ : receives_};
    if (from != kNobody) ++receives_;
    if (!comm_.traces()) return;
    if (sends) open_.sent_chunk = chunk_at(out);
    open_.bytes = static_cast<std::int64_t>((sends ? out : into).size_bytes());
    open_.begin_us = steady_us();
    to_ = to;
    from_ = from;
    is_open_ = true;
  }
  void end() {
    if (!std::exchange(is_open_, false)) return;
    open_.end_us = steady_us();
    const std::vector<float> now = first_numbers();
    double value = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t index = 0; from_ != kNobody && index < now.size(); ++index) {
      if (now[index] == firsts_[index]) continue;
      open_.received_chunk = static_cast<int>(index);
      value = static_cast<double>(now[index]);
    }
    firsts_ = now;
    comm_.trace(open_, to_, from_, value);
  }

  ChunkComm& comm_;
  RingPlace at_;
  CollectivePhase phase_ = CollectivePhase::reduce;
  int sends_ = 0;
  int receives_ = 0;
  std::vector<float> firsts_;  ///< of each chunk, when the open trace began
  CollectiveStep open_;
  int to_ = kNobody;
  int from_ = kNobody;
  bool is_open_ = false;
};

const PluggedIn ring(seams::ring, [](AllReduce* /*of_page*/) -> AllReduce* {
  return [](ChunkComm& comm, const RingPlace& at) {
    TracedRing ring(comm, at);
    ring.go(CollectivePhase::reduce, part().reduce_scatter);
    ring.go(CollectivePhase::spread, part().all_gather);
  };
});

}  // namespace
