#pragma once
// Maps of fields as PNG images.
#include <cstdint>
#include <span>
#include <string>

namespace isobar {

struct PngImage {
  std::string bytes;  ///< encoded
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// Two fields [rows, columns] above each other with one colour scale (blue low, white middle, red high; grey
/// where a value is not finite), enlarged to at least 288 pixels across.
PngImage draw_pair(std::span<const float> upper, std::span<const float> lower, std::int64_t rows,
                   std::int64_t columns);

}  // namespace isobar
