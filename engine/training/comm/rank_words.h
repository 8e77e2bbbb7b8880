#pragma once
// Ranks in sentences.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace isobar {

/// "0, 2, 3"
std::string rank_list(const std::vector<int>& ranks);

/// "rank 1", "ranks 0, 2"
std::string ranks_text(const std::vector<int>& ranks);

/// A text, and the ranks that have it.
struct Side {
  std::string text;
  std::vector<int> ranks;
};

/// In the order of the first rank of each. `texts[i]` is that of `ranks[i]`.
std::vector<Side> sides_of(const std::vector<std::string>& texts, const std::vector<int>& ranks);

/// "ranks 0, 2, 3: b [4]; rank 1: b [5]"
std::string sides_text(const std::vector<Side>& sides);

/// The first line in which texts differ.
struct LineDifference {
  std::size_t line = 0;  ///< from 1
  std::vector<Side> sides;
};

/// Nothing where all are the same. A text that has no such line counts as "nothing" there.
std::optional<LineDifference> first_difference(const std::vector<std::string>& texts,
                                               const std::vector<int>& ranks);

}  // namespace isobar
