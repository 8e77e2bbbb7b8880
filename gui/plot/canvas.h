#pragma once
// What plots draw on: the window, or an SVG file. Pixels, y downwards.
#include <imgui.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plot/decimate.h"
#include "plot/theme.h"

namespace isobar {

enum class Face { text, small, bold, title, mono, mono_small };
enum class Dash { solid, dashed, dotted };
enum class Mark { circle, square, triangle, diamond, down, cross, ring, star };

struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;

  float width() const { return x1 - x0; }
  float height() const { return y1 - y0; }
  bool contains(ImVec2 at) const { return at.x >= x0 && at.x < x1 && at.y >= y0 && at.y < y1; }
  ImVec2 least() const { return {x0, y0}; }
  ImVec2 most() const { return {x1, y1}; }
};

/// A picture in memory, four bytes a pixel (RGBA), first row at the top.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgba;
};

class Canvas {
 public:
  /// Texts are measured and drawn with `fonts`; an ImGui context must be there.
  explicit Canvas(const Fonts& fonts) : fonts_(fonts) {}
  virtual ~Canvas() = default;
  Canvas(const Canvas&) = default;
  Canvas& operator=(const Canvas&) = delete;
  virtual void line(std::span<const PlotPoint> points, ImU32 colour, float width, Dash dash) = 0;
  virtual void fill(const Box& box, ImU32 colour, float rounding = 0) = 0;
  virtual void frame(const Box& box, ImU32 colour) = 0;
  virtual void polygon(std::span<const PlotPoint> points, ImU32 colour) = 0;
  virtual void circle(PlotPoint at, float radius, ImU32 colour, bool filled) = 0;
  /// `across` 0 begins at x, 0.5 is centred there, 1 ends there; y is the top of the line.
  virtual void text(float x, float y, std::string_view words, Face face, ImU32 colour, float across = 0) = 0;
  virtual void picture(const Box& box, const std::shared_ptr<const Picture>& picture) = 0;
  virtual void push_clip(const Box& box) = 0;
  virtual void pop_clip() = 0;

  float text_width(std::string_view words, Face face) const;
  float line_height(Face face) const;
  float scale() const { return fonts_.scale; }
  void mark(PlotPoint at, Mark mark, float radius, ImU32 colour);
  /// `words` cut with an ellipsis so that they are at most `width` wide.
  std::string fitted(std::string_view words, Face face, float width) const;

 protected:
  const Fonts& fonts_;
};

/// How a picture becomes something that ImGui can draw; the window makes a texture, tests keep it in memory.
class TextureMaker {
 public:
  virtual ~TextureMaker() = default;
  virtual ImTextureID texture(const std::shared_ptr<const Picture>& picture) = 0;
  /// What a texture was made from; null for one that is not ours, such as the font atlas.
  virtual const Picture* picture_of(ImTextureID id) const = 0;
};

/// Keeps pictures in memory: for tests, and wherever drawing goes without a graphics card.
class MemoryTextures : public TextureMaker {
 public:
  ImTextureID texture(const std::shared_ptr<const Picture>& picture) override;
  const Picture* picture_of(ImTextureID id) const override;

 private:
  std::vector<std::shared_ptr<const Picture>> kept_;
};

class ImGuiCanvas : public Canvas {
 public:
  ImGuiCanvas(ImDrawList& list, const Fonts& fonts, TextureMaker& textures);
  void line(std::span<const PlotPoint> points, ImU32 colour, float width, Dash dash) override;
  void fill(const Box& box, ImU32 colour, float rounding = 0) override;
  void frame(const Box& box, ImU32 colour) override;
  void polygon(std::span<const PlotPoint> points, ImU32 colour) override;
  void circle(PlotPoint at, float radius, ImU32 colour, bool filled) override;
  void text(float x, float y, std::string_view words, Face face, ImU32 colour, float across = 0) override;
  void picture(const Box& box, const std::shared_ptr<const Picture>& picture) override;
  void push_clip(const Box& box) override;
  void pop_clip() override;

 private:
  ImDrawList& list_;
  TextureMaker& textures_;
};

ImFont* font_of(const Fonts& fonts, Face face);

}  // namespace isobar
