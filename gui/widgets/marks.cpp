#include "widgets/marks.h"

namespace isobar {

void paint_tick(Canvas& canvas, PlotPoint middle, Colour colour) {
  const float s = canvas.scale();
  const PlotPoint tick[3] = {{middle.x - 4 * s, middle.y + 0.5F * s},
                             {middle.x - 1 * s, middle.y + 3.5F * s},
                             {middle.x + 4.5F * s, middle.y - 3.5F * s}};
  canvas.line(tick, colour, 2 * s, Dash::solid);
}

Box paint_check(Canvas& canvas, const Theme& theme, PlotPoint corner, CheckMark check, Colour held) {
  const float s = canvas.scale();
  const Box box = {corner.x, corner.y, corner.x + 14 * s, corner.y + 14 * s};
  const PlotPoint middle = {corner.x + 7 * s, corner.y + 7 * s};
  if (check == CheckMark::open) {
    canvas.frame(box, mixed(theme.panel, theme.dim, 0.6F));
    return box;
  }
  canvas.fill(box, check == CheckMark::held ? held : theme.bad, 3 * s);
  if (check == CheckMark::held) {
    paint_tick(canvas, middle, theme.panel);
  } else {
    canvas.mark(middle, Mark::cross, 3.5F * s, theme.panel);
  }
  return box;
}

void paint_chevron(Canvas& canvas, PlotPoint middle, float half, Way way, Colour colour, float width) {
  const float up = (way == Way::up ? half : -half) / 2;
  const PlotPoint upright[3] = {
      {middle.x - half, middle.y + up}, {middle.x, middle.y - up}, {middle.x + half, middle.y + up}};
  const PlotPoint sideways[3] = {{middle.x - half / 2, middle.y - half},
                                 {middle.x + half / 2, middle.y},
                                 {middle.x - half / 2, middle.y + half}};
  canvas.line(way == Way::right ? sideways : upright, colour, width, Dash::solid);
}

}  // namespace isobar
