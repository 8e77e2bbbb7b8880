// Frames as bytes: what a page makes of them is what was drawn.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "gui/headless.h"
#include "gui/tab/decode.h"
#include "gui/tab/made_frames.h"
#include "support/catch.h"

using namespace isobar;

namespace {

/// Whether `b` is what encoding leaves of `a`.
bool near_pieces(const FramePiece& a, const FramePiece& b, const std::array<int, 2>& atlas) {
  const auto near = [](float exact, float got, float parts) {
    return std::floor(static_cast<double>(exact) * parts + 0.5) ==
           std::floor(static_cast<double>(got) * parts + 0.5);
  };
  return a.scissor == b.scissor && a.texture == b.texture && a.indices == b.indices &&
         std::equal(a.vertices.begin(), a.vertices.end(), b.vertices.begin(), b.vertices.end(),
                    [&](const ImDrawVert& one, const ImDrawVert& other) {
                      return one.col == other.col && near(one.pos.x, other.pos.x, kParts) &&
                             near(one.pos.y, other.pos.y, kParts) &&
                             near(one.uv.x, other.uv.x, static_cast<float>(kTexels * atlas[0])) &&
                             near(one.uv.y, other.uv.y, static_cast<float>(kTexels * atlas[1]));
                    });
}

void check_near(const TabFrame& a, const TabFrame& b) {
  REQUIRE(a.number == b.number);
  REQUIRE(std::tie(a.width, a.height, a.ground, a.cursor, a.atlas) ==
          std::tie(b.width, b.height, b.ground, b.cursor, b.atlas));
  REQUIRE(std::equal(
      a.pieces.begin(), a.pieces.end(), b.pieces.begin(), b.pieces.end(),
      [&](const FramePiece& one, const FramePiece& other) { return near_pieces(one, other, a.atlas); }));
}

/// The same bits.
bool same_vertices(const TabFrame& a, const TabFrame& b) {
  return std::equal(a.pieces.begin(), a.pieces.end(), b.pieces.begin(), b.pieces.end(),
                    [](auto& one, auto& other) {
                      return one.vertices.size() == other.vertices.size() &&
                             std::memcmp(one.vertices.data(), other.vertices.data(),
                                         one.vertices.size() * sizeof(ImDrawVert)) == 0;
                    });
}

TabFrame one_vertex(ImVec2 at) {
  TabFrame frame = MadeFrames(1).first(0);
  frame.pieces = {{.scissor = {0, 0, 9, 9}, .vertices = {{at, {0.5F, 0.5F}, 1}}, .indices = {0, 0, 0}}};
  return frame;
}

ImVec2 sent(ImVec2 at) {
  return Decoder(encode_frame(one_vertex(at), nullptr)).frame(nullptr).pieces[0].vertices[0].pos;
}

}  // namespace

TEST_CASE("Numbers in few bytes are read as they were written, and what is no number is refused") {
  for (const std::uint64_t value : {0ULL, 1ULL, 127ULL, 128ULL, 300ULL, 1ULL << 32U, (1ULL << 63U) - 1}) {
    std::string bytes;
    put_number(bytes, value);
    Bytes in(bytes);
    CHECK(in.number(INT64_MAX) == value);
    CHECK(in.at_end());
    Bytes cut(std::string_view(bytes).substr(0, bytes.size() - 1));
    CHECK(cut.number(INT64_MAX) == 0);
    CHECK_FALSE(cut);
    if (value == 0) continue;
    Bytes small(bytes);
    CHECK(small.number(value - 1) == 0);
    CHECK_FALSE(small.at_end());
  }
  for (const std::int64_t value : {0LL, -1LL, 1LL, -64LL, 64LL, -(1LL << 40U)}) {
    std::string bytes;
    put_signed(bytes, value);
    Bytes in(bytes);
    CHECK(in.signed_number(1LL << 40U) == value);
    CHECK(in.at_end());
  }
  using namespace std::string_literals;
  for (const std::string& wrong : {""s, "\x80"s, "\x80\x00"s, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s}) {
    Bytes in(wrong);
    CHECK(in.number(INT64_MAX) == 0);
    CHECK_FALSE(in);
    in.words(10);
    CHECK_FALSE(in);
  }
  Bytes words("\x05too");
  CHECK(words.words(10).empty());
  CHECK_FALSE(words);
}

TEST_CASE("What is decoded is what was encoded, to 1/256 of a pixel and 1/16 of a texel") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    MadeFrames made(seed);
    const TabFrame frame = made.first(static_cast<std::size_t>(made.upto(30)));
    check_near(frame, Decoder(encode_frame(frame, nullptr)).frame(nullptr));
  }
}

TEST_CASE("What changed upon what changed is the whole, and nothing is sent of what did not") {
  for (unsigned seed = 0; seed < 10; ++seed) {
    MadeFrames made(seed);
    TabFrame drawn = made.first(20);
    TabFrame page = Decoder(encode_frame(drawn, nullptr)).frame(nullptr);
    std::size_t sent_bytes = 0, whole_bytes = 0;
    for (int i = 0; i < 40; ++i) {
      const TabFrame next = made.next(drawn);
      const std::string bytes = encode_frame(next, &drawn);
      const std::string whole = encode_frame(next, nullptr);
      if (bytes.empty()) {
        check_near(Decoder(whole).frame(nullptr), [&] {
          TabFrame same = page;
          same.number = next.number;
          return same;
        }());
        continue;
      }
      page = Decoder(bytes).frame(&page);
      check_near(next, page);
      CHECK(same_vertices(page, Decoder(whole).frame(nullptr)));
      sent_bytes += bytes.size();
      whole_bytes += whole.size();
      drawn = next;
    }
    CHECK(sent_bytes < whole_bytes / 3);
  }
}

