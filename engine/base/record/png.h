#pragma once
// Pictures as PNG files in memory.
#include <cstdint>
#include <span>
#include <string>

namespace isobar {

/// `pixels` [rows, columns, channels], channels 3 (RGB) or 4 (RGBA), first row at the top.
std::string encode_png(std::span<const std::uint8_t> pixels, std::int64_t rows, std::int64_t columns,
                       int channels);

}  // namespace isobar
