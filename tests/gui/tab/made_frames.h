#pragma once
// Frames without ImGui, made of numbers.
#include <memory>
#include <random>

#include "tab/frame.h"

namespace isobar {

class MadeFrames {
 public:
  explicit MadeFrames(unsigned seed) : random_(seed) {}

  int upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }

  FramePiece piece() {
    FramePiece out;
    out.scissor = {upto(100), upto(100), 1 + upto(1000), 1 + upto(800)};
    out.texture = static_cast<std::uint32_t>(upto(3));
    out.vertices.resize(static_cast<std::size_t>(3 + upto(40)));
    std::uniform_real_distribution<float> place(-50, 2000), texel(0, 1);
    for (ImDrawVert& vertex : out.vertices)
      vertex = {
          {place(random_), place(random_)}, {texel(random_), texel(random_)}, static_cast<ImU32>(random_())};
    for (int i = 3 * (1 + upto(20)); i > 0; --i)
      out.indices.push_back(static_cast<std::uint32_t>(upto(static_cast<int>(out.vertices.size()) - 1)));
    out.hash = random_();
    return out;
  }

  TabFrame first(std::size_t pieces) {
    TabFrame out;
    out.number = 1;
    out.width = 1440;
    out.height = 900;
    out.ground = 0xff112233;
    out.atlas = {512, 1024};
    while (out.pieces.size() < pieces) out.pieces.push_back(piece());
    return out;
  }

  /// One that follows: pieces came, went, moved in the order and changed.
  TabFrame next(TabFrame frame) {
    ++frame.number;
    for (int changes = upto(4); changes > 0; --changes) {
      const auto at = frame.pieces.begin() + upto(static_cast<int>(frame.pieces.size()) - 1);
      switch (upto(5)) {
        case 0:
          frame.pieces.insert(at, piece());
          break;
        case 1:
          if (frame.pieces.size() > 1) frame.pieces.erase(at);
          break;
        case 2:
          std::swap(*at, frame.pieces.front());
          break;
        case 3:
          *at = piece();
          break;
        case 4:
          frame.pieces.push_back(FramePiece(*at));
          break;
        default:
          frame.ground ^= 1U;
          frame.cursor = upto(8) - 1;
      }
    }
    return frame;
  }

 private:
  std::mt19937 random_;
};

}  // namespace isobar
