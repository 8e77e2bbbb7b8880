#pragma once
// A frame taken out of ImGui, in pieces that are compared with those of an earlier frame; and as bytes: what
// changed since another that the tab still has. docs/tab_protocol.md names every byte.
#include <imgui.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace isobar {

constexpr int kParts =
    256;  ///< parts of a pixel: places are rounded to these, as graphics cards do themselves

/// Triangles with one clip rectangle and one texture. The vertices are its own, numbered from 0, so that a
/// piece is the same wherever it stands in a list of ImGui's.
struct FramePiece {
  std::array<int, 4> scissor{};  ///< x, y from above, width, height in pixels, as the window's backend cuts
  std::uint32_t texture = 0;     ///< 0 = font atlas, else as TabTextures numbers it
  std::vector<ImDrawVert> vertices;  ///< at whole parts of a pixel
  std::vector<std::uint32_t> indices;
  std::uint64_t hash = 0;

  bool operator==(const FramePiece& other) const;
};

struct TabFrame {
  std::uint32_t number = 0;
  int width = 0;
  int height = 0;
  std::uint32_t ground = 0;    ///< colour below everything
  int cursor = 0;              ///< ImGuiMouseCursor
  std::array<int, 2> atlas{};  ///< width and height of the font atlas: uv are sent in its pixels
  std::vector<FramePiece> pieces;
};

/// What ImGui::Render left. `atlas` is the font atlas's texture, `number_of` that of any other; a command
/// whose texture has none is left out, as are ImGui's callbacks, of which we use none.
TabFrame take_frame(const ImDrawData& drawn, ImTextureID atlas, std::uint32_t (*number_of)(ImTextureID));

constexpr int kTexels = 16;  ///< parts of a texel

/// `base` null: all of it. Empty where nothing at all changed, so that nothing is sent.
std::string encode_frame(const TabFrame& frame, const TabFrame* base);

/// Raw deflate, as a browser's DecompressionStream("deflate-raw") takes it apart. Level 1 is the quickest.
std::string deflated(std::string_view bytes, int level);

}  // namespace isobar
