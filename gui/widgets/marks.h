#pragma once
// Small signs: what is done, what failed, which way something goes.
#include "draw/canvas.h"

namespace isobar {

/// Around `middle`, nine pixels wide.
void paint_tick(Canvas& canvas, PlotPoint middle, Colour colour);

enum class CheckMark { open, held, failed };

/// A box of 14 pixels from `corner` on: filled with a tick or a cross, or only framed.
Box paint_check(Canvas& canvas, const Theme& theme, PlotPoint corner, CheckMark check, Colour held);

enum class Way { up, down, right };

/// The head of an arrow around `middle`, `half` as wide to each side.
void paint_chevron(Canvas& canvas, PlotPoint middle, float half, Way way, Colour colour, float width);

}  // namespace isobar
