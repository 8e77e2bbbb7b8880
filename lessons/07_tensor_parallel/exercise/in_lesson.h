#pragma once
// Read before main.cpp by ./isobar run 07_tensor_parallel --mine: its TensorParallel is this one, whose f and
// g are yours. Pieces of weights are drawn by ours, and the layers between f and g are FusedVit's.
#include "07_tensor_parallel/exercise/part.h"
#include "check/own_part.h"
#include "model/fused_vit.h"
#include "model/tensor_parallel.h"
#include "train/fused_adam.h"
#include "train/gradient_sync.h"

namespace isobar {

class YourModelRanks final : public ModelRanks {
 public:
  using ModelRanks::ModelRanks;

  at::Tensor enter(const at::Tensor& x) override {
    return shares_tokens() ? ModelRanks::enter(x) : part_.enter(x, rank(kBackwardTrack));
  }

  at::Tensor leave(const at::Tensor& x) override {
    return shares_tokens() ? ModelRanks::leave(x) : part_.leave(x, rank(kForwardTrack));
  }

 private:
  exercise::RankOfModel rank(std::string_view what) {
    const auto self = std::static_pointer_cast<YourModelRanks>(shared_from_this());
    return {index(), count(), [self, what](const at::Tensor& part) { return self->sum(part, what); }};
  }

  /// Gradients of activations are added up in the type that mesh.grad_dtype names.
  at::Tensor sum(const at::Tensor& part, std::string_view what) {
    const bool wide = what == kBackwardTrack && sums_in_float();
    const auto options = part.options().dtype(wide ? at::kFloat : part.scalar_type());
    const at::Tensor out =
        part.detach().to(options, /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous);
    all_reduce(out, what);
    return out.to(part.scalar_type());
  }

  const exercise::Part& part_ = own_part_as<exercise::Part>();
};

class YourTensorParallel : public TensorParallel {
 public:
  YourTensorParallel(Comm& comm, const Config& config)
      : TensorParallel(comm.size() > 1 ? std::make_shared<YourModelRanks>(comm, config) : nullptr) {}
};

}  // namespace isobar

#define TensorParallel YourTensorParallel
