#include "plot/theme.h"

#include <imgui_freetype.h>

#include <cmath>
#include <filesystem>

#include "core/stage.h"
#include "plot/colour.h"

namespace isobar {
namespace {

constexpr const char* kInter = "/usr/share/fonts/opentype/inter/Inter-";
constexpr const char* kMono = "/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-";

// The hues of Okabe and Ito (https://jfly.uni-koeln.de/color/), which colour-blind people can tell apart too.
constexpr std::array<std::uint32_t, 8> kHues = {0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7,
                                                0xd55e00, 0xf0e442, 0x0072b2, 0x8c8f96};
constexpr std::array<std::uint32_t, 8> kStageHues = {0xe69f00, 0xf0e442, 0x56b4e9, 0x0072b2,
                                                     0xd55e00, 0x009e73, 0xcc79a7, 0x8c8f96};

Theme make_theme(bool dark) {
  Theme t;
  t.dark = dark;
  t.ground = rgb(dark ? 0x16181d : 0xf3f4f6);
  t.panel = rgb(dark ? 0x1e2127 : 0xffffff);
  t.raised = rgb(dark ? 0x292d35 : 0xeceef1);
  t.line = rgb(dark ? 0x343942 : 0xd9dde3);
  t.text = rgb(dark ? 0xe6e8eb : 0x1b1e23);
  t.dim = rgb(dark ? 0x9aa1ab : 0x5b6470);
  t.accent = rgb(0x3b82f6);
  t.on_accent = rgb(0xffffff);
  t.hover = rgb(dark ? 0x2f343d : 0xe4e7eb);
  t.selected = mixed(t.panel, t.accent, dark ? 0.28F : 0.16F);
  t.good = readable(rgb(0x2fa36b), t.panel, 4.5);
  t.bad = readable(rgb(0xe5484d), t.panel, 4.5);
  t.warn = readable(rgb(0xd9961a), t.panel, 4.5);
  for (std::size_t i = 0; i < kHues.size(); ++i) t.series[i] = readable(rgb(kHues[i]), t.panel, 3.2);
  for (std::size_t i = 0; i < kStageHues.size(); ++i)
    t.stages[i] = readable(rgb(kStageHues[i]), t.panel, 3.0);
  const auto ink = [&](std::uint32_t hex) { return readable(rgb(hex), t.panel, 4.5); };
  t.code = {ink(0xb583e0),
            ink(0x4fb6c2),
            ink(0xd58a3a),
            ink(0x6aa84f),
            t.dim,
            ink(0xc678b4),
            ink(0x5b9bf0),
            mixed(t.panel, t.good, dark ? 0.22F : 0.14F),
            mixed(t.panel, t.bad, dark ? 0.24F : 0.12F)};
  return t;
}

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

const Theme& theme_of(bool dark) {
  static const Theme light_theme = make_theme(false);
  static const Theme dark_theme = make_theme(true);
  return dark ? dark_theme : light_theme;
}

ImU32 stage_colour(const Theme& theme, std::string_view stage) {
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (stage == kStageNames[i]) return theme.stages[i];
  }
  return theme.stages.back();
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
  const auto face = [&](bool there, const std::string& file, float size) {
    return there ? add_font(atlas, file, size * scale) : add_own(atlas, (size - 2) * scale);
  };
  fonts.text = face(has_inter, inter + "Regular.otf", 15);
  fonts.bold = face(has_inter, inter + "SemiBold.otf", 15);
  fonts.small = face(has_inter, inter + "Regular.otf", 13);
  fonts.title = face(has_inter, inter + "SemiBold.otf", 20);
  fonts.mono = face(has_mono, mono + "Regular.ttf", 14);
  fonts.mono_small = face(has_mono, mono + "Regular.ttf", 12.5F);
  atlas.Build();
  return fonts;
}

namespace {

ImVec4 vec(ImU32 colour) { return ImGui::ColorConvertU32ToFloat4(colour); }

void apply_colours(const Theme& t) {
  ImVec4* const colours = ImGui::GetStyle().Colors;
  const ImU32 clear = IM_COL32(0, 0, 0, 0);
  const auto set = [&](ImGuiCol which, ImU32 colour) { colours[which] = vec(colour); };
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
