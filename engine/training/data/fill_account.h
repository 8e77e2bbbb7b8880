#pragma once
// What a reading thread did, as spans of the run. Internal to data/.
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "data/field_place.h"
#include "record/span_writer.h"

namespace isobar {

/// One thread's account of the batch that it works at, recorded as spans when it begins another.
class FillAccount {
 public:
  FillAccount(SpanWriter* spans, std::int64_t thread)
      : spans_(spans), track_(fmt::format("load.{}", thread)) {}
  ~FillAccount() { tell(); }
  FillAccount(const FillAccount&) = delete;
  FillAccount& operator=(const FillAccount&) = delete;

  /// A wait for work, which turned out to be `batch`.
  void waited(std::int64_t batch, std::int64_t begin_us, std::int64_t end_us) {
    if (end_us - begin_us >= kShortWait_us) add("wait", batch, begin_us, end_us, 0);
  }
  void filled(std::int64_t batch, std::int64_t begin_us, const FillCost& cost) {
    if (batch != batch_) tell();
    if (batch_ < 0) begin_us_ = begin_us;
    batch_ = batch;
    cost_.read_us += cost.read_us;
    cost_.normalise_us += cost.normalise_us;
    cost_.read_bytes += cost.read_bytes;
  }
  /// Reading and normalising take turns, field by field or in smaller pieces; they are recorded one after the
  /// other, each in one piece.
  void tell() {
    if (batch_ < 0) return;
    const std::int64_t read_end_us = begin_us_ + cost_.read_us;
    add("read", batch_, begin_us_, read_end_us, cost_.read_bytes);
    add("normalise", batch_, read_end_us, read_end_us + cost_.normalise_us, cost_.read_bytes);
    batch_ = -1;
    cost_ = {};
  }

 private:
  static constexpr std::int64_t kShortWait_us = 20;  ///< one that waited less was not kept waiting

  void add(const char* name, std::int64_t batch, std::int64_t begin_us, std::int64_t end_us,
           std::int64_t bytes) {
    if (spans_ == nullptr || end_us <= begin_us) return;
    spans_->add({track_, name, batch, begin_us, end_us, bytes});
  }

  SpanWriter* spans_;
  std::string track_;
  std::int64_t batch_ = -1;
  std::int64_t begin_us_ = 0;
  FillCost cost_;
};

}  // namespace isobar
