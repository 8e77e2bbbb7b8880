#pragma once
// What views share that are turned by knobs and gone through in steps.
#include "state/state.h"

namespace isobar {

/// Step, Back, Play, To the start and To the end; N and B are the keys of the first two.
void draw_player(Ui& ui, StepPlayer& player, std::size_t last, double now_s);

/// One of a few places; true where `value` became another.
bool draw_knob(Ui& ui, const std::string& name, const std::string& title, const std::string& tip,
               const std::vector<double>& places, const std::string& words, double& value);

/// Knobs of settings of the next run; the key of the one that was turned, "" = none.
std::string draw_form_knobs(Ui& ui, FormState& form, const std::vector<Knob>& knobs);

/// Draws a plot over the size; what its menu saves is named after the run ("" = the plot alone).
void show_saved_plot(Ui& ui, const PlotSpec& spec, PlotView& view, PlotLink& link, ImVec2 size,
                     const std::string& run, Requests& ask);

/// A menu over what was drawn in `box`: saves it as a picture, or `csv`.
void save_drawing(Ui& ui, const Box& box, const std::string& name, const std::function<std::string()>& csv,
                  const std::function<void(Canvas&, const Box&)>& paint, Requests& ask);

}  // namespace isobar
