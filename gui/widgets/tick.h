#pragma once
// The mark of what is done.
#include "draw/canvas.h"

namespace isobar {

/// Around `middle`, nine pixels wide.
void draw_tick(Canvas& canvas, PlotPoint middle, Colour colour);

}  // namespace isobar
