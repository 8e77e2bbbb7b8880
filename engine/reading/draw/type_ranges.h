#pragma once
// What each type of numbers can hold, on a line of powers of two, below a histogram of gradients.
#include "draw/sketch.h"
#include "record/gradient_histogram.h"

namespace isobar {

/// The gradients of the histogram without the scale of the loss as areas; with it, where there is one, as an
/// outline. Gives the y where it ends.
float paint_type_ranges(Sketch& sketch, const GradientHistogram& gradients, PlotPoint at, float width);

}  // namespace isobar
