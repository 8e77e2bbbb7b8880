#pragma once
// Drawing into the window: fonts, distances and colours in one place, so that every panel looks like the
// others, and a canvas.
#include <imgui.h>

#include <array>
#include <deque>
#include <string>

#include "draw/canvas.h"

namespace isobar {

/// The faces in use, at the size of this scale. Built again when the scale changes, never stretched.
struct Fonts {
  std::array<ImFont*, 6> faces{};
  float scale = 1;

  ImFont* of(Face face) const { return faces[static_cast<std::size_t>(face)]; }
};

/// Fills the font atlas of the current ImGui context.
Fonts build_fonts(float scale);

/// Sets ImGui's style to the theme at this scale.
void apply_style(const Theme& theme, float scale);

inline ImVec2 least_of(const Box& box) { return {box.x0, box.y0}; }
inline ImVec2 most_of(const Box& box) { return {box.x1, box.y1}; }
inline PlotPoint point_of(ImVec2 at) { return {at.x, at.y}; }

/// How a picture becomes something that ImGui can draw; the window makes a texture, tests keep it in memory.
class TextureMaker {
 public:
  virtual ~TextureMaker() = default;
  virtual ImTextureID texture(const std::shared_ptr<const Picture>& picture) = 0;
  /// What a texture was made from; null for one that is not ours, such as the font atlas.
  virtual const Picture* picture_of(ImTextureID id) const = 0;
};

/// Keeps the textures of the pictures that were drawn last.
class KeptTextures : public TextureMaker {
 public:
  ImTextureID texture(const std::shared_ptr<const Picture>& picture) override;
  const Picture* picture_of(ImTextureID id) const override;

 protected:
  virtual ImTextureID make(const Picture& picture) = 0;
  virtual void drop(ImTextureID) {}
  void drop_all();

 private:
  struct Kept {
    ImTextureID id;
    std::shared_ptr<const Picture> picture;
  };
  std::deque<Kept> kept_;
};

/// Keeps pictures in memory: for tests, and wherever drawing goes without a graphics card.
class MemoryTextures : public KeptTextures {
  ImTextureID make(const Picture& picture) override { return const_cast<Picture*>(&picture); }
};

class ImGuiCanvas : public Canvas {
 public:
  ImGuiCanvas(ImDrawList& list, const Fonts& fonts, TextureMaker& textures);
  void line(std::span<const PlotPoint> points, Colour colour, float width, Dash dash) override;
  void fill(const Box& box, Colour colour, float rounding = 0) override;
  void frame(const Box& box, Colour colour) override;
  void polygon(std::span<const PlotPoint> points, Colour colour) override;
  void circle(PlotPoint at, float radius, Colour colour, bool filled) override;
  void text(float x, float y, std::string_view words, Face face, Colour colour, float across = 0) override;
  void picture(const Box& box, const std::shared_ptr<const Picture>& picture) override;
  void push_clip(const Box& box) override;
  void pop_clip() override;
  float text_width(std::string_view words, Face face) const override;
  float line_height(Face face) const override { return fonts_.of(face)->FontSize; }
  float scale() const override { return fonts_.scale; }

 private:
  ImDrawList& list_;
  const Fonts& fonts_;
  TextureMaker& textures_;
};

/// Draws what ImGui wants drawn without a graphics card: for pictures of single plots, and for tests.
/// The part `box` (in ImGui's coordinates) of a frame that was rendered, `zoom` times as large, over
/// `ground`. An ImGui context must be current; its font atlas is read.
Picture rasterise(const ImDrawData& frame, const Box& box, float zoom, Colour ground,
                  const TextureMaker& textures);

}  // namespace isobar
