#include "tab/encode.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "core/error.h"
#include "tab/bytes.h"

namespace isobar {
namespace {

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

  /// Of each piece its place in the base, kNew where that has none like it.
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
