#pragma once
// Read before main.cpp by ./isobar run 09_all_reduce --mine: where the page has its ring, yours is at work.
// Tree and naive, the links and what is measured are the page's.
#include <cstdint>
#include <span>
#include <vector>

#include "09_all_reduce/exercise/part.h"
#include "check/own_part.h"
#include "core/clock.h"
#include "running/all_reduce_bench.h"
#include "running/collective_talk.h"

namespace isobar {

/// Your ring's messages, and the span of each. A span lasts to the next message, so that the addition is in
/// it; the chunk that came is then the one whose first number has changed.
class RingOfMessages final : public exercise::Ring {
 public:
  RingOfMessages(Messages& messages, SpanWriter& spans, std::int64_t step, std::span<float> values,
                 const RingPlace& at)
      : messages_(messages), spans_(spans), step_(step), values_(values), at_(at) {}

  int place() const override { return at_.place; }
  int size() const override { return messages_.size(); }
  int left() const override { return at_.left; }
  int right() const override { return at_.right; }
  void send(int to, std::span<const float> out) override {
    begin_span(to, out, CollectiveTalk::kNobody, {});
    messages_.send(to, out);
  }
  void receive(int from, std::span<float> into) override {
    begin_span(CollectiveTalk::kNobody, {}, from, into);
    messages_.receive(from, into);
  }
  void exchange(int to, std::span<const float> out, int from, std::span<float> into) override {
    begin_span(to, out, from, into);
    messages_.exchange(to, out, from, into);
  }

  /// One of your two functions, with its spans.
  void go(const char* phase, void (*function)(exercise::Ring& ring, std::span<float> values)) {
    phase_ = phase;
    sends_ = receives_ = 0;
    firsts_ = first_numbers();
    function(*this, values_);
    end_span();
  }

 private:
  exercise::Chunk chunk(int index) const {
    return part_.chunk_of(static_cast<std::int64_t>(values_.size()), size(), index);
  }
  /// -1: it is none of the buffer's.
  int chunk_at(std::span<const float> numbers) const {
    for (int index = 0; index < size() && !numbers.empty(); ++index) {
      const exercise::Chunk one = chunk(index);
      if (values_.data() + one.begin == numbers.data() && one.count > 0) return index;
    }
    return -1;
  }
  std::vector<float> first_numbers() const {
    std::vector<float> out;
    for (int index = 0; index < size(); ++index) {
      const exercise::Chunk one = chunk(index);
      out.push_back(one.count > 0 ? values_[static_cast<std::size_t>(one.begin)] : 0);
    }
    return out;
  }

  void begin_span(int to, std::span<const float> out, int from, std::span<const float> into) {
    end_span();
    const bool sends = to != CollectiveTalk::kNobody;
    const int k = sends ? sends_++ : receives_;
    if (from != CollectiveTalk::kNobody) ++receives_;
    if (!spans_.wants(step_)) return;
    open_ = {};
    open_.track = open_.of = "all_reduce";
    open_.name = phase_;
    open_.step = step_;
    open_.chunk_step = k;
    open_.to = to;
    open_.from = from;
    if (sends) open_.sent_chunk = chunk_at(out);
    open_.bytes = static_cast<std::int64_t>((sends ? out : into).size_bytes());
    open_.begin_us = steady_us();
    is_open_ = true;
  }
  void end_span() {
    if (!is_open_) return;
    open_.end_us = steady_us();
    const std::vector<float> now = first_numbers();
    for (std::size_t index = 0; open_.from >= 0 && index < now.size(); ++index) {
      if (now[index] == firsts_[index]) continue;
      open_.received_chunk = static_cast<int>(index);
      open_.value = static_cast<double>(now[index]);
    }
    firsts_ = now;
    spans_.add(open_);
    is_open_ = false;
  }

  const exercise::Part& part_ = own_part_as<exercise::Part>();
  Messages& messages_;
  SpanWriter& spans_;
  std::int64_t step_;
  std::span<float> values_;
  RingPlace at_;
  const char* phase_ = "";
  int sends_ = 0;
  int receives_ = 0;
  std::vector<float> firsts_;  ///< of each chunk, when the open span began
  Span open_;
  bool is_open_ = false;
};

/// Stands where the page has CollectiveTalk.
class YourTalk : public CollectiveTalk {
 public:
  YourTalk(Messages& messages, SpanWriter& spans, std::int64_t step, std::span<float> values, int chunks)
      : CollectiveTalk(messages, spans, step, values, chunks),
        messages_(messages),
        spans_(spans),
        step_(step),
        values_(values) {}
  void all_reduce(const RingPlace& at) {
    const auto& part = own_part_as<exercise::Part>();
    RingOfMessages ring(messages_, spans_, step_, values_, at);
    ring.go("reduce", part.reduce_scatter);
    ring.go("spread", part.all_gather);
  }

 private:
  Messages& messages_;
  SpanWriter& spans_;
  std::int64_t step_;
  std::span<float> values_;
};

inline void your_ring(YourTalk& talk, const RingPlace& at) { talk.all_reduce(at); }

template <class Function>
Function* chosen_with_yours(AllReduceKind kind, Function&, Function& tree, Function& naive) {
  return chosen(kind, your_ring, tree, naive);
}

}  // namespace isobar

#define CollectiveTalk YourTalk
#define chosen chosen_with_yours
