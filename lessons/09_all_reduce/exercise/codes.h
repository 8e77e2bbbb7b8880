#pragma once
// Numbers that tell what was added to them: from what a buffer has become, to what was done.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "09_all_reduce/exercise/exercise.h"
#include "core/text.h"

namespace isobar::exercise {

using Buffer = std::vector<float>;
using Buffers = std::vector<Buffer>;  // by place; where nothing else is said that is the rank

/// All numbers of a rank, in base 8: a sum tells whose numbers are in it, and how often.
inline float code_of(int rank) { return std::ldexp(1.0F, 3 * rank); }

inline float sum_of_codes(int size) {
  float out = 0;
  for (int rank = 0; rank < size; ++rank) out += code_of(rank);
  return out;
}

inline std::vector<int> times_in(float value, int size) {
  std::vector<int> out;
  auto rest = static_cast<std::int64_t>(std::abs(value) < 1e9F ? value : 0);
  for (int rank = 0; rank < size; ++rank, rest /= 8) out.push_back(static_cast<int>(rest % 8));
  return out;
}

inline std::string ranks_in(float value, int size) {
  const bool is_sum = value > 0 && value < code_of(size) && value == std::floor(value);
  if (!is_sum) return fmt::format("no sum of ranks ({:g})", value);
  const std::vector<int> times = times_in(value, size);
  std::vector<std::string> out;
  for (int rank = 0; rank < size; ++rank) {
    const int often = times[static_cast<std::size_t>(rank)];
    if (often > 0)
      out.push_back(fmt::format("{}{}", rank, often > 1 ? fmt::format(" ({} times)", often) : ""));
  }
  return fmt::format("{} {}", out.size() == 1 ? "rank" : "ranks", joined(out));
}

inline std::string ranks_in_chunks(const Buffer& values, const std::vector<Chunk>& chunks) {
  std::string out;
  for (std::size_t index = 0; index < chunks.size(); ++index)
    out += fmt::format(
        "{}chunk {} has {}", index == 0 ? "" : "; ", index,
        ranks_in(values[static_cast<std::size_t>(chunks[index].begin)], static_cast<int>(chunks.size())));
  return out;
}

inline Buffers codes(int size, std::int64_t count) {
  Buffers out;
  for (int rank = 0; rank < size; ++rank) out.emplace_back(count, code_of(rank));
  return out;
}

/// Each number tells its place, the same on all ranks.
inline Buffer places(std::int64_t count) {
  Buffer out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 1.0F);
  return out;
}

inline bool are_all(const Buffer& values, const Chunk& chunk, float wanted) {
  const auto begin = values.begin() + chunk.begin;
  return std::all_of(begin, begin + chunk.count, [&](float value) { return value == wanted; });
}

}  // namespace isobar::exercise
