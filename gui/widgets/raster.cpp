// Drawing without a graphics card, and plots as files.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "draw/svg_canvas.h"
#include "record/png.h"
#include "widgets/imgui_canvas.h"
#include "widgets/plot_widget.h"

namespace isobar {
namespace {

struct Texture {
  const unsigned char* alpha = nullptr;  ///< of the font atlas, one byte a pixel
  const std::uint8_t* rgba = nullptr;
  int width = 1;
  int height = 1;
};

struct Rgba {
  float r, g, b, a;  ///< 0 to 1
};

Rgba unpacked(Colour c) {
  const auto part = [&](int shift) { return static_cast<float>(c >> shift & 255U) / 255.0F; };
  return {part(IM_COL32_R_SHIFT), part(IM_COL32_G_SHIFT), part(IM_COL32_B_SHIFT), part(IM_COL32_A_SHIFT)};
}

Rgba sample(const Texture& texture, float u, float v) {
  const int x = std::clamp(static_cast<int>(u * static_cast<float>(texture.width)), 0, texture.width - 1);
  const int y = std::clamp(static_cast<int>(v * static_cast<float>(texture.height)), 0, texture.height - 1);
  const auto at =
      static_cast<std::size_t>(y) * static_cast<std::size_t>(texture.width) + static_cast<std::size_t>(x);
  if (texture.alpha != nullptr) return {1, 1, 1, static_cast<float>(texture.alpha[at]) / 255.0F};
  if (texture.rgba == nullptr) return {1, 1, 1, 1};
  const std::uint8_t* const p = texture.rgba + 4 * at;
  return {static_cast<float>(p[0]) / 255.0F, static_cast<float>(p[1]) / 255.0F,
          static_cast<float>(p[2]) / 255.0F, static_cast<float>(p[3]) / 255.0F};
}

/// Places of a triangle in pixels of the picture.
struct Corner {
  float x, y, u, v;
  Rgba colour;
};

float edge(const Corner& a, const Corner& b, float x, float y) {
  return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}

class Painter {
 public:
  Painter(Picture& picture, Box clip) : picture_(picture), clip_(clip) {}

  void set_clip(const Box& clip) { clip_ = clip; }

  void triangle(Corner a, Corner b, Corner c, const Texture& texture) {
    const float area = edge(a, b, c.x, c.y);
    if (area == 0 || !std::isfinite(area)) return;
    if (area < 0) std::swap(b, c);
    const float size = std::fabs(area);
    const auto low = [](float p, float q, float r, float bound) {
      return static_cast<int>(std::floor(std::max(bound, std::min({p, q, r}))));
    };
    const auto high = [](float p, float q, float r, float bound) {
      return static_cast<int>(std::ceil(std::min(bound, std::max({p, q, r}))));
    };
    for (int y = low(a.y, b.y, c.y, clip_.y0); y < high(a.y, b.y, c.y, clip_.y1); ++y) {
      for (int x = low(a.x, b.x, c.x, clip_.x0); x < high(a.x, b.x, c.x, clip_.x1); ++x) {
        const float px = static_cast<float>(x) + 0.5F;
        const float py = static_cast<float>(y) + 0.5F;
        const float wa = edge(b, c, px, py) / size;
        const float wb = edge(c, a, px, py) / size;
        const float wc = edge(a, b, px, py) / size;
        // A pixel on a shared edge belongs to one triangle: the one whose edge goes up or left.
        if (!inside(wa, b, c) || !inside(wb, c, a) || !inside(wc, a, b)) continue;
        blend(x, y, mix(a, b, c, wa, wb, wc, texture));
      }
    }
  }

 private:
  static bool inside(float weight, const Corner& from, const Corner& to) {
    if (weight != 0) return weight > 0;
    return to.y < from.y || (to.y == from.y && to.x > from.x);
  }

  static Rgba mix(const Corner& a, const Corner& b, const Corner& c, float wa, float wb, float wc,
                  const Texture& texture) {
    const Rgba t = sample(texture, wa * a.u + wb * b.u + wc * c.u, wa * a.v + wb * b.v + wc * c.v);
    return {t.r * (wa * a.colour.r + wb * b.colour.r + wc * c.colour.r),
            t.g * (wa * a.colour.g + wb * b.colour.g + wc * c.colour.g),
            t.b * (wa * a.colour.b + wb * b.colour.b + wc * c.colour.b),
            t.a * (wa * a.colour.a + wb * b.colour.a + wc * c.colour.a)};
  }

