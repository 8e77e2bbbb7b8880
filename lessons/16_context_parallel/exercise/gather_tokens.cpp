// Lesson 16: keys and values of ranks whose shares of the tokens are not equally long, gathered for
// attention, and their gradients given back. What is given and promised stands in exercise.h; ./isobar check
// 16_context_parallel looks at what you wrote.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>

#include "16_context_parallel/exercise/exercise.h"

namespace isobar::mine {

using exercise::RankOfTokens;
using exercise::TokenStretch;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using Gradients = torch::autograd::variable_list;

std::vector<TokenStretch> shares(std::int64_t tokens, int ranks) {
  std::vector<TokenStretch> out;
  // BEGIN Refuse fewer tokens than ranks. How many has each but the last, and is anything left for it?
  if (tokens < ranks)
    throw std::invalid_argument(std::to_string(tokens) + " tokens on " + std::to_string(ranks) + " ranks");
  std::int64_t each = (tokens + ranks - 1) / ranks;
  if (each * (ranks - 1) >= tokens) each = tokens / ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t begin = rank * each;
    out.push_back({begin, rank + 1 < ranks ? each : tokens - begin});
  }
  // END
  return out;
}

std::int64_t longest(std::int64_t tokens, int ranks) {
  // BEGIN Which of the shares can it be: always the first one?
  //> return 0;
  const std::vector<TokenStretch> all = shares(tokens, ranks);
  return std::max(all.front().count, all.back().count);
  // END
}

at::Tensor own_tokens(const at::Tensor& all, const RankOfTokens& rank) {
  // BEGIN tensor.narrow(dim, first, length) cuts. Which dimension is that of the tokens?
  //> return all;
  const TokenStretch own = shares(all.size(0), rank.count)[rank.index];
  return all.narrow(0, own.begin, own.count);
  // END
}

at::Tensor padded(const at::Tensor& own, std::int64_t length) {
  // BEGIN at::constant_pad_nd(x, {left, right, above, below}) puts zeros around a matrix.
  //> return own;
  return at::constant_pad_nd(own, {0, 0, 0, length - own.size(0)});
  // END
}

at::Tensor gather(const at::Tensor& own, std::int64_t tokens, const RankOfTokens& rank) {
  // BEGIN Is there anybody to gather from? All send parts of one shape. Which rows of each part are tokens?
  //> return own;
  if (rank.count == 1) return own;
  const std::int64_t most = longest(tokens, rank.count);
  const at::Tensor parts = rank.all_gather(padded(own, most));
  std::vector<at::Tensor> found;
  for (const TokenStretch& share : shares(tokens, rank.count))
    found.push_back(parts.narrow(0, static_cast<std::int64_t>(found.size()) * most, share.count));
  return at::cat(found);
  // END
}

at::Tensor gather_back(const at::Tensor& gradients, const RankOfTokens& rank) {
  // BEGIN The way back: a part for each rank, all of one shape; then the sum, without its padding.
  //> return gradients;
  if (rank.count == 1) return gradients;
  const std::vector<TokenStretch> all = shares(gradients.size(0), rank.count);
  const std::int64_t most = longest(gradients.size(0), rank.count);
  std::vector<at::Tensor> parts;
  for (const TokenStretch& share : all)
    parts.push_back(padded(gradients.narrow(0, share.begin, share.count), most));
  return rank.reduce_scatter(at::cat(parts)).narrow(0, 0, all[rank.index].count);
  // END
}

// Given: gather and gather_back as one function of autograd. They share the context alone, which keeps the
// rank.
struct RankKeeper : torch::CustomClassHolder {
  explicit RankKeeper(RankOfTokens given) : rank(std::move(given)) {}
  RankOfTokens rank;
};

void keep(AutogradContext* context, const RankOfTokens& rank) {
  const auto keeper = c10::make_intrusive<RankKeeper>(rank);
  context->saved_data["rank"] =
      at::IValue::make_capsule(c10::static_intrusive_pointer_cast<torch::CustomClassHolder>(keeper));
}

RankOfTokens kept(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<RankKeeper>(context->saved_data["rank"].toCapsule())->rank;
}

struct Gather : Function<Gather> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& own, std::int64_t tokens,
                            const RankOfTokens& rank) {
    keep(context, rank);
    return gather(own, tokens, rank);
  }
  static Gradients backward(AutogradContext* context, const Gradients& dy) {
    return {gather_back(dy[0], kept(context)), at::Tensor(), at::Tensor()};
  }
};

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::int64_t tokens,
                  const RankOfTokens& rank) {
  // BEGIN at::scaled_dot_product_attention(q, k, v). Which of them travel, by Gather::apply(x, tokens, rank)?
  //> return q;
  return at::scaled_dot_product_attention(q, Gather::apply(k, tokens, rank), Gather::apply(v, tokens, rank));
  // END
}

bool is_partial(const std::string& name) {
  // BEGIN Which parameters work between the cut of the tokens and their union?
  //> return false;
  return name.starts_with("blocks.") || name.starts_with("norm.");
  // END
}

}  // namespace isobar::mine
