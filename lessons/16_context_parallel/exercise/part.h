#pragma once
// The learner's functions as one object, so that checks and lesson can take any version of them.
#include "16_context_parallel/exercise/exercise.h"

namespace isobar::exercise {

struct Part {
  std::vector<TokenStretch> (*shares)(std::int64_t tokens, int ranks);
  std::int64_t (*longest)(std::int64_t tokens, int ranks);
  at::Tensor (*own_tokens)(const at::Tensor& all, const RankOfTokens& rank);
  at::Tensor (*padded)(const at::Tensor& own, std::int64_t length);
  at::Tensor (*gather)(const at::Tensor& own, std::int64_t tokens, const RankOfTokens& rank);
  at::Tensor (*gather_back)(const at::Tensor& gradients, const RankOfTokens& rank);
  at::Tensor (*attend)(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, std::int64_t tokens,
                       const RankOfTokens& rank);
  bool (*is_partial)(const std::string& name);
};

}  // namespace isobar::exercise
