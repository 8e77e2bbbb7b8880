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

namespace {

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
