#include "core/utf8.h"

#include <algorithm>

namespace isobar {

void append_utf8(std::string& out, std::uint32_t code_point) {
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point == 0 || surrogate || code_point > 0x10ffff) code_point = 0xfffd;
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | ((code_point >> shift) & 0x3f)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xc0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xe0 | (code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  // The second byte is bounded more closely after some first bytes: no detours, no surrogates, nothing above
  // U+10FFFF.
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t at = 2; at < length; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
  }
  return length;
}

std::uint32_t code_point(std::string_view text, std::size_t length) {
  constexpr std::uint32_t kMasks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t out = static_cast<unsigned char>(text[0]) & kMasks[length];
  for (std::size_t at = 1; at < length; ++at) out = out << 6 | (static_cast<unsigned char>(text[at]) & 0x3f);
  return out;
}

bool steers(std::uint32_t c) {
  const auto within = [c](std::uint32_t first, std::uint32_t last) { return c >= first && c <= last; };
  return c < 0x20 || within(0x7f, 0x9f) || c == 0x61c || within(0x200b, 0x200f) || within(0x2028, 0x202e) ||
         within(0x2060, 0x206f) || c == 0xfeff;
}

std::string clean_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = text.front() == '\0' ? 0 : utf8_length(text);
    if (length == 0) {
      append_utf8(out, 0xfffd);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace isobar
