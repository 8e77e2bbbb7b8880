#pragma once
// Event files byte by byte, in every form that writers use.
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "record/tfevents_writer.h"

namespace isobar {

template <typename Number>
std::string raw(Number number) {
  std::string out(sizeof(number), '\0');
  std::memcpy(out.data(), &number, sizeof(number));
  return out;
}

inline std::string varint(std::uint64_t number) {
  std::string out;
  for (; number > 127; number >>= 7) out += static_cast<char>((number & 127) | 128);
  return out + static_cast<char>(number);
}

inline std::string tagged(unsigned field, unsigned wire, const std::string& body) {
  return varint(field << 3 | wire) + body;
}
inline std::string varint_field(unsigned field, std::uint64_t number) {
  return tagged(field, 0, varint(number));
}
inline std::string bytes_field(unsigned field, const std::string& bytes) {
  return tagged(field, 2, varint(bytes.size()) + bytes);
}

/// A record around any bytes, with right checksums.
inline std::string tf_record(const std::string& bytes) {
  const std::string length = raw(std::uint64_t{bytes.size()});
  return length + raw(masked_crc32c(length)) + bytes + raw(masked_crc32c(bytes));
}

inline std::string tf_simple(double number) { return tagged(2, 5, raw(static_cast<float>(number))); }

/// A tensor of a TensorFlow type with these dimensions, for a plugin.
inline std::string tf_tensor(unsigned type, const std::string& numbers,
                             std::initializer_list<std::uint64_t> shape = {},
                             const std::string& plugin = "scalars") {
  std::string dimensions;
  for (const std::uint64_t size : shape) dimensions += bytes_field(2, varint_field(1, size));
  const std::string metadata = bytes_field(9, bytes_field(1, bytes_field(1, plugin)));
  return bytes_field(8, varint_field(1, type) + bytes_field(2, dimensions) + numbers) +
         (plugin.empty() ? "" : metadata);
}

inline std::string tf_value(const std::string& tag, const std::string& body) {
  return bytes_field(1, bytes_field(1, tag) + body);
}

/// A record of an event with these values.
inline std::string tf_event(std::uint64_t step, const std::string& values, double wall_s = 1.7e9) {
  return tf_record(tagged(1, 1, raw(wall_s)) + varint_field(2, step) + bytes_field(5, values));
}

/// What a program writes when it begins at `step`.
inline std::string tf_start(std::uint64_t step) {
  return tf_record(tagged(1, 1, raw(1.7e9)) + varint_field(2, step) + bytes_field(7, varint_field(1, 1)));
}

}  // namespace isobar
