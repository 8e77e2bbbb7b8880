#pragma once
// Where the time of a step goes: stages stacked over x, one column for several steps.
#include <string>
#include <vector>

#include "widgets/plot_widget.h"

namespace isobar {

struct StackStage {
  std::string name;
  Colour colour = 0;
  const Curve* curve = nullptr;  ///< microseconds a step
};

struct StackSpec {
  std::string id, title, x_title;
  bool x_is_time = false;
  bool x_is_whole = false;
  const Series* places = nullptr;
  std::vector<StackStage> stages;
  const Curve* total = nullptr;  ///< microseconds of the whole step; what stages leave of it is "rest"
  Colour rest_colour = 0;
  std::string empty;

  /// The name and the colour of a stage; behind the last stage stands the rest.
  std::string name(std::size_t i) const { return i < stages.size() ? stages[i].name : "rest"; }
  Colour colour(std::size_t i) const { return i < stages.size() ? stages[i].colour : rest_colour; }
};

/// Mean times over the steps of one column, in microseconds; the last is the rest.
struct StackColumn {
  Limits x;
  std::vector<double> stages_us;
  double total_us = 0;
};

/// At most `count` columns over [least, most]; columns without a step are left out.
std::vector<StackColumn> stack_columns(const StackSpec& spec, double least, double most, std::size_t count);

/// Draws it in `size` at the cursor; x is shared with the other plots of the view.
PlotAsk show_stack(Ui& ui, const StackSpec& spec, PlotView& view, PlotLink& link, ImVec2 size);

std::string stack_csv(const StackSpec& spec, const PlotLink& link);

/// The picture or the table as the bytes of a file.
std::string stack_file(Ui& ui, ExportKind kind, const StackSpec& spec, PlotView view, const PlotLink& link,
                       float width, float height);

}  // namespace isobar
