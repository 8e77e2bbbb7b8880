#pragma once
// Which fields a batch is made of, and where each of them goes.
#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "samples/batch_order.h"

namespace isobar {

struct BatchPlan {
  std::int64_t batch = 0;               ///< its number, over all epochs
  std::vector<std::int64_t> samples;    ///< [B] sample indices
  std::vector<FieldPlace> fields;       ///< what has to be read, in the order of first use
  std::vector<std::int32_t> field_of;   ///< [(1 + R) B] the field of input b, then of target b of each lead
  std::vector<std::int64_t> sample_of;  ///< for each field a sample that needs it, for messages

  std::int64_t batch_size() const { return static_cast<std::int64_t>(samples.size()); }
};

/// With `share`, a field that several samples of the batch need stands in `fields` once (the target of a
/// sample is the input of the next one in time); else each sample brings its own 1 + R.
BatchPlan plan_batch(const Dataset& dataset, const BatchOrder& order, std::int64_t batch, bool share);

}  // namespace isobar
