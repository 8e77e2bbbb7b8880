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

/// The text with every NUL and every byte that is no part of a character replaced by U+FFFD.
std::string clean_utf8(std::string_view text);

}  // namespace isobar
