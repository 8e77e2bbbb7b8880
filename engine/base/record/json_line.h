#pragma once
// One event of the metric stream: a flat JSON object on one line. Keys end in their unit; numbers that JSON
// lacks are the strings "nan", "inf" and "-inf".
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace isobar {

class JsonLine {
 public:
  explicit JsonLine(std::string_view kind);

  JsonLine& add(std::string_view key, std::string_view value);
  JsonLine& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonLine& add(std::string_view key, bool value);
  JsonLine& add(std::string_view key, double value);
  template <std::integral Integer>
  JsonLine& add(std::string_view key, Integer value) {
    return add_integer(key, static_cast<std::int64_t>(value));
  }

  /// The object with its closing brace and a newline.
  std::string text() const { return text_ + "}\n"; }

 private:
  JsonLine& add_integer(std::string_view key, std::int64_t value);
  void add_key(std::string_view key);

  std::string text_;
};

}  // namespace isobar
