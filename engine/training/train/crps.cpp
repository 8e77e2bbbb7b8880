#include "train/crps.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

void check_shapes(const at::Tensor& forecasts, const at::Tensor& target) {
  if (forecasts.dim() == target.dim() + 1 && forecasts.sizes().slice(1) == target.sizes()) return;
  throw Error(fmt::format("forecasts [{}] and a target [{}]", joined(forecasts.sizes().vec()),
                          joined(target.sizes().vec())),
              "CRPS", "forecasts [M, ...] of the target's shape [...]", Exit::failed);
}

/// Member j + d minus member j, for all pairs that are `d` apart.
at::Tensor apart(const at::Tensor& forecasts, std::int64_t d) {
  const std::int64_t pairs = forecasts.size(0) - d;
  return forecasts.narrow(0, d, pairs) - forecasts.narrow(0, 0, pairs);
}

}  // namespace

CrpsWeights crps_weights(std::int64_t members, double alpha) {
  if (members < 2)
    throw Error(fmt::format("a CRPS of {}", counted(members, "member")), "CRPS", "two or more have a spread",
                Exit::failed);
  const auto m = static_cast<double>(members);
  return {.error = 1 / m, .spread = (1 - (1 - alpha) / m) / (m * (m - 1))};
}

at::Tensor crps_of_values(const at::Tensor& forecasts, const at::Tensor& target, const CrpsWeights& weights) {
  check_shapes(forecasts, target);
  at::Tensor out = (forecasts - target).abs_().sum(0).mul_(weights.error);
  for (std::int64_t d = 1; d < forecasts.size(0); ++d)
    out.sub_(apart(forecasts, d).abs_().sum(0), weights.spread);
  return out;
}

at::Tensor crps_slopes(const at::Tensor& forecasts, const at::Tensor& target, const CrpsWeights& weights) {
  check_shapes(forecasts, target);
  at::Tensor out = (forecasts - target).sign_().mul_(weights.error);
  for (std::int64_t d = 1; d < forecasts.size(0); ++d) {
    const at::Tensor signs = apart(forecasts, d).sign_();
    out.narrow(0, d, signs.size(0)).sub_(signs, weights.spread);
    out.narrow(0, 0, signs.size(0)).add_(signs, weights.spread);
  }
  return out;
}

}  // namespace isobar
