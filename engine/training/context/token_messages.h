#pragma once
// Tokens that ranks share, and how they move between these. Rows: [n, M], a token a row, M values of it:
// those of all samples, heads and tensors that travel together. c ranks, n tokens here, N in all.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "context/rank_messages.h"
#include "core/seam.h"
#include "core/token_shares.h"

namespace isobar {

inline constexpr PassTracks kContextTracks = {"cp forward", "cp backward"};

class TokenMessages : public RankMessages {
 public:
  /// The tokens of the model of `config`, shared out over the ranks of `comm`, which outlives this. Error
  /// (exit code 2): fewer tokens than ranks.
  TokenMessages(Comm& comm, const Config& config);

  /// By rank. With the fault assume_even all are as long as the first, and may reach beyond the last token.
  const std::vector<TokenShare>& shares() const;
  std::int64_t tokens() const { return tokens_; }  ///< N of the model
  TokenShare own() const { return shares()[static_cast<std::size_t>(index())]; }
  /// Tokens of all shares.
  std::int64_t all() const { return shares().back().begin + shares().back().count; }
  std::int64_t largest() const;
  std::int64_t smallest() const;

  /// [n, M] of each rank -> [N, M]: an all-gather of shares that are padded to the largest one.
  at::Tensor gather(const at::Tensor& rows, std::string_view what);
  /// What each rank has for the tokens of all, [N, M] -> the sum of it for the own ones, [n, M].
  at::Tensor sum_back(const at::Tensor& rows, std::string_view what);

  /// Rows of rank `holder` go from this rank to the next one, and those of the rank before it come. Nothing
  /// is summed.
  Moving start_shift(const at::Tensor& rows, int holder, std::string_view what);

  /// c pieces of n tokens each, [c, n, M], piece r for rank r -> [N, M], what each rank had for this one.
  at::Tensor to_each(const at::Tensor& pieces, std::string_view what);
  /// The way back: [N, M], the tokens of rank r for rank r -> [c, n, M].
  at::Tensor from_each(const at::Tensor& rows, std::string_view what);

 private:
  /// By rank: `values` elements for each of its tokens.
  std::vector<std::int64_t> by_share(std::int64_t values) const;
  std::vector<std::int64_t> own_to_all(std::int64_t values) const;

  std::int64_t tokens_;
  std::vector<TokenShare> shares_, even_;
};

/// Tokens [begin, begin + count) of x [B, N, ...]. Beyond its end the last one is taken again, which only the
/// fault assume_even does.
at::Tensor tokens_of(const at::Tensor& x, const TokenShare& share);

namespace seams {

// TokenMessages::gather and sum_back, as attention uses them.
using MovesTokens = at::Tensor(TokenMessages& ranks, const at::Tensor& rows, std::string_view what);
inline constinit Seam<MovesTokens> gather_tokens{
    [](TokenMessages& ranks, const at::Tensor& rows, std::string_view what) {
      return ranks.gather(rows, what);
    }};
inline constinit Seam<MovesTokens> gather_tokens_back{
    [](TokenMessages& ranks, const at::Tensor& rows, std::string_view what) {
      return ranks.sum_back(rows, what);
    }};

}  // namespace seams
}  // namespace isobar
