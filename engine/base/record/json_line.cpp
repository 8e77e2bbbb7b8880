#include "record/json_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/utf8.h"

namespace isobar {
namespace {

void append_escaped(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      const std::size_t length = utf8_length(text.substr(i));
      if (length == 0) append_utf8(out, 0xfffd);
      out += text.substr(i, length);
      i += std::max<std::size_t>(length, 1) - 1;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

template <class... Number>
void append_number(std::string& out, Number... value) {
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value...);
  out.append(digits.data(), end.ptr);
}

}  // namespace

JsonLine::JsonLine(std::string_view kind) : text_("{") { add("kind", kind); }

void JsonLine::add_key(std::string_view key) {
  if (text_.size() > 1) text_ += ',';
  append_escaped(text_, key);
  text_ += ':';
}

JsonLine& JsonLine::add(std::string_view key, std::string_view value) {
  add_key(key);
  append_escaped(text_, value);
  return *this;
}

JsonLine& JsonLine::add(std::string_view key, bool value) {
  add_key(key);
  text_ += value ? "true" : "false";
  return *this;
}

JsonLine& JsonLine::add(std::string_view key, double value) {
  if (std::isnan(value)) return add(key, "nan");
  if (std::isinf(value)) return add(key, value > 0 ? "inf" : "-inf");
  add_key(key);
  constexpr double kWhole = 9e15;  // above it readers would take digits for an integer, and find it too large
  if (std::abs(value) < kWhole) {
    append_number(text_, value);
  } else {
    append_number(text_, value, std::chars_format::scientific);
  }
  return *this;
}

JsonLine& JsonLine::add_integer(std::string_view key, std::int64_t value) {
  add_key(key);
  append_number(text_, value);
  return *this;
}

}  // namespace isobar
