#pragma once
// CRC-32C (Castagnoli), the checksum of TensorBoard's event files and of checkpoints.
// Source: RFC 3720, appendix B.4 (polynomial 0x1EDC6F41, reflected).
#include <cstddef>
#include <cstdint>
#include <span>

namespace isobar {

/// The checksum of `bytes`; pass the last result as `before` to continue over pieces.
/// Uses the processor's own instruction where it has one (SSE4.2).
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// `crc32c` byte by byte from a table, on any processor.
std::uint32_t crc32c_plain(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace isobar
