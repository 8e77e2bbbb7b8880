#pragma once
// From the fields of a validation sample to maps that can be compared: equal limits, signed errors, scores.
#include <cstdint>
#include <memory>
#include <span>

#include "state/state.h"

namespace isobar {

/// Errors are drawn around zero.
bool is_signed(MapPart part);

/// One channel of the input (0), target (1) or prediction (2), row by row.
std::span<const float> field_of(const FieldSet& set, std::int64_t which, std::int64_t channel);

/// Draws the pictures again when channel or fields changed; both RMSE are weighted by latitude.
void update_pictures(MapsState& maps, const std::shared_ptr<const FieldSet>& set, int channel);

}  // namespace isobar
