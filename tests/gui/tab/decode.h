#pragma once
// What the page does with a frame's bytes, in C++; and a frame as ImGui would draw it.
#include <imgui.h>
#include <zlib.h>

#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "tab/bytes.h"
#include "tab/frame.h"

namespace isobar {

inline std::string inflated(std::string_view bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) throw Error("no memory", "zlib", "");
  std::string out(1U << 24U, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  if (code != Z_STREAM_END || stream.avail_in != 0) throw Error("these are no deflated bytes", "zlib", "");
  return out;
}

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) {
    Bytes all(bytes);
    for (Bytes* const stream : {&head_, &tables_, &colour_, &x_, &y_, &uv_, &index_})
      *stream = Bytes(all.words(kMost));
    require(all.at_end(), "there are not seven streams");
  }

  TabFrame frame(const TabFrame* before) {
    TabFrame out;
    out.number = part(kMost);
    const std::uint32_t base = part(kMost);
    require(base == 0 || (before != nullptr && before->number == base), "the base is not here");
    for (int* const size : {&out.width, &out.height, &out.atlas[0], &out.atlas[1]})
      *size = static_cast<int>(part(1U << 15U));
    out.cursor = static_cast<int>(part(100)) - 1;
    out.ground = part(kMost);
    const std::size_t count = part(1U << 16U);
    while (out.pieces.size() < count) {
      const std::size_t kept = part(count - out.pieces.size());
      if (kept == 0) {
        out.pieces.push_back(piece(out));
        continue;
      }
      const std::size_t first = part(kMost);
      require(base != 0 && first + kept <= before->pieces.size(), "a piece is kept that is not here");
      for (std::size_t i = 0; i < kept; ++i) out.pieces.push_back(before->pieces[first + i]);
    }
    for (const Bytes* const stream : {&head_, &tables_, &colour_, &x_, &y_, &uv_, &index_})
      require(stream->at_end(), "a stream is too long or too short");
    return out;
  }

 private:
  static constexpr std::uint64_t kMost = 0xffffffff;

  static void require(bool holds, const char* what) {
    if (!holds) throw Error(what, "a frame's bytes", "");
  }

  std::uint32_t part(std::uint64_t most) {
    const std::uint64_t value = head_.number(most);
    require(static_cast<bool>(head_), "the head ends too early");
    return static_cast<std::uint32_t>(value);
  }

  std::uint64_t value(Bytes& numbers, std::vector<std::uint64_t>& known) {
    const std::uint64_t number = numbers.number(known.size());
    if (number == known.size()) known.push_back(tables_.number(INT64_MAX));
    return known[number];
  }

  FramePiece piece(const TabFrame& frame) {
    FramePiece out;
    for (int& side : out.scissor) side = static_cast<int>(head_.signed_number(1 << 20));
    out.texture = part(kMost);
    out.vertices.resize(part(1U << 22U));
    out.indices.resize(part(1U << 23U));
    for (ImDrawVert& vertex : out.vertices) {
      vertex.pos.x = static_cast<float>(at_x_ += x_.signed_number(INT64_MAX / 4)) / kParts;
      vertex.pos.y = static_cast<float>(at_y_ += y_.signed_number(INT64_MAX / 4)) / kParts;
      const std::uint64_t uv = value(uv_, uvs_);
      vertex.uv.x = static_cast<float>(uv >> 32U) / static_cast<float>(kTexels * frame.atlas[0]);
      vertex.uv.y = static_cast<float>(uv & 0xffffffffU) / static_cast<float>(kTexels * frame.atlas[1]);
      vertex.col = static_cast<ImU32>(value(colour_, colours_));
    }
    std::int64_t index = 0;
    for (std::uint32_t& one : out.indices) {
      index += index_.signed_number(1 << 23);
      require(index >= 0 && index < static_cast<std::int64_t>(out.vertices.size()), "an index has no vertex");
      one = static_cast<std::uint32_t>(index);
    }
    return out;
  }

  Bytes head_{""}, tables_{""}, colour_{""}, x_{""}, y_{""}, uv_{""}, index_{""};
  std::vector<std::uint64_t> uvs_, colours_;
  std::int64_t at_x_ = 0, at_y_ = 0;
};

/// Of a message "1", deflated bytes.
inline TabFrame decode_message(std::string_view message, const TabFrame* before) {
  if (message.empty() || message.front() != 1) throw Error("this is no frame", "a message", "");
  return Decoder(inflated(message.substr(1))).frame(before);
}

/// A frame in ImGui's form; `ids` are the textures by their numbers.
class DrawnFrame {
 public:
  DrawnFrame(const TabFrame& frame, const std::map<std::uint32_t, ImTextureID>& ids)
      : list_(ImGui::GetDrawListSharedData()) {
    for (const FramePiece& piece : frame.pieces) {
      ImDrawCmd command;
      command.ClipRect = {static_cast<float>(piece.scissor[0]), static_cast<float>(piece.scissor[1]),
                          static_cast<float>(piece.scissor[0] + piece.scissor[2]),
                          static_cast<float>(piece.scissor[1] + piece.scissor[3])};
      command.TextureId = ids.at(piece.texture);
      command.VtxOffset = static_cast<unsigned>(list_.VtxBuffer.Size);
      command.IdxOffset = static_cast<unsigned>(list_.IdxBuffer.Size);
      command.ElemCount = static_cast<unsigned>(piece.indices.size());
      for (const ImDrawVert& vertex : piece.vertices) list_.VtxBuffer.push_back(vertex);
      for (const std::uint32_t index : piece.indices)
        list_.IdxBuffer.push_back(static_cast<ImDrawIdx>(index));
      list_.CmdBuffer.push_back(command);
    }
    data_.Valid = true;
    data_.CmdListsCount = 1;
#if IMGUI_VERSION_NUM >= 18980
    data_.CmdLists.push_back(&list_);
#else
    data_.CmdLists = &lists_;
#endif
    data_.DisplaySize = {static_cast<float>(frame.width), static_cast<float>(frame.height)};
    data_.FramebufferScale = {1, 1};
  }
  DrawnFrame(const DrawnFrame&) = delete;
  DrawnFrame& operator=(const DrawnFrame&) = delete;

  const ImDrawData& data() const { return data_; }

 private:
  ImDrawList list_;
  ImDrawList* lists_ = &list_;
  ImDrawData data_;
};

}  // namespace isobar
