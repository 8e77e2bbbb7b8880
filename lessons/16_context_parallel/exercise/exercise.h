#pragma once
// What is given and what is promised in the exercise of lesson 16. You write my/16_gather_tokens.cpp.
// N tokens, n of them on a rank, m on the rank that has most, M values of each, c ranks. A token is a row.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace isobar::exercise {

/// Tokens [begin, begin + count) of each sample.
struct TokenStretch {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// Given: the collectives. They wait for the other ranks, so all ask for the same ones in the same order,
/// with tensors of one shape and type on all ranks. Autograd does not record them.
/// [m, M] of each rank -> [c m, M], in the order of ranks.
using GatherParts = std::function<at::Tensor(const at::Tensor& part)>;
/// [c m, M] of each rank -> [m, M]: rank r gets rows r m to (r + 1) m - 1, added up over the ranks.
using ScatterSum = std::function<at::Tensor(const at::Tensor& parts)>;

/// One of the ranks that share the tokens of a model.
struct RankOfTokens {
  int index = 0;  ///< from 0
  int count = 1;  ///< c
  GatherParts all_gather;
  ScatterSum reduce_scatter;
};

}  // namespace isobar::exercise

namespace isobar::mine {

// You promise:

/// Who has which tokens, a stretch for each rank, one behind the other: ceil(N / c) each, and the last rank
/// what is left. Where nothing would be left it is floor(N / c) each, and the last one takes the rest. Throws
/// std::invalid_argument for fewer tokens than ranks.
std::vector<exercise::TokenStretch> shares(std::int64_t tokens, int ranks);

/// m, the longest of these shares.
std::int64_t longest(std::int64_t tokens, int ranks);

/// [N, M] -> [n, M]: the tokens of this rank.
at::Tensor own_tokens(const at::Tensor& all, const exercise::RankOfTokens& rank);

/// [n, M] -> [length, M], in the type of `own`: zeros behind the tokens.
at::Tensor padded(const at::Tensor& own, std::int64_t length);

/// [n, M] of each rank -> [N, M], all tokens in their order and nothing else, with one collective. One rank
/// alone sends nothing.
at::Tensor gather(const at::Tensor& own, std::int64_t tokens, const exercise::RankOfTokens& rank);

/// Its backward pass. [N, M], what this rank has of the gradients of all tokens -> [n, M], the sum over the
/// ranks of those of its own tokens, with one collective. One rank alone sends nothing.
at::Tensor gather_back(const at::Tensor& gradients, const exercise::RankOfTokens& rank);

/// Attention of this rank's queries over the keys and values of all tokens, of one head: three of [n, M] ->
/// [n, M], which autograd follows.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::int64_t tokens,
                  const exercise::RankOfTokens& rank);

/// Whether a rank has a part of the gradient of this parameter only, which has to be summed over the ranks:
/// "pos_embed", "patch_embed.proj.weight", "blocks.0.norm1.weight", "norm.weight" (behind the last block, in
/// front of the union), "head.weight".
bool is_partial(const std::string& name);

}  // namespace isobar::mine
