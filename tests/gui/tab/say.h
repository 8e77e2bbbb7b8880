#pragma once
// What a tab says, as the page writes it.
#include <cmath>
#include <string>

#include "tab/bytes.h"
#include "tab/messages.h"

namespace isobar {

inline std::string said_bytes(const TabMessage& m) {
  std::string out(1, static_cast<char>(m.says));
  const auto number = [&](auto value) { put_number(out, static_cast<std::uint64_t>(value)); };
  const auto held = [&] { number((m.shift ? 1 : 0) + (m.control ? 2 : 0) + (m.alt ? 4 : 0)); };
  const auto size = [&] { number(m.width), number(m.height), number(m.scale * 256); };
  const auto place = [&] { put_signed(out, std::lround(m.x * 16)), put_signed(out, std::lround(m.y * 16)); };
  switch (m.says) {
    case TabSays::hello:
      number(m.version), size();
      break;
    case TabSays::size:
      size();
      break;
    case TabSays::shown:
      number(m.down);
      break;
    case TabSays::drawn:
      number(m.frame);
      break;
    case TabSays::move:
      place();
      break;
    case TabSays::button:
      number(m.code), number(m.down), held(), place();
      break;
    case TabSays::wheel:
      held();
      put_signed(out, std::lround(m.wheel_x * 100)), put_signed(out, std::lround(m.wheel_y * 100)), place();
      break;
    case TabSays::key:
      number(m.code), number(m.down), held();
      break;
    case TabSays::text:
    case TabSays::paste:
      put_words(out, m.words);
      break;
    default:
      break;
  }
  return out;
}

}  // namespace isobar
