// Mistakes as changes of a configuration, of parameters, and what they need of a run.
#include <ATen/ops/isnan.h>
#include <ATen/ops/ones.h>

#include "config/check_fault.h"
#include "config/config.h"
#include "config/with_fault.h"
#include "faults/parameter_fault.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

namespace {

const c10::Device kCpu(c10::kCPU);

/// Twelve parameters of two values.
struct Small {
  Small() {
    for (int i = 0; i < 12; ++i) parameters.add({.name = std::to_string(i), .full_shape = {2}});
    parameters.materialise(1, kCpu);
  }
  std::int64_t nans(const at::Tensor& of) const { return of.isnan().sum().item<std::int64_t>(); }
  Parameters parameters;
};

FaultSetting in_step_3(Fault fault) { return {.fault = fault, .step = 3}; }

Config with(Fault fault) { return with_fault(Config{}, {.fault = fault, .ms = 40, .own_rank = 1}); }

std::string refused(Fault fault, const std::function<void(Config&)>& change) {
  Config config;
  config.run.fault = fault;
  config.run.ranks = 2;
  config.amp.mode = AmpMode::none;
  config.train.global_batch = 64;
  change(config);
  return error_of([&] { check_fault({.fault = fault}, config, "cpu"); });
}

}  // namespace

TEST_CASE("the faults that the table calls ones of the configuration change it, and no others do") {
  Config config;
  config.schedule.lr_rule = LrRule::linear;
  for (std::size_t i = 0; i < choices_of(Fault{}).size(); ++i) {
    const FaultSetting fault{.fault = static_cast<Fault>(i), .own_rank = 1};
    INFO(name_of(fault.fault));
    const bool changes = to_toml(with_fault(config, fault)) != to_toml(config);
    CHECK(changes == (row_of(fault.fault).made_by == MadeBy::configuration));
  }
  CHECK_FALSE(with(Fault::no_shuffle).data.shuffle);
  CHECK(with(Fault::slow_disk).data.throttle_mb_per_s == 290);
  CHECK(with(Fault::different_data_in_group).data.seed == Config{}.data.seed + 1);
  CHECK(with(Fault::forward_order).comm.bucket_order == BucketOrder::forward);
  CHECK(with(Fault::one_bucket).comm.first_bucket_mb == with(Fault::one_bucket).comm.bucket_mb);
  CHECK(with(Fault::one_bucket).comm.bucket_mb > 1e5);
  CHECK(with(Fault::tiny_buckets).comm.bucket_mb < 1e-5);
  CHECK(with(Fault::batchnorm_no_broadcast).model.norm == NormKind::batch);
}

TEST_CASE("values are planted in their step, and in one place") {
  Small small;
  plant_in_weights(in_step_3(Fault::nan_weight), small.parameters, 2);
  plant_in_gradients(in_step_3(Fault::nan_weight), small.parameters, 3, 1);
  CHECK(small.nans(small.parameters.values()) + small.nans(small.parameters.gradients()) == 0);
  plant_in_weights(in_step_3(Fault::nan_weight), small.parameters, 3);
  CHECK(small.nans(small.parameters.values()) == 1);
  plant_in_gradients(in_step_3(Fault::nan_gradient), small.parameters, 3, 1);
  CHECK(small.nans(small.parameters.all()[6].tensor.grad()) == 1);
  plant_in_gradients(in_step_3(Fault::nan_in_padding), small.parameters, 3, 1);
  CHECK(small.nans(small.parameters.gradients()) == 2);
  plant_in_gradients(in_step_3(Fault::inject_inf), small.parameters, 3, /*replicas=*/2);
  CHECK(small.nans(small.parameters.gradients()) == 2);
}

