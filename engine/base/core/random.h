#pragma once
// Random numbers that depend on names and counters only, never on the order in which somebody asked.
#include <cstdint>
#include <string_view>

namespace isobar {

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection whose outputs pass as independent random
/// bits.
constexpr std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The key of a stream of random bits that belongs to `name` under `seed` (FNV-1a over the name).
constexpr std::uint64_t stream_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mixed_bits(mixed_bits(seed) ^ hash);
}

/// Number `counter` of the stream, uniform in [0, 1) with 53 bits.
constexpr double uniform_at(std::uint64_t key, std::uint64_t counter) {
  return static_cast<double>(mixed_bits(key + counter * 0x9e3779b97f4a7c15ULL) >> 11) * 0x1.0p-53;
}

/// Number `counter` of the stream, uniform in 0..bound-1 (bound below 2^53: the bias is under bound / 2^64).
constexpr std::uint64_t below_at(std::uint64_t key, std::uint64_t counter, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  const Wide wide = static_cast<Wide>(mixed_bits(key + counter * 0x9e3779b97f4a7c15ULL)) * bound;
  return static_cast<std::uint64_t>(wide >> 64);
}

}  // namespace isobar
