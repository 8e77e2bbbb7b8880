#pragma once
#include <string>

#include "analyse/run_reader.h"

namespace isobar {

/// The skill of a run as an SVG picture: RMSE of the headline channel by step, beside persistence and
/// climatology. Error (exit code 2) when the run has fewer than two scores.
std::string draw_curve(const RunReader& reader);

}  // namespace isobar
