#include "record/png.h"

#include "core/error.h"

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace isobar {

std::string encode_png(std::span<const std::uint8_t> pixels, std::int64_t rows, std::int64_t columns,
                       int channels) {
  std::string out;
  const auto append = [](void* to, void* data, int size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  const auto width = static_cast<int>(columns);
  const bool whole = pixels.size() == static_cast<std::size_t>(rows * columns * channels);
  if (!whole || stbi_write_png_to_func(append, &out, width, static_cast<int>(rows), channels, pixels.data(),
                                       channels * width) == 0) {
    throw Error("a picture could not be drawn", "PNG", "", Exit::failed);
  }
  return out;
}

}  // namespace isobar
