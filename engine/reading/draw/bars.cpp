#include "draw/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/colour.h"

namespace isobar {

float bars_height(const BarSpec& spec, const Canvas& canvas) {
  return canvas.scale() * (44 + 30 * static_cast<float>(std::max<std::size_t>(1, spec.bars.size())));
}

std::vector<Box> paint_bars(Canvas& canvas, const Theme& theme, const BarSpec& spec, const Box& box) {
  std::vector<Box> rows;
  const float s = canvas.scale();
  canvas.text(box.x0 + 12 * s, box.y0 + 10 * s, canvas.fitted(spec.title, Face::bold, box.width() - 24 * s),
              Face::bold, theme.text);
  float y = box.y0 + 36 * s;
  if (spec.bars.empty()) {
    canvas.text(box.x0 + 12 * s, y, canvas.fitted(spec.empty, Face::small, box.width() - 24 * s), Face::small,
                theme.dim);
    return rows;
  }
  double most = 0;
  float label_width = 0;
  float words_width = 0;
  for (const Bar& bar : spec.bars) {
    if (std::isfinite(bar.value)) most = std::max(most, bar.value);
    label_width = std::max(label_width, canvas.text_width(bar.label, Face::small));
    words_width = std::max(words_width, canvas.text_width(bar.words, Face::small));
  }
  label_width = std::min(label_width, box.width() * 0.35F);
  const float left = box.x0 + 24 * s + label_width;
  const float right = box.x1 - 24 * s - words_width;
  for (const Bar& bar : spec.bars) {
    const Box row = {box.x0 + 8 * s, y, box.x1 - 8 * s, y + 28 * s};
    rows.push_back(row);
    canvas.text(box.x0 + 12 * s, y + 5 * s, canvas.fitted(bar.label, Face::small, label_width + 1),
                Face::small, theme.dim);
    if (std::isfinite(bar.value) && bar.value > 0) {
      const float width =
          std::max(2 * s, static_cast<float>(bar.value / most) * std::max(4 * s, right - left));
      canvas.fill({left, y + 5 * s, left + width, y + 21 * s}, bar.colour, 3 * s);
      canvas.text(left + width + 8 * s, y + 5 * s, bar.words, Face::small, theme.text);
    } else {
      canvas.text(left, y + 5 * s, "not measured", Face::small, theme.dim);
    }
    y += 30 * s;
  }
  return rows;
}

std::string bars_csv(const BarSpec& spec) {
  std::string out = "run,samples_per_s,words\n";
  for (const Bar& bar : spec.bars) {
    std::string label = bar.label;
    std::replace(label.begin(), label.end(), '"', '\'');
    out += fmt::format("\"{}\",{},\"{}\"\n", label, bar.value, bar.words);
  }
  return out;
}

}  // namespace isobar
