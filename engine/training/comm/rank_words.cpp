#include "comm/rank_words.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/text.h"

namespace isobar {

std::string rank_list(const std::vector<int>& ranks) { return joined(ranks); }

std::string ranks_text(const std::vector<int>& ranks) {
  return (ranks.size() > 1 ? "ranks " : "rank ") + rank_list(ranks);
}

std::vector<Side> sides_of(const std::vector<std::string>& texts, const std::vector<int>& ranks) {
  std::vector<Side> out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const Side& side) { return side.text == texts[i]; });
    if (same == out.end()) {
      out.push_back({texts[i], {ranks[i]}});
    } else {
      same->ranks.push_back(ranks[i]);
    }
  }
  return out;
}

std::string sides_text(const std::vector<Side>& sides) {
  std::vector<std::string> parts;
  for (const Side& side : sides) parts.push_back(ranks_text(side.ranks) + ": " + printable(side.text, 160));
  return joined(parts, "; ");
}

std::optional<LineDifference> first_difference(const std::vector<std::string>& texts,
                                               const std::vector<int>& ranks) {
  std::vector<std::vector<std::string>> lines(texts.size());
  std::size_t most = 0;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    std::istringstream in(texts[rank]);
    for (std::string line; std::getline(in, line);) lines[rank].push_back(line);
    most = std::max(most, lines[rank].size());
  }
  for (std::size_t i = 0; i < most; ++i) {
    std::vector<std::string> said;
    for (const std::vector<std::string>& rank : lines) said.push_back(i < rank.size() ? rank[i] : "nothing");
    std::vector<Side> sides = sides_of(said, ranks);
    if (sides.size() > 1) return LineDifference{i + 1, std::move(sides)};
  }
  return std::nullopt;
}

}  // namespace isobar
