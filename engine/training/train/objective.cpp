#include "train/objective.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <vector>

#include "config/fault.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "device/operator_watch.h"
#include "fused/with_gradient.h"
#include "train/crps.h"
#include "train/loss.h"
#include "train/member_noise.h"

namespace isobar {
namespace {

constexpr std::string_view kTrack = "ens forward";

/// The gradient is worked out from forecasts and target, which are kept instead of M^2 differences.
at::Tensor mean_crps(const at::Tensor& forecasts, const at::Tensor& target, const CrpsWeights& weights) {
  const at::Tensor kept = forecasts.detach();
  const auto values = static_cast<double>(target.numel());
  return with_gradient(
      forecasts,
      {.forward = [&](const at::Tensor& x) { return crps_of_values(x, target, weights).mean(); },
       .backward =
           [=](const at::Tensor& dy) { return crps_slopes(kept, target, weights).mul_(dy / values); }});
}

}  // namespace

at::Tensor almost_fair_crps(const at::Tensor& forecasts, const at::Tensor& target, double alpha) {
  return mean_crps(forecasts, target, crps_weights(forecasts.size(0), alpha));
}

class Objective::Core {
 public:
  Core(Comm& ensemble, const Config& config)
      : ensemble_(&ensemble),
        config_(config),
        sends_(config.comm.sync != SyncKind::none || config.run.measure != MeasureKind::synthetic) {}

  std::int64_t models() const { return ensemble_->size(); }
  std::int64_t members_here() const { return config_.mesh.members_per_device; }
  std::int64_t leads() const { return config_.train.rollout; }
  bool has_members() const { return models() * members_here() > 1; }
  /// A mistake on purpose counts ranks, which are more where a model takes several.
  std::int64_t members() const {
    const std::int64_t models_or_ranks =
        has_fault(Fault::ens_members_wrong) ? models() * ranks_of_model(config_) : models();
    return members_here() * models_or_ranks;
  }

  at::Tensor inputs(const Batch& batch) const {
    if (!has_members()) return batch.input;
    return with_noise(batch.input.unsqueeze(1), batch, 0);
  }

  at::Tensor next_inputs(const at::Tensor& forecasts, const Batch& batch, std::int64_t lead) const {
    if (!has_members()) return forecasts;
    std::vector<std::int64_t> shape = batch.input.sizes().vec();
    shape.insert(shape.begin() + 1, members_here());
    return with_noise(forecasts.view(shape), batch, lead);
  }

  at::Tensor loss(const FusedVit& model, const Batch& batch) const {
    const std::int64_t later = batch.later.defined() ? batch.later.size(0) : 0;
    if (later + 1 < leads())
      throw Error(fmt::format("a batch has {}", counted(later + 1, "target")), "train.rollout",
                  fmt::format("{}, one for each forecast", leads()), Exit::failed);
    at::Tensor images = inputs(batch), sum;
    for (std::int64_t lead = 0; lead < leads(); ++lead) {
      const at::Tensor forecasts = model(images).to(at::kFloat);
      const at::Tensor score = score_of(forecasts, lead == 0 ? batch.target : batch.later[lead - 1]);
      sum = lead == 0 ? score : sum + score;
      if (lead + 1 < leads()) images = next_inputs(forecasts, batch, lead + 1);
    }
    return sum / leads();
  }

  at::Tensor score_of(const at::Tensor& forecasts, const at::Tensor& target) const {
    if (!has_members()) return relative_l2(forecasts, target);
    const at::Tensor all = all_members(forecasts);
    const ModuleScope scope("loss");
    return mean_crps(all, target, crps_weights(members(), config_.train.crps_alpha));
  }

  at::Tensor all_members(const at::Tensor& forecasts) const {
    std::vector<std::int64_t> shape = forecasts.sizes().vec();
    shape.front() /= members_here();
    shape.insert(shape.begin() + 1, members_here());
    const at::Tensor own = forecasts.to(at::kFloat).view(shape).transpose(0, 1);
    if (models() == 1) return own;
    const std::int64_t first = ensemble_->rank() * members_here(), count = members_here();
    const std::int64_t factor = has_fault(Fault::ens_gradient_small) ? 1 : models();
    return with_gradient(
        own, {.forward = [&](const at::Tensor& x) { return gathered(x.contiguous()); },
              .backward = [=](const at::Tensor& dy) { return dy.narrow(0, first, count) * factor; }});
  }

