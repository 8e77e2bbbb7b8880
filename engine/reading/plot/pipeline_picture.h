#pragma once
// What the ranks of a pipeline do during a step: a row a rank, a box for each F, B, I and W.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyse/pipeline_step.h"
#include "draw/axis.h"
#include "draw/sketch.h"

namespace isobar {

/// Where its boxes are, for who points at them.
struct PipelineArea {
  Axis x;  ///< in PipelineStep::unit_us
  std::vector<Box> rows = {};

  /// Place in PipelineCourse::actions; nothing where the rank is idle, or outside.
  std::optional<std::size_t> action_at(const PipelineStep& step, PlotPoint at) const;
};

struct PipelineStyle {
  double most = 0;          ///< where the axis ends, in the unit of the step; 0 = where the step does
  bool has_figures = true;  ///< beside the rows, and below them
};

/// Boxes have the colour of their work, paler for a rank's later stages, and the number of their micro-batch;
/// beside each row its idle share and the most micro-batches that it keeps. Idle time is empty. Gives the y
/// where it ends.
float paint_pipeline(Sketch& sketch, const PipelineStep& step, PlotPoint at, float width,
                     const PipelineStyle& style = {}, PipelineArea* area = nullptr);

/// What colours and numbers of these steps stand for. Gives the y where it ends.
float paint_pipeline_legend(Sketch& sketch, const std::vector<const PipelineStep*>& steps, PlotPoint at,
                            float width, bool has_figures = true);

/// Rows, legend, and below them the idle share, measured or predicted, beside the formula's. In a terminal a
/// box begins with F, B, I or W, with the number where there is room; small letters are a rank's second,
/// fourth, ... stage. Without a body where there is no action.
Drawing pipeline_drawing(const PipelineStep& step, const std::string& title, const std::string& note = "");

/// Several, below each other on one axis of time.
struct NamedPipeline {
  std::string label;
  PipelineStep step;
};
Drawing pipelines_drawing(const std::vector<NamedPipeline>& steps, const std::string& title,
                          const std::string& note = "", bool has_figures = true);

/// Its boxes as comma-separated values: rank, stage, work, micro-batch, begin and end in us.
std::string pipeline_csv(const PipelineStep& step);

}  // namespace isobar
