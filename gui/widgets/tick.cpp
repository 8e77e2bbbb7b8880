#include "widgets/tick.h"

namespace isobar {

void draw_tick(Canvas& canvas, PlotPoint middle, Colour colour) {
  const float s = canvas.scale();
  const PlotPoint tick[3] = {{middle.x - 4 * s, middle.y + 0.5F * s},
                             {middle.x - 1 * s, middle.y + 3.5F * s},
                             {middle.x + 4.5F * s, middle.y - 3.5F * s}};
  canvas.line(tick, colour, 2 * s, Dash::solid);
}

}  // namespace isobar