  CommCounts counts() const { return ensemble_->counts(); }
  std::int64_t waited_us() const { return waited_us_; }

 private:
  /// [b, 1 or m, C, H, W] -> [b m, C, H, W]
  at::Tensor with_noise(const at::Tensor& fields, const Batch& batch, std::int64_t lead) const {
    std::vector<std::int64_t> shape = fields.sizes().vec();
    if (std::ssize(batch.samples) != shape.front())
      throw Error(fmt::format("{} of {}", counted(shape.front(), "image"),
                              counted(std::ssize(batch.samples), "sample number")),
                  "Batch::samples", "noise depends on them", Exit::failed);
    shape[1] = members_here();
    // From pinned memory it is copied behind what the device does, and the host does not wait.
    const at::Tensor noise = at::empty(shape, at::TensorOptions(at::kFloat).pinned_memory(fields.is_cuda()));
    const std::int64_t values = noise.numel() / (shape[0] * shape[1]);
    float* out = noise.mutable_data_ptr<float>();
    for (const std::int64_t sample : batch.samples) {
      for (std::int64_t i = 0; i < members_here(); ++i, out += values) {
        const std::int64_t member = ensemble_->rank() * members_here() + i;
        fill_with_noise({.seed = config_.train.seed,
                         .epoch = batch.epoch,
                         .sample = sample,
                         .member = has_fault(Fault::same_noise) ? 0 : member,
                         .lead = lead},
                        config_.train.member_noise, out, values);
      }
    }
    return (fields + noise.to(fields.device(), /*non_blocking=*/true)).flatten(0, 1);
  }

  /// [m, b, C, H, W] of each model, in their order.
  at::Tensor gathered(const at::Tensor& own) const {
    std::vector<std::int64_t> shape = own.sizes().vec();
    shape.front() *= models();
    const at::Tensor out = at::empty(shape, own.options().requires_grad(false));
    if (!sends_) {
      out.view({models(), -1}).copy_(own.reshape({1, -1}).expand({models(), -1}));
      return out;
    }
    const std::int64_t begin_us = steady_us();
    ensemble_->all_gather(out, own, kTrack).wait();
    if (own.is_cpu()) waited_us_ += steady_us() - begin_us;
    return out;
  }

  Comm* ensemble_;
  Config config_;
  bool sends_;
  mutable std::int64_t waited_us_ = 0;
};

Objective::Objective(Comm& ensemble, const Config& config) {
  const bool has_members = ensemble.size() * config.mesh.members_per_device > 1;
  if (has_members || config.train.rollout > 1) core_ = std::make_shared<Core>(ensemble, config);
}

std::int64_t Objective::members() const { return core_ ? core_->members() : 1; }
std::int64_t Objective::members_here() const { return core_ ? core_->members_here() : 1; }
std::int64_t Objective::leads() const { return core_ ? core_->leads() : 1; }
at::Tensor Objective::inputs(const Batch& batch) const { return core_ ? core_->inputs(batch) : batch.input; }

at::Tensor Objective::next_inputs(const at::Tensor& forecasts, const Batch& batch, std::int64_t lead) const {
  return core_ ? core_->next_inputs(forecasts, batch, lead) : forecasts;
}

at::Tensor Objective::loss(const FusedVit& model, const Batch& batch) const {
  return core_ ? core_->loss(model, batch) : model.loss(batch.input, batch.target);
}

at::Tensor Objective::loss_of(const at::Tensor& forecasts, const Batch& batch) const {
  return core_ ? core_->score_of(forecasts, batch.target) : relative_l2(forecasts, batch.target);
}

at::Tensor Objective::all_members(const at::Tensor& forecasts) const {
  return core_ ? core_->all_members(forecasts) : forecasts.to(at::kFloat).unsqueeze(0);
}

CommCounts Objective::counts() const { return core_ ? core_->counts() : CommCounts{}; }
std::int64_t Objective::waited_us() const { return core_ ? core_->waited_us() : 0; }

}  // namespace isobar
