// ./isobar run 07_tensor_parallel --mine: f and g are the learner's enter and leave. Where ranks share tokens
// (mesh.sequence_parallel), and for the pieces of weights and the layers between f and g, the engine's serve.
#include "07_tensor_parallel/exercise/part.h"
#include "check/own_part.h"
#include "model/model_ranks.h"

using namespace isobar;

namespace {

/// Gradients of activations are added up in the type that mesh.grad_dtype names.
exercise::RankOfModel rank_of(const std::shared_ptr<ModelRanks>& ranks, std::string_view track) {
  const auto sum = [ranks, track](const at::Tensor& part) {
    const bool is_wide = track == kBackwardTrack && ranks->sums_in_float();
    const auto options = part.options().dtype(is_wide ? at::kFloat : part.scalar_type());
    const at::Tensor out =
        part.detach().to(options, /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous);
    ranks->all_reduce(out, track);
    return out.to(part.scalar_type());
  };
  return {.index = ranks->index(), .count = ranks->count(), .sum = sum};
}

const PluggedIn f(seams::enter, [](const std::shared_ptr<ModelRanks>& ranks, const at::Tensor& x) {
  return own_part_as<exercise::Part>().enter(x, rank_of(ranks, kBackwardTrack));
});
const PluggedIn g(seams::leave, [](const std::shared_ptr<ModelRanks>& ranks, const at::Tensor& x) {
  return own_part_as<exercise::Part>().leave(x, rank_of(ranks, kForwardTrack));
});

}  // namespace
