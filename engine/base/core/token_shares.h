#pragma once
// Which tokens each rank has where ranks share those of one model (mesh.cp), as the tutorial cuts them.
#include <cstdint>
#include <vector>

namespace isobar {

/// Tokens [begin, begin + count) of each sample.
struct TokenShare {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool operator==(const TokenShare&) const = default;
};

/// One for each rank: ceil(tokens / ranks), and the last one what is left; where nothing would be left,
/// floor(tokens / ranks), and the last one the rest. 4050 over 4: 1013, 1013, 1013, 1011. Error (exit code 2)
/// for fewer tokens than ranks.
std::vector<TokenShare> token_shares(std::int64_t tokens, std::int64_t ranks);

/// Tokens of a sample on the rank with most of them.
std::int64_t largest_share(std::int64_t tokens, std::int64_t ranks);

}  // namespace isobar
