#pragma once
// Speed against memory: every way to train a batch, what a cap lets through, and what runs measured.
#include <cstdint>
#include <string>
#include <vector>

#include "analyse/measured_ways.h"
#include "analyse/memory_ways.h"
#include "draw/sketch.h"

namespace isobar {

struct MemoryFront {
  std::string title;               ///< "NN_name, preset mp, 64 samples a step"
  std::string where;               ///< "H200", "this machine"
  std::vector<PredictedWay> ways;  ///< front_ways
  std::uint64_t limit_bytes = 0;   ///< 0 = no cap
  std::vector<MeasuredWay> measured = {};
};

/// The fastest way that fits, of several the one that takes least; null where none does.
const PredictedWay* fastest_fit(const MemoryFront& front);

/// A run beside its prediction: "block, 4 passes: 310 MB measured, -2.1 % ...".
std::string distance_words(const MemoryFront& front, const MeasuredWay& run);

/// Samples/s over the memory of a rank (logarithmic): a row of marks for each choice of what is computed
/// again, with the passes beside them, pale where they do not fit; dotted the fastest way by memory; runs
/// have a line to their prediction. Where a way has no rate, all stand by counted operations.
/// Without a body for no way.
Drawing front_drawing(const MemoryFront& front);

}  // namespace isobar
