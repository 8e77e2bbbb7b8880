#include "widgets/look.h"

#include <imgui_freetype.h>

#include <cmath>
#include <filesystem>

#include "draw/theme.h"

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

}  // namespace

ImFont* font_of(const Fonts& fonts, Face face) {
  switch (face) {
    case Face::small:
      return fonts.small;
    case Face::bold:
      return fonts.bold;
    case Face::title:
      return fonts.title;
    case Face::mono:
      return fonts.mono;
    case Face::mono_small:
      return fonts.mono_small;
    case Face::text:
      break;
  }
  return fonts.text;
}

Fonts build_fonts(float scale) {
  Fonts fonts;
  fonts.scale = scale;
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
  std::error_code code;
  const std::string inter = kInter;
  const std::string mono = kMono;
  const bool has_inter = std::filesystem::exists(inter + "Regular.otf", code);
  const bool has_mono = std::filesystem::exists(mono + "Regular.ttf", code);
  if (!has_inter || !has_mono) {
    fonts.problem = std::string("the font ") + (has_inter ? "JetBrains Mono" : "Inter") +
                    " is not installed (package " + (has_inter ? "fonts-jetbrains-mono" : "fonts-inter") +
                    "); ImGui's own is in use";
  }
  const auto face = [&](bool there, const std::string& file, Face face) {
    const float size = face_size(face);
    return there ? add_font(atlas, file, size * scale) : add_own(atlas, (size - 2) * scale);
  };
  fonts.text = face(has_inter, inter + "Regular.otf", Face::text);
  fonts.bold = face(has_inter, inter + "SemiBold.otf", Face::bold);
  fonts.small = face(has_inter, inter + "Regular.otf", Face::small);
  fonts.title = face(has_inter, inter + "SemiBold.otf", Face::title);
  fonts.mono = face(has_mono, mono + "Regular.ttf", Face::mono);
  fonts.mono_small = face(has_mono, mono + "Regular.ttf", Face::mono_small);
  atlas.Build();
  return fonts;
}

namespace {

ImVec4 vec(Colour colour) { return ImGui::ColorConvertU32ToFloat4(colour); }

void apply_colours(const Theme& t) {
  ImVec4* const colours = ImGui::GetStyle().Colors;
  const Colour clear = IM_COL32(0, 0, 0, 0);
  const auto set = [&](ImGuiCol which, Colour colour) { colours[which] = vec(colour); };
  set(ImGuiCol_Text, t.text);
  set(ImGuiCol_TextDisabled, t.dim);
  set(ImGuiCol_WindowBg, t.ground);
  set(ImGuiCol_ChildBg, t.panel);
  set(ImGuiCol_PopupBg, t.dark ? t.raised : t.panel);
  set(ImGuiCol_Border, t.line);
  set(ImGuiCol_BorderShadow, clear);
  set(ImGuiCol_FrameBg, t.raised);
  set(ImGuiCol_FrameBgHovered, t.hover);
  set(ImGuiCol_FrameBgActive, t.hover);
  set(ImGuiCol_ScrollbarBg, clear);
  set(ImGuiCol_ScrollbarGrab, mixed(t.panel, t.dim, 0.35F));
  set(ImGuiCol_ScrollbarGrabHovered, mixed(t.panel, t.dim, 0.55F));
  set(ImGuiCol_ScrollbarGrabActive, t.dim);
  set(ImGuiCol_CheckMark, t.accent);
  set(ImGuiCol_SliderGrab, t.accent);
  set(ImGuiCol_SliderGrabActive, t.accent);
  set(ImGuiCol_Button, t.raised);
  set(ImGuiCol_ButtonHovered, t.hover);
  set(ImGuiCol_ButtonActive, t.line);
  set(ImGuiCol_Header, t.selected);
  set(ImGuiCol_HeaderHovered, t.hover);
  set(ImGuiCol_HeaderActive, t.selected);
  set(ImGuiCol_Separator, t.line);
  set(ImGuiCol_SeparatorHovered, t.accent);
  set(ImGuiCol_SeparatorActive, t.accent);
  set(ImGuiCol_TableHeaderBg, t.panel);
  set(ImGuiCol_TableBorderLight, mixed(t.panel, t.line, 0.6F));
  set(ImGuiCol_TableBorderStrong, t.line);
  set(ImGuiCol_TableRowBg, clear);
  set(ImGuiCol_TableRowBgAlt, clear);
  set(ImGuiCol_TextSelectedBg, with_alpha(t.accent, 0.35F));
  set(ImGuiCol_NavHighlight, t.accent);
  set(ImGuiCol_ModalWindowDimBg, IM_COL32(0, 0, 0, 120));
}

}  // namespace

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

}  // namespace isobar
