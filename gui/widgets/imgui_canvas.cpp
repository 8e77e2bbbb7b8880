#include "widgets/imgui_canvas.h"

#include <algorithm>
#include <cmath>

namespace isobar {
namespace {

constexpr float kLongest = 20000;  // pixels; longer pieces leave the screen anyway

ImVec2 vec(PlotPoint point) { return {point.x, point.y}; }

/// Draws every other piece of a line; `on` and `off` in pixels.
void draw_dashes(ImDrawList& list, std::span<const PlotPoint> points, Colour colour, float width, float on,
                 float off) {
  const float period = on + off;
  float walked = 0;  // along the line so far, so that dashes go on around corners
  for (std::size_t i = 1; i < points.size(); ++i) {
    const PlotPoint a = points[i - 1];
    const PlotPoint b = points[i];
    const float length = std::hypot(b.x - a.x, b.y - a.y);
    if (!(length > 0) || length > kLongest) continue;
    const auto between = [&](float place) {
      return ImVec2(a.x + (b.x - a.x) * place / length, a.y + (b.y - a.y) * place / length);
    };
    const int first = static_cast<int>(std::floor(walked / period));
    const int last = static_cast<int>(std::floor((walked + length) / period));
    for (int k = first; k <= last; ++k) {
      const float begin = std::max(0.0F, static_cast<float>(k) * period - walked);
      const float end = std::min(length, static_cast<float>(k) * period + on - walked);
      if (end > begin) list.AddLine(between(begin), between(end), colour, width);
    }
    walked = std::fmod(walked + length, period);
  }
}

/// Whether the line turns by more than a right angle at `b`.
bool turns_back(PlotPoint a, PlotPoint b, PlotPoint c) {
  return (b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y) < 0;
}

}  // namespace

ImTextureID MemoryTextures::texture(const std::shared_ptr<const Picture>& picture) {
  if (std::find(kept_.begin(), kept_.end(), picture) == kept_.end()) {
    if (kept_.size() >= 16) kept_.erase(kept_.begin());
    kept_.push_back(picture);
  }
  return const_cast<Picture*>(picture.get());
}

const Picture* MemoryTextures::picture_of(ImTextureID id) const {
  for (const auto& picture : kept_) {
    if (picture.get() == id) return picture.get();
  }
  return nullptr;
}

ImGuiCanvas::ImGuiCanvas(ImDrawList& list, const Fonts& fonts, TextureMaker& textures)
    : list_(list), fonts_(fonts), textures_(textures) {}

void ImGuiCanvas::line(std::span<const PlotPoint> points, Colour colour, float width, Dash dash) {
  if (points.empty()) return;
  if (points.size() == 1) {
    list_.AddCircleFilled(vec(points.front()), width, colour);
    return;
  }
  if (dash != Dash::solid) {
    const float unit = std::max(1.0F, width);
    draw_dashes(list_, points, colour, width, dash == Dash::dashed ? 5 * unit : 1.4F * unit, 3.2F * unit);
    return;
  }
  // ImGui's joints thin out where a line turns back sharply; there it is drawn as two lines.
  static_assert(sizeof(PlotPoint) == sizeof(ImVec2));
  std::size_t begin = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (i + 1 < points.size() && !turns_back(points[i - 1], points[i], points[i + 1])) continue;
    list_.AddPolyline(reinterpret_cast<const ImVec2*>(points.data() + begin), static_cast<int>(i - begin + 1),
                      colour, 0, width);
    begin = i;
  }
}

void ImGuiCanvas::fill(const Box& box, Colour colour, float rounding) {
  list_.AddRectFilled(least_of(box), most_of(box), colour, rounding);
}

void ImGuiCanvas::frame(const Box& box, Colour colour) { list_.AddRect(least_of(box), most_of(box), colour); }

void ImGuiCanvas::polygon(std::span<const PlotPoint> points, Colour colour) {
  list_.AddConvexPolyFilled(reinterpret_cast<const ImVec2*>(points.data()), static_cast<int>(points.size()),
                            colour);
}

void ImGuiCanvas::circle(PlotPoint at, float radius, Colour colour, bool filled) {
  if (filled) {
    list_.AddCircleFilled(vec(at), radius, colour);
  } else {
    list_.AddCircle(vec(at), radius, colour, 0, std::max(1.0F, radius * 0.4F));
  }
}

void ImGuiCanvas::text(float x, float y, std::string_view words, Face face, Colour colour, float across) {
  if (words.empty()) return;
  ImFont* const font = fonts_.of(face);
  const float left = across > 0 ? x - text_width(words, face) * across : x;
  list_.AddText(font, font->FontSize, {std::round(left), std::round(y)}, colour, words.data(),
                words.data() + words.size());
}

float ImGuiCanvas::text_width(std::string_view words, Face face) const {
  if (words.empty()) return 0;
  const ImFont* const font = fonts_.of(face);
  return font->CalcTextSizeA(font->FontSize, 1e9F, 0, words.data(), words.data() + words.size()).x;
}

void ImGuiCanvas::picture(const Box& box, const std::shared_ptr<const Picture>& picture) {
  list_.AddImage(textures_.texture(picture), least_of(box), most_of(box));
}

void ImGuiCanvas::push_clip(const Box& box) { list_.PushClipRect(least_of(box), most_of(box), true); }
void ImGuiCanvas::pop_clip() { list_.PopClipRect(); }

}  // namespace isobar