TEST_CASE("no_zero_grad lets gradients pile up, all_half rounds weights, flip_bit strikes one rank") {
  Small small;
  at::Tensor gradients = small.parameters.gradients();
  gradients.fill_(1);
  spoil({.fault = Fault::none}, small.parameters, 1);
  small.parameters.zero_gradients();
  CHECK(gradients.sum().item<float>() == 0);
  gradients.fill_(1);
  spoil({.fault = Fault::no_zero_grad}, small.parameters, 1);
  small.parameters.zero_gradients();
  CHECK(gradients.sum().item<float>() > 0);
  at::Tensor values = small.parameters.values();
  values.fill_(1.001F);
  round_weights({.fault = Fault::none}, small.parameters, at::kBFloat16);
  CHECK(values[0].item<float>() == 1.001F);
  flip_bit_of_weight({.fault = Fault::flip_bit, .step = 3, .rank = 1, .own_rank = 0}, small.parameters, 3);
  CHECK(values.min().item<float>() == values.max().item<float>());
  flip_bit_of_weight({.fault = Fault::flip_bit, .step = 3, .rank = 1, .own_rank = 1}, small.parameters, 3);
  CHECK(values.min().item<float>() != values.max().item<float>());
  round_weights({.fault = Fault::all_half}, small.parameters, at::kBFloat16);
  CHECK(values[0].item<float>() == 1);
}

TEST_CASE("a fault that would change nothing is refused with the setting that it needs") {
  const auto nothing = [](Config&) {};
  CHECK_THAT(refused(Fault::no_event, nothing),
             says("one of the way to a CUDA device") && says("run.device=cuda"));
  CHECK_THAT(refused(Fault::no_scaler, nothing),
             says("amp.mode is none") && says("--set amp.mode=fp16, or another"));
  CHECK_THAT(refused(Fault::no_copy_f, nothing), says("mesh.tp is 1") && says("--set mesh.tp=2"));
  CHECK_THAT(refused(Fault::slow_rank, [](Config& config) { config.run.ranks = 1; }), says("trains alone"));
  CHECK_THAT(refused(Fault::same_shard, [](Config& config) { config.mesh.tp = 2; }),
             says("all 2 ranks share one"));
  CHECK_THAT(refused(Fault::other_order, [](Config& config) { config.comm.sync = SyncKind::at_end; }),
             says("no order"));
  for (const Fault fault : {Fault::forward_order, Fault::one_bucket, Fault::tiny_buckets}) {
    CHECK_THAT(refused(fault, [](Config& config) { config.comm.sync = SyncKind::at_end; }),
               says("comm.sync is another") && says("--set comm.sync=buckets"));
    CHECK_THAT(refused(fault, [](Config& config) { config.run.ranks = 1; }), says("trains alone"));
  }
  CHECK_THAT(refused(Fault::no_shuffle, [](Config& config) { config.data.shuffle = false; }),
             says("data.shuffle"));
  CHECK_THAT(refused(Fault::tanh_gelu, [](Config& config) { config.fusion.bias_gelu = false; }),
             says("is off"));
  CHECK_THAT(refused(Fault::lr_unscaled,
                     [](Config& config) {
                       config.schedule.lr_rule = LrRule::sqrt;
                       config.schedule.base_batch = 64;
                     }),
             says("both 64"));
  for (const Fault fault :
       {Fault::no_rng_restore, Fault::no_autocast_restore, Fault::checkpoint_under_no_grad})
    CHECK_THAT(refused(fault, [](Config& config) { config.model.checkpoint = CheckpointKind::cheap; }),
               says("second forward pass") && says("--set model.checkpoint=block"));
  const auto block = [](Config& config) { config.model.checkpoint = CheckpointKind::block; };
  CHECK_THAT(refused(Fault::no_rng_restore, block), says("--set model.dropout=0.1"));
  CHECK_THAT(refused(Fault::no_autocast_restore, block), says("amp.mode is none"));
  for (const Fault fault : {Fault::all_half, Fault::flip_bit, Fault::nan_weight}) {
    const auto offload = [](OffloadKind kind) {
      return [kind](Config& config) {
        config.amp.mode = AmpMode::bf16;
        config.mesh.offload = kind;
      };
    };
    CHECK_THAT(refused(fault, offload(OffloadKind::optimizer)), says("those in host memory"));
    Config other;
    other.run.ranks = 2;
    offload(OffloadKind::weights)(other);
    CHECK_NOTHROW(check_fault({.fault = fault}, other, "cpu"));
  }
  Config alone;
  CHECK_NOTHROW(check_fault({.fault = Fault::no_shuffle}, alone, "cpu"));
}
