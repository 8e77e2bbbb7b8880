#include "tab/frame.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <unordered_map>

#include "core/error.h"
#include "tab/bytes.h"

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

/// Values of one kind stand together: they look alike, so that they become small.
enum Stream : std::uint8_t { kHead, kTables, kColours, kX, kY, kUv, kIndices, kStreams };

constexpr double kMostParts = 1U << 31U;  // in parts of a pixel: what is farther is not seen anyway

std::int64_t rounded(double value) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int64_t>(std::floor(std::clamp(value, -kMostParts, kMostParts) + 0.5));
}

/// A value that comes again is a number; what it stands for is in the tables, once.
class Table {
 public:
  void put(std::uint64_t value, std::string& numbers, std::string& tables) {
    const auto [at, is_new] = numbers_.try_emplace(value, numbers_.size());
    put_number(numbers, at->second);
    if (is_new) put_number(tables, value);
  }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
};

class Encoder {
 public:
  explicit Encoder(const TabFrame& frame) : frame_(frame) {}

  std::string encode(const TabFrame* base) {
    const std::vector<std::size_t> kept = kept_from(base);
    if (base != nullptr && is_same(*base, kept)) return {};
    put_head(base);
    for (std::size_t i = 0; i < kept.size();) {
      if (kept[i] == kNew) {
        put_piece(frame_.pieces[i++]);
        continue;
      }
      const std::size_t first = i;
      while (i < kept.size() && kept[i] == kept[first] + (i - first)) ++i;
      put_number(streams_[kHead], i - first);
      put_number(streams_[kHead], kept[first]);
    }
    std::string out;
    for (const std::string& stream : streams_) put_words(out, stream);
    return out;
  }

 private:
  static constexpr std::size_t kNew = static_cast<std::size_t>(-1);

  /// The place of each piece in the base, kNew where that has none like it.
  std::vector<std::size_t> kept_from(const TabFrame* base) const {
    std::vector<std::size_t> out(frame_.pieces.size(), kNew);
    if (base == nullptr || base->atlas != frame_.atlas) return out;
    std::unordered_multimap<std::uint64_t, std::size_t> known;
    for (std::size_t i = 0; i < base->pieces.size(); ++i) known.emplace(base->pieces[i].hash, i);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto [begin, end] = known.equal_range(frame_.pieces[i].hash);
      const auto at =
          std::find_if(begin, end, [&](auto& one) { return base->pieces[one.second] == frame_.pieces[i]; });
      if (at != end) out[i] = at->second;
    }
    return out;
  }

  bool is_same(const TabFrame& base, const std::vector<std::size_t>& kept) const {
    if (base.width != frame_.width || base.height != frame_.height || base.ground != frame_.ground ||
        base.cursor != frame_.cursor || base.pieces.size() != kept.size())
      return false;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] != i && (kept[i] == kNew || !(base.pieces[i] == frame_.pieces[i]))) return false;
    }
    return true;
  }

  void put_head(const TabFrame* base) {
    std::string& head = streams_[kHead];
    put_number(head, frame_.number);
    put_number(head, base == nullptr ? 0 : base->number);
    for (const int size : {frame_.width, frame_.height, frame_.atlas[0], frame_.atlas[1], frame_.cursor + 1})
      put_number(head, static_cast<std::uint64_t>(size));
    put_number(head, frame_.ground);
    put_number(head, frame_.pieces.size());
  }

  void put_piece(const FramePiece& piece) {
    std::string& head = streams_[kHead];
    put_number(head, 0);  // none is kept here
    for (const int part : piece.scissor) put_signed(head, part);
    put_number(head, piece.texture);
    put_number(head, piece.vertices.size());
    put_number(head, piece.indices.size());
    for (const ImDrawVert& vertex : piece.vertices) {
      put_step(kX, rounded(static_cast<double>(vertex.pos.x) * kParts), x_);
      put_step(kY, rounded(static_cast<double>(vertex.pos.y) * kParts), y_);
      uvs_.put(texel(vertex.uv.x, frame_.atlas[0]) << 32U | texel(vertex.uv.y, frame_.atlas[1]),
               streams_[kUv], streams_[kTables]);
      colours_.put(vertex.col, streams_[kColours], streams_[kTables]);
    }
    std::int64_t last = 0;
    for (const std::uint32_t index : piece.indices) put_step(kIndices, index, last);
  }

  void put_step(Stream stream, std::int64_t value, std::int64_t& last) {
    put_signed(streams_[stream], value - last);
    last = value;
  }

  /// Places in a texture as in one of the atlas's size. A pair of them is a whole number in JavaScript too.
  static std::uint64_t texel(float uv, int size) {
    return static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(rounded(static_cast<double>(uv) * size * kTexels), 0, 0xfffff));
  }

  const TabFrame& frame_;
  std::array<std::string, kStreams> streams_;
  Table colours_, uvs_;
  std::int64_t x_ = 0, y_ = 0;
};

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

std::string encode_frame(const TabFrame& frame, const TabFrame* base) { return Encoder(frame).encode(base); }

std::string deflated(std::string_view bytes, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("no memory to compress a frame", "zlib", "", Exit::failed);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) throw Error("a frame could not be compressed", "zlib", "", Exit::failed);
  return out;
}

}  // namespace isobar
