#pragma once
#include <string>
#include <vector>

#include "analyse/scaling.h"
#include "analyse/simulated_scaling.h"
#include "log/run_reader.h"

namespace isobar {

struct ScalingCaption {
  std::string title;                  ///< "Weak scaling of NN_name"
  std::string subtitle;               ///< where and when it was measured
  std::vector<std::string> protocol;  ///< sentences that are printed below the plots
};

/// Samples/s and efficiency against the number of ranks as an SVG picture: a line for each of real, synthetic
/// and no-comm, and the ideal one dashed; what is simulated is dotted, with hollow marks. Bars go from the
/// least to the most of the repeats. A point without a value is a cross at the top, and its line is broken
/// there. Error (exit code 1) when no point has a value.
std::string draw_scaling(const Scaling& scaling, const SimulatedScaling& simulated,
                         const ScalingCaption& caption);

/// The skill of a run as an SVG picture: RMSE of the headline channel by step, beside persistence and
/// climatology. Error (exit code 2) when the run has fewer than two scores.
std::string draw_curve(const RunReader& reader);

}  // namespace isobar
