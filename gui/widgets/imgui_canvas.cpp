#include "widgets/imgui_canvas.h"

#include <imgui_freetype.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "draw/colour.h"

namespace isobar {
namespace {

constexpr const char* kInter = "/usr/share/fonts/opentype/inter/Inter-";
constexpr const char* kMono = "/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-";

ImFont* add_font(ImFontAtlas& atlas, const std::string& file, float size) {
  static constexpr std::array<ImWchar, 29> kRanges = {
      0x0020, 0x017f,                  // Latin
      0x0391, 0x03c9,                  // Greek
      0x2010, 0x2027, 0x202f, 0x203a,  // dashes, quotes, bullet, ellipsis
      0x2070, 0x209c,                  // superscripts, subscripts
      0x2190, 0x2199,                  // arrows
      0x2200, 0x2265,                  // mathematics
      0x23ce, 0x23ce, 0x25a0, 0x25ff,  // shapes
      0x2713, 0x2717, 0x2318, 0x2318,  // ticks
      0x21e7, 0x21e7, 0x2022, 0x2022, 0x00b7, 0x00b7, 0};
  ImFontConfig config;
  config.OversampleH = 1;
  config.PixelSnapH = true;
  config.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
  return atlas.AddFontFromFileTTF(file.c_str(), std::round(size), &config, kRanges.data());
}

ImFont* add_own(ImFontAtlas& atlas, float size) {
  ImFontConfig config;
  config.SizePixels = std::round(size);
  return atlas.AddFontDefault(&config);
}

void apply_colours(const Theme& t) {
  const Colour clear = IM_COL32(0, 0, 0, 0);
  const auto set = [](Colour colour, std::initializer_list<ImGuiCol> slots) {
    for (const ImGuiCol slot : slots) ImGui::GetStyle().Colors[slot] = ImGui::ColorConvertU32ToFloat4(colour);
  };
  set(t.text, {ImGuiCol_Text});
  set(t.dim, {ImGuiCol_TextDisabled, ImGuiCol_ScrollbarGrabActive});
  set(t.ground, {ImGuiCol_WindowBg});
  set(t.panel, {ImGuiCol_ChildBg, ImGuiCol_TableHeaderBg});
  set(t.dark ? t.raised : t.panel, {ImGuiCol_PopupBg});
  set(t.line, {ImGuiCol_Border, ImGuiCol_ButtonActive, ImGuiCol_Separator, ImGuiCol_TableBorderStrong});
  set(clear, {ImGuiCol_BorderShadow, ImGuiCol_ScrollbarBg, ImGuiCol_TableRowBg, ImGuiCol_TableRowBgAlt});
  set(t.raised, {ImGuiCol_FrameBg, ImGuiCol_Button});
  set(t.hover,
      {ImGuiCol_FrameBgHovered, ImGuiCol_FrameBgActive, ImGuiCol_ButtonHovered, ImGuiCol_HeaderHovered});
  set(t.selected, {ImGuiCol_Header, ImGuiCol_HeaderActive});
  set(t.accent, {ImGuiCol_CheckMark, ImGuiCol_SliderGrab, ImGuiCol_SliderGrabActive,
                 ImGuiCol_SeparatorHovered, ImGuiCol_SeparatorActive, ImGuiCol_NavHighlight});
  set(mixed(t.panel, t.dim, 0.35F), {ImGuiCol_ScrollbarGrab});
  set(mixed(t.panel, t.dim, 0.55F), {ImGuiCol_ScrollbarGrabHovered});
  set(mixed(t.panel, t.line, 0.6F), {ImGuiCol_TableBorderLight});
  set(with_alpha(t.accent, 0.35F), {ImGuiCol_TextSelectedBg});
  set(IM_COL32(0, 0, 0, 120), {ImGuiCol_ModalWindowDimBg});
}

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

Fonts build_fonts(float scale) {
  Fonts fonts;
  fonts.scale = scale;
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  std::error_code code;
  static constexpr std::array<const char*, 6> kWeights = {"Regular",  "Regular", "SemiBold",
                                                          "SemiBold", "Regular", "Regular"};  // of each Face
  const bool has_inter = std::filesystem::exists(std::string(kInter) + "Regular.otf", code);
  const bool has_mono = std::filesystem::exists(std::string(kMono) + "Regular.ttf", code);
  for (std::size_t i = 0; i < fonts.faces.size(); ++i) {
    const auto face = static_cast<Face>(i);
    const bool mono = face >= Face::mono;
    const std::string file =
        mono ? std::string(kMono) + kWeights[i] + ".ttf" : std::string(kInter) + kWeights[i] + ".otf";
    const float size = face_size(face);
    fonts.faces[i] = (mono ? has_mono : has_inter) ? add_font(atlas, file, size * scale)
                                                   : add_own(atlas, (size - 2) * scale);
  }
  atlas.Build();
  return fonts;
}

void apply_style(const Theme& theme, float scale) {
  ImGuiStyle style;
  style.WindowPadding = {12, 12};
  style.FramePadding = {8, 5};
  style.ItemSpacing = {8, 8};
  style.ItemInnerSpacing = {6, 4};
  style.CellPadding = {8, 4};
  style.ScrollbarSize = 11;
  style.WindowRounding = 0;
  style.ChildRounding = 6;
  style.FrameRounding = 5;
  style.PopupRounding = 6;
  style.ScrollbarRounding = 6;
  style.GrabRounding = 4;
  style.WindowBorderSize = 0;
  style.ChildBorderSize = 0;
  style.PopupBorderSize = 1;
  style.FrameBorderSize = 0;
  style.ScaleAllSizes(scale);
  ImGui::GetStyle() = style;
  apply_colours(theme);
}

ImTextureID KeptTextures::texture(const std::shared_ptr<const Picture>& picture) {
  constexpr std::size_t kMostKept = 16;
  const auto at = std::ranges::find_if(kept_, [&](auto& one) { return one.picture == picture; });
  if (at != kept_.end()) {
    std::rotate(at, at + 1, kept_.end());  // what is used stays longest
    return kept_.back().id;
  }
  if (kept_.size() >= kMostKept) {
    drop(kept_.front().id);
    kept_.pop_front();
  }
  kept_.push_back({make(*picture), picture});
  return kept_.back().id;
}

const Picture* KeptTextures::picture_of(ImTextureID id) const {
  const auto at = std::ranges::find_if(kept_, [&](auto& one) { return one.id == id; });
  return at == kept_.end() ? nullptr : at->picture.get();
}

void KeptTextures::drop_all() {
  for (const Kept& one : kept_) drop(one.id);
  kept_.clear();
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
