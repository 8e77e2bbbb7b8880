#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace isobar {

/// "40GiB", "1.5 GB", "800 MiB", "4096" (bytes): a number and at most one unit (B, kB, MB, GB, TB are powers
/// of 1000; KiB, MiB, GiB, TiB of 1024). Error (exit code 2, `where` as its place) for anything else, and for
/// less than a byte or more than 2^63.
std::uint64_t parse_bytes(std::string_view text, const std::string& where);

}  // namespace isobar
