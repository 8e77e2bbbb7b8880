// A .npy file of any bytes. An input that begins with '{' is a header alone and gets the rest of a file.
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "fields/npy.h"
#include "fuzz/checks.h"

using namespace isobar;

namespace {

/// A file of version 1 around a header, with as many bytes of values as 16.
std::string around(std::string_view header) {
  std::string out = "\x93NUMPY";
  out += std::string("\x01\x00", 2);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8 & 0xff);
  out += header;
  return out + std::string(16, '\0');
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// What was read holds together, and is read the same from the file that we would write.
void check(const NpyArray& array, std::size_t file_bytes) {
  std::size_t count = 1;
  for (const std::int64_t size : array.shape) {
    require(size >= 0);
    count *= static_cast<std::size_t>(size);
  }
  require(array.values.size() == count && count * sizeof(float) < file_bytes);
  std::string again = npy_start(array.shape);
  require(again.size() % 64 == 0 && again.back() == '\n');
  again.append(reinterpret_cast<const char*>(array.values.data()), count * sizeof(float));
  const NpyArray copy = parse_npy(bytes_of(again), "again");
  require(copy.shape == array.shape && copy.values.size() == count);
  require(count == 0 || std::memcmp(copy.values.data(), array.values.data(), count * sizeof(float)) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  if (!input.empty() && input.front() == '{') input = around(input);
  try {
    check(parse_npy(bytes_of(input), "fuzz"), input.size());
  } catch (const Error& error) {
    require(error.code() == Exit::bad_input && !error.where().empty() && !error.hint().empty());
    check_text(error.what());
  }
  return 0;
}
