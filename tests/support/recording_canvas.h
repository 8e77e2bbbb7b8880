#pragma once
// A canvas that keeps where texts were written and how far anything reached.
#include <algorithm>
#include <string>
#include <vector>

#include "draw/svg_canvas.h"

namespace isobar {

struct WrittenText {
  std::string words;
  Box box;
};

/// Measures as SvgCanvas does.
class RecordingCanvas : public SvgCanvas {
 public:
  explicit RecordingCanvas(float scale = 1) : SvgCanvas(1, 1, kWhite, scale) {}

  void line(std::span<const PlotPoint> points, Colour, float, Dash) override {
    for (const PlotPoint& at : points) reach({at.x, at.y, at.x, at.y});
  }
  void fill(const Box& box, Colour, float) override { reach(box); }
  void frame(const Box& box, Colour) override { reach(box); }
  void polygon(std::span<const PlotPoint> points, Colour) override {
    for (const PlotPoint& at : points) reach({at.x, at.y, at.x, at.y});
  }
  void circle(PlotPoint at, float radius, Colour, bool) override {
    reach({at.x - radius, at.y - radius, at.x + radius, at.y + radius});
  }
  void text(float x, float y, std::string_view words, Face face, Colour, float across) override {
    const float wide = text_width(words, face), left = x - across * wide;
    texts_.push_back({std::string(words), {left, y, left + wide, y + line_height(face)}});
    reach(texts_.back().box);
  }
  void push_clip(const Box&) override { ++clips_; }
  void pop_clip() override { --clips_; }

  const std::vector<WrittenText>& texts() const { return texts_; }
  /// Around all that was drawn outside of clips, texts too.
  const Box& reached() const { return reached_; }

 private:
  void reach(const Box& box) {
    if (clips_ > 0) return;
    reached_ = {std::min(reached_.x0, box.x0), std::min(reached_.y0, box.y0), std::max(reached_.x1, box.x1),
                std::max(reached_.y1, box.y1)};
  }

  std::vector<WrittenText> texts_;
  Box reached_ = {1e9F, 1e9F, -1e9F, -1e9F};
  int clips_ = 0;
};

/// Pairs of texts that cover each other, as "one | other".
inline std::vector<std::string> covered_texts(const std::vector<WrittenText>& texts) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t k = i + 1; k < texts.size(); ++k) {
      const Box& a = texts[i].box;
      const Box& b = texts[k].box;
      const float wide = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
      const float high = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
      if (wide > 1 && high > 2) out.push_back(texts[i].words + " | " + texts[k].words);
    }
  }
  return out;
}

}  // namespace isobar
