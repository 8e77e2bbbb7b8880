#pragma once
// The 20 weather variables, derived from the flow: two stream functions and a tracer in, physical units out.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "make_fields/flow.h"

namespace isobar {

struct ChannelInfo {
  const char* name;
  const char* unit;
};

/// Names and units in the order of the tutorial.
extern const std::array<ChannelInfo, 20> kChannels;

struct Surface {
  float height_m;  ///< height of the hills
  float land;      ///< 0 sea to 1 land
};

/// Derives records on a grid of `rows` x `columns`, row 0 at the north pole.
class ChannelMaker {
 public:
  ChannelMaker(std::size_t rows, std::size_t columns);

  /// [20, rows, columns] from the flow's state, whose grid may be coarser (it is interpolated, band-limited).
  /// `record` counts 6-hour records and sets the time of day.
  std::vector<float> derive(const FlowState& state, std::int64_t record) const;

  std::vector<float> latitudes_deg() const;   ///< from +90 to -90
  std::vector<float> longitudes_deg() const;  ///< from 0, eastward

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::vector<Surface> surface_;
  std::vector<float> sin2_;      ///< sin^2 of the latitude, per row
  std::vector<float> cos_hour_;  ///< cosine of the hour angle at record 0, per column
  std::vector<float> sin_hour_;
};

}  // namespace isobar
