#pragma once
#include <charconv>
#include <optional>
#include <string_view>

namespace isobar {

/// The number that all of a text is; nothing for any other text, or a number that does not fit.
template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number out = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

}  // namespace isobar