TEST_CASE("A frame like the one before is no bytes; each thing that is not like it is some") {
  MadeFrames made(3);
  const TabFrame before = made.first(5);
  TabFrame frame = before;
  frame.number = 2;
  CHECK(encode_frame(frame, &before).empty());
  const auto differs = [&](auto change) {
    TabFrame other = frame;
    change(other);
    return !encode_frame(other, &before).empty();
  };
  CHECK(differs([](TabFrame& f) { f.width = 1441; }));
  CHECK(differs([](TabFrame& f) { f.height = 901; }));
  CHECK(differs([](TabFrame& f) { f.ground = 1; }));
  CHECK(differs([](TabFrame& f) { f.cursor = 2; }));
  CHECK(differs([](TabFrame& f) { f.atlas[1] = 2048; }));
  CHECK(differs([](TabFrame& f) { f.pieces.pop_back(); }));
  CHECK(differs([](TabFrame& f) { std::swap(f.pieces[0], f.pieces[1]); }));
  CHECK(differs([](TabFrame& f) { f.pieces[2].hash ^= 1U; }));
}

TEST_CASE("Two pieces of one hash are told apart") {
  MadeFrames made(4);
  TabFrame before = made.first(3);
  TabFrame frame = before;
  frame.number = 2;
  frame.pieces[1].vertices[0].pos.x += 5;
  const TabFrame page = Decoder(encode_frame(before, nullptr)).frame(nullptr);
  check_near(frame, Decoder(encode_frame(frame, &before)).frame(&page));
}

TEST_CASE("Places far outside, and such as are none, do no harm") {
  const float far = std::numeric_limits<float>::max(), none = std::numeric_limits<float>::quiet_NaN();
  CHECK(sent({far, -far}).x == 8388608);
  CHECK(sent({far, -far}).y == -8388608);
  CHECK(sent({none, 1}).x == 0);
  CHECK(sent({none, 1}).y == 1);
}

TEST_CASE("Damaged bytes of a frame are refused by whoever decodes them") {
  MadeFrames made(5);
  const TabFrame frame = made.first(4);
  const std::string bytes = encode_frame(frame, nullptr);
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    CHECK_THROWS_AS(Decoder(std::string_view(bytes).substr(0, size)).frame(nullptr), Error);
  CHECK_THROWS_AS(Decoder(encode_frame(made.next(frame), &frame)).frame(nullptr), Error);
  const std::string packed = deflated(bytes, 1);
  CHECK(inflated(packed) == bytes);
  CHECK_THROWS_AS(inflated(packed.substr(0, packed.size() / 2)), Error);
}

TEST_CASE("A frame is taken out of ImGui in pieces, wherever they stand in its lists") {
  const HeadlessContext context(400, 300);
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Build();
  int ours = 0, unknown = 0;
  atlas.SetTexID(&atlas);
  static void* picture = nullptr;
  picture = &ours;
  const auto taken = [&](bool more, float off = 0) {
    ImGui::NewFrame();
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    if (more) list.AddCircleFilled({50, 50}, 20, IM_COL32_WHITE);
    list.PushClipRect({10.5F, 20.2F}, {100.9F, 60.4F});
    list.AddRectFilled({off, 0}, {400, 300}, IM_COL32(1, 2, 3, 255));
    list.PopClipRect();
    list.PushClipRect({50, 50}, {50, 90});  // nothing is to be seen in it
    list.AddRectFilled({0, 0}, {400, 300}, IM_COL32_WHITE);
    list.PopClipRect();
    list.AddCallback([](const ImDrawList*, const ImDrawCmd*) {}, nullptr);
    list.AddImage(&ours, {0, 0}, {10, 10});
    list.AddImage(&unknown, {0, 0}, {10, 10});
    ImGui::Render();
    return take_frame(*ImGui::GetDrawData(), &atlas,
                      [](ImTextureID id) { return static_cast<std::uint32_t>(id == picture ? 7 : 0); });
  };
  const TabFrame frame = taken(false), other = taken(true);
  CHECK(frame.width == 400);
  CHECK(frame.height == 300);
  REQUIRE(frame.pieces.size() == 2);
  CHECK(frame.pieces[0].scissor == std::array<int, 4>{10, 21, 90, 40});  // rounded as OpenGL's, from below
  CHECK(frame.pieces[0].vertices.size() == 4);
  CHECK(frame.pieces[0].indices == std::vector<std::uint32_t>{0, 1, 2, 0, 2, 3});
  CHECK(frame.pieces[1].texture == 7);
  REQUIRE(other.pieces.size() == 3);
  CHECK(other.pieces[1] == frame.pieces[0]);
  CHECK(other.pieces[2] == frame.pieces[1]);
  CHECK_FALSE(other.pieces[0] == frame.pieces[0]);
  // Less than is sent of a place is no change.
  CHECK(taken(false, 0.001F).pieces == frame.pieces);
  CHECK_FALSE(taken(false, 0.01F).pieces == frame.pieces);
}
