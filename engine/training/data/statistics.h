#pragma once
// The normalisation that every loader shares, by per-channel mean and spread.
#include <cstdint>
#include <span>

#include "fields/statistics.h"

namespace isobar {

/// In place, `fields` [C, pixels]: (x - mean_c) / std_c, IEEE subtract and then divide in float32 as the
/// tutorial does, so that batches of all loaders compare bit for bit. Returns the index of the first value
/// that is not finite, -1 when all are.
std::int64_t normalise(std::span<float> fields, const Statistics& statistics);

/// Index of the first value that is not finite, -1 when all are.
std::int64_t first_nonfinite(std::span<const float> values);

}  // namespace isobar
