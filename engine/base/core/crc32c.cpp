#include "core/crc32c.h"

#include <nmmintrin.h>

#include <array>
#include <cstring>

namespace isobar {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78U : 0);
    table[i] = value;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

std::uint32_t with_table(std::span<const std::byte> bytes, std::uint32_t crc) {
  for (const std::byte byte : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return crc;
}

/// The instruction computes this very polynomial, eight bytes at a time.
__attribute__((target("sse4.2"))) std::uint32_t with_instruction(std::span<const std::byte> bytes,
                                                                 std::uint32_t crc) {
  std::uint64_t wide = crc;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    wide = _mm_crc32_u64(wide, word);
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (const std::byte byte : bytes) narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(byte));
  return narrow;
}

}  // namespace

std::uint32_t crc32c_plain(std::span<const std::byte> bytes, std::uint32_t before) {
  return ~with_table(bytes, ~before);
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  return ~(has_instruction ? with_instruction(bytes, ~before) : with_table(bytes, ~before));
}

}  // namespace isobar
