#include "tab/messages.h"

#include "core/utf8.h"
#include "tab/bytes.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostPixels = 16384;
constexpr std::int64_t kFarthest = 16 * 65536;  // in sixteenths of a pixel, outside of the frame too
constexpr std::uint64_t kLastKey = 348;         // GLFW's
constexpr std::int64_t kMostNotches = 100 * 100;

float sixteenths(Bytes& bytes) { return static_cast<float>(bytes.signed_number(kFarthest)) / 16; }

float notches(Bytes& bytes) { return static_cast<float>(bytes.signed_number(kMostNotches)) / 100; }

void take_held(Bytes& bytes, TabMessage& out) {
  const std::uint64_t held = bytes.number(7);
  out.shift = (held & 1U) != 0;
  out.control = (held & 2U) != 0;
  out.alt = (held & 4U) != 0;
}

void take_place(Bytes& bytes, TabMessage& out) {
  out.x = sixteenths(bytes);
  out.y = sixteenths(bytes);
}

void take_size(Bytes& bytes, TabMessage& out) {
  out.width = static_cast<int>(bytes.number(kMostPixels));
  out.height = static_cast<int>(bytes.number(kMostPixels));
  out.scale = static_cast<float>(bytes.number(8 * 256)) / 256;
}

void take_button(Bytes& bytes, TabMessage& out, std::uint64_t last) {
  out.code = static_cast<int>(bytes.number(last));
  out.down = bytes.number(1) != 0;
  take_held(bytes, out);
}

void take_words(Bytes& bytes, TabMessage& out, std::uint64_t most) {
  out.words = std::string(bytes.words(most));
  if (clean_utf8(out.words) != out.words) bytes.fail();
}

void take(Bytes& bytes, TabMessage& out) {
  switch (out.says) {
    case TabSays::hello:
      out.version = static_cast<int>(bytes.number(1000));
      return take_size(bytes, out);
    case TabSays::size:
      return take_size(bytes, out);
    case TabSays::shown:
      out.down = bytes.number(1) != 0;
      return;
    case TabSays::drawn:
      out.frame = static_cast<std::uint32_t>(bytes.number(0xffffffff));
      return;
    case TabSays::move:
      return take_place(bytes, out);
    case TabSays::button:
      take_button(bytes, out, 4);
      return take_place(bytes, out);
    case TabSays::wheel:
      take_held(bytes, out);
      out.wheel_x = notches(bytes);
      out.wheel_y = notches(bytes);
      return take_place(bytes, out);
    case TabSays::key:
      return take_button(bytes, out, kLastKey);
    case TabSays::text:
      return take_words(bytes, out, 16 * 1024);
    case TabSays::paste:
      return take_words(bytes, out, kMostMessageBytes);
    case TabSays::leave:
    case TabSays::blur:
    case TabSays::alive:
    case TabSays::again:
      return;
  }
  bytes.fail();
}

}  // namespace

std::optional<TabMessage> read_message(std::string_view whole) {
  if (whole.empty() || whole.size() > kMostMessageBytes) return {};
  TabMessage out;
  out.says = static_cast<TabSays>(whole.front());
  Bytes bytes(whole.substr(1));
  take(bytes, out);
  if (!bytes.at_end()) return {};
  return out;
}

}  // namespace isobar
