#include "core/token_shares.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace isobar {

std::vector<TokenShare> token_shares(std::int64_t tokens, std::int64_t ranks) {
  if (ranks < 1 || tokens < ranks)
    throw Error(
        fmt::format("{} cannot be shared out over {}", counted(tokens, "token"), counted(ranks, "rank")),
        "mesh.cp", fmt::format("mesh.cp={} at most, or a smaller model.patch", tokens));
  std::int64_t each = (tokens + ranks - 1) / ranks;
  if (each * (ranks - 1) >= tokens) each = tokens / ranks;
  std::vector<TokenShare> out;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    out.push_back({rank * each, rank + 1 < ranks ? each : tokens - rank * each});
  return out;
}

std::int64_t largest_share(std::int64_t tokens, std::int64_t ranks) {
  const std::vector<TokenShare> shares = token_shares(tokens, ranks);
  return std::max(shares.front().count, shares.back().count);
}

}  // namespace isobar