  void blend(int x, int y, const Rgba& over) {
    std::uint8_t* const p =
        picture_.rgba.data() + 4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(picture_.width) +
                                    static_cast<std::size_t>(x));
    const float part[3] = {over.r, over.g, over.b};
    for (int i = 0; i < 3; ++i) {
      const float under = static_cast<float>(p[i]);
      p[i] = static_cast<std::uint8_t>(std::clamp(under + (part[i] * 255.0F - under) * over.a, 0.0F, 255.0F) +
                                       0.5F);
    }
  }

  Picture& picture_;
  Box clip_;
};

Texture texture_of(ImTextureID id, const TextureMaker& textures) {
  Texture out;
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  if (const Picture* const picture = textures.picture_of(id); picture != nullptr) {
    out.rgba = picture->rgba.data();
    out.width = picture->width;
    out.height = picture->height;
  } else if (id == atlas.TexID) {
    unsigned char* pixels = nullptr;
    atlas.GetTexDataAsAlpha8(&pixels, &out.width, &out.height);
    out.alpha = pixels;
  }
  return out;
}

/// ImGui 1.89.8 made a list of its own of what was a pointer.
template <typename Lists>
void hold(Lists& lists, ImDrawList** only) {
  if constexpr (std::is_pointer_v<Lists>)
    lists = only;
  else
    lists.push_back(*only);
}

}  // namespace

Picture rasterise(const ImDrawData& frame, const Box& box, float zoom, Colour ground,
                  const TextureMaker& textures) {
  Picture picture;
  picture.width = std::max(1, static_cast<int>(std::lround(box.width() * zoom)));
  picture.height = std::max(1, static_cast<int>(std::lround(box.height() * zoom)));
  picture.rgba.resize(static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height) * 4);
  for (std::size_t i = 0; i < picture.rgba.size(); i += 4) {
    for (std::size_t k = 0; k < 4; ++k)
      picture.rgba[i + k] = static_cast<std::uint8_t>(ground >> (8 * k) & 255U);
  }
  const Box whole = {0, 0, static_cast<float>(picture.width), static_cast<float>(picture.height)};
  Painter painter(picture, whole);
  for (int n = 0; n < frame.CmdListsCount; ++n) {
    const ImDrawList& list = *frame.CmdLists[n];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback != nullptr) continue;
      const ImVec4 clip = command.ClipRect;
      const Box part = {std::max(0.0F, (clip.x - box.x0) * zoom), std::max(0.0F, (clip.y - box.y0) * zoom),
                        std::min(whole.x1, (clip.z - box.x0) * zoom),
                        std::min(whole.y1, (clip.w - box.y0) * zoom)};
      if (part.width() <= 0 || part.height() <= 0) continue;
      painter.set_clip(part);
      const Texture texture = texture_of(command.GetTexID(), textures);
      const auto corner = [&](unsigned i) {
        const ImDrawVert& vertex = list.VtxBuffer[static_cast<int>(
            command.VtxOffset + list.IdxBuffer[static_cast<int>(command.IdxOffset + i)])];
        return Corner{(vertex.pos.x - box.x0) * zoom, (vertex.pos.y - box.y0) * zoom, vertex.uv.x,
                      vertex.uv.y, unpacked(vertex.col)};
      };
      for (unsigned i = 0; i + 2 < command.ElemCount; i += 3)
        painter.triangle(corner(i), corner(i + 1), corner(i + 2), texture);
    }
  }
  return picture;
}

std::string drawing(Ui& ui, ExportKind kind, float width, float height,
                    const std::function<void(Canvas&)>& paint) {
  if (kind == ExportKind::svg) {
    SvgCanvas canvas(width, height, ui.theme().panel, ui.px(1));
    paint(canvas);
    return canvas.text();
  }
  ImDrawList list(ImGui::GetDrawListSharedData());
  list._ResetForNewFrame();
  list.PushTextureID(ImGui::GetIO().Fonts->TexID);
  list.PushClipRect({0, 0}, {width, height});
  ImGuiCanvas canvas(list, ui.fonts(), ui.textures());
  paint(canvas);
  ImDrawList* lists[1] = {&list};
  ImDrawData data;
  hold(data.CmdLists, lists);
  data.CmdListsCount = 1;
  const Picture picture = rasterise(data, {0, 0, width, height}, 1, ui.theme().panel, ui.textures());
  return encode_png(picture.rgba, picture.height, picture.width, 4);
}

std::string plot_file(Ui& ui, ExportKind kind, const PlotSpec& spec, const PlotView& view,
                      const PlotLink& link, float width, float height) {
  if (kind == ExportKind::csv) return plot_csv(spec, view);
  return drawing(ui, kind, width, height, [&](Canvas& canvas) {
    paint_whole(canvas, ui.theme(), spec, view, link, {0, 0, width, height});
  });
}

}  // namespace isobar
