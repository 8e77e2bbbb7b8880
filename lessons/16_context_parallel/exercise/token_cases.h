#pragma once
// Tokens on ranks that the checks go through, and what is right for them.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace isobar::exercise {

struct TokenCase {
  std::int64_t tokens;
  int ranks;
};

inline std::string words(const TokenCase& one) {
  return fmt::format("{} tokens on {} rank{}", one.tokens, one.ranks, one.ranks == 1 ? "" : "s");
}

inline std::vector<std::int64_t> right_counts(const TokenCase& one) {
  std::int64_t each = (one.tokens + one.ranks - 1) / one.ranks;
  if (each * (one.ranks - 1) >= one.tokens) each = one.tokens / one.ranks;
  std::vector<std::int64_t> out(static_cast<std::size_t>(one.ranks), each);
  out.back() = one.tokens - each * (one.ranks - 1);
  return out;
}

/// Numbers that look random and are the same everywhere.
inline at::Tensor numbers(at::IntArrayRef shape, double seed) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return (at::arange(count) * (0.37 + seed) + seed).sin().view(shape);
}

/// What rank `index` has of the tokens of all.
inline at::Tensor piece(const at::Tensor& all, const TokenCase& one, int index) {
  const std::vector<std::int64_t> counts = right_counts(one);
  std::int64_t begin = 0;
  for (int i = 0; i < index; ++i) begin += counts[static_cast<std::size_t>(i)];
  return all.narrow(0, begin, counts[static_cast<std::size_t>(index)]);
}

}  // namespace isobar::exercise
