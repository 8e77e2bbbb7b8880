#pragma once
// Bytes of unknown origin as UTF-8.
#include <cstdint>
#include <string>
#include <string_view>

namespace isobar {

/// Adds one code point; what is none (a surrogate, 0, above U+10FFFF) is added as U+FFFD.
void append_utf8(std::string& out, std::uint32_t code_point);

/// Bytes of the character that begins `text`; 0 when it is empty or begins with something else.
std::size_t utf8_length(std::string_view text);

/// The code point of the first `length` bytes, which are a character.
std::uint32_t code_point(std::string_view text, std::size_t length);

/// Whether a character steers where text goes instead of showing: control characters (C0, DEL, C1, as escapes
/// of a terminal), marks of direction, zero widths, breaks of lines and paragraphs (Unicode 15, 23.2
/// and 23.3).
bool steers(std::uint32_t code_point);

/// The text with every NUL and every byte that is no part of a character replaced by U+FFFD.
std::string clean_utf8(std::string_view text);

}  // namespace isobar
