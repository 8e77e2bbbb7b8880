#include "tab/frame.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace isobar {
namespace {

/// Mixes eight bytes at a time; equal hashes are compared byte by byte before they count.
std::uint64_t mixed_in(std::uint64_t hash, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0x9fb21c651e98df25U;
    hash ^= hash >> 32U;
  }
  for (; size > 0; --size, ++bytes) hash = (hash ^ *bytes) * 0x100000001b3U;
  return hash;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// As ImGui's OpenGL backend: the rectangle in whole pixels, or nothing to see (width 0).
std::array<int, 4> scissor_of(const ImVec4& clip, const ImDrawData& drawn) {
  const ImVec2 scale = drawn.FramebufferScale;
  const float x0 = (clip.x - drawn.DisplayPos.x) * scale.x;
  const float y0 = (clip.y - drawn.DisplayPos.y) * scale.y;
  const float x1 = (clip.z - drawn.DisplayPos.x) * scale.x;
  const float y1 = (clip.w - drawn.DisplayPos.y) * scale.y;
  const auto height = static_cast<int>(drawn.DisplaySize.y * scale.y);
  if (x1 <= x0 || y1 <= y0) return {};
  const int below = static_cast<int>(static_cast<float>(height) - y1);  // OpenGL counts from below
  const int tall = static_cast<int>(y1 - y0);
  return {static_cast<int>(x0), height - below - tall, static_cast<int>(x1 - x0), tall};
}

/// What glides to its place by ever less comes to rest.
float in_parts(float place) { return std::floor(place * kParts + 0.5F) / kParts; }

/// The vertices of one command alone, in ImGui's order: the others of the list are left out.
void take_triangles(const ImDrawList& list, const ImDrawCmd& command, FramePiece& piece) {
  const std::span indices(list.IdxBuffer.Data + command.IdxOffset, command.ElemCount);
  const auto [least, most] = std::minmax_element(indices.begin(), indices.end());
  const std::uint32_t first = *least;
  std::vector<std::uint32_t> place(*most - first + 1U, 0);
  for (const ImDrawIdx index : indices) place[index - first] = 1;
  const ImDrawVert* const vertices = list.VtxBuffer.Data + command.VtxOffset + first;
  std::uint32_t count = 0;
  piece.vertices.reserve(place.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] == 0) continue;
    piece.vertices.push_back(
        {{in_parts(vertices[i].pos.x), in_parts(vertices[i].pos.y)}, vertices[i].uv, vertices[i].col});
    place[i] = count++;
  }
  piece.indices.reserve(indices.size());
  for (const ImDrawIdx index : indices) piece.indices.push_back(place[index - first]);
}

}  // namespace

bool FramePiece::operator==(const FramePiece& other) const {
  return hash == other.hash && scissor == other.scissor && texture == other.texture &&
         same_bytes(indices, other.indices) && same_bytes(vertices, other.vertices);
}

TabFrame take_frame(const ImDrawData& drawn, ImTextureID atlas, std::uint32_t (*number_of)(ImTextureID)) {
  TabFrame frame;
  frame.width = static_cast<int>(drawn.DisplaySize.x * drawn.FramebufferScale.x);
  frame.height = static_cast<int>(drawn.DisplaySize.y * drawn.FramebufferScale.y);
  for (int i = 0; i < drawn.CmdListsCount; ++i) {
    const ImDrawList* const list = drawn.CmdLists[i];
    for (const ImDrawCmd& command : list->CmdBuffer) {
      if (command.UserCallback != nullptr || command.ElemCount == 0) continue;
      FramePiece piece;
      piece.scissor = scissor_of(command.ClipRect, drawn);
      if (piece.scissor[2] <= 0 || piece.scissor[3] <= 0) continue;
      if (command.GetTexID() != atlas) {
        piece.texture = number_of(command.GetTexID());
        if (piece.texture == 0) continue;
      }
      take_triangles(*list, command, piece);
      piece.hash = mixed_in(piece.texture, piece.scissor.data(), sizeof piece.scissor);
      piece.hash = mixed_in(piece.hash, piece.indices.data(), piece.indices.size() * sizeof(std::uint32_t));
      piece.hash = mixed_in(piece.hash, piece.vertices.data(), piece.vertices.size() * sizeof(ImDrawVert));
      frame.pieces.push_back(std::move(piece));
    }
  }
  return frame;
}

}  // namespace isobar
