#include "formula/model_shape.h"

namespace isobar {

VitShape vit_shape(const Config& config) {
  return {.height = config.data.grid[0],
          .width = config.data.grid[1],
          .channels = config.data.channels,
          .patch = config.model.patch,
          .embed = config.model.embed,
          .depth = config.model.depth,
          .heads = config.model.heads,
          .norm_eps = has_fault(Fault::norm_eps) ? 1e-5 : 1e-6,
          .channels_last = !has_fault(Fault::wrong_unpatch),
          .batch_norm = config.model.norm == NormKind::batch,
          .buffers_mb = config.model.buffers_mb,
          .window = config.model.window};
}

std::int64_t forecasts_of_sample(const Config& config) { return members(config) * config.train.rollout; }

double sample_flops(const Config& config) {
  const VitShape shape = vit_shape(config);
  const double behind =
      static_cast<double>(config.train.rollout - 1) * 3 * count_forward_flops(shape).total();
  return static_cast<double>(members(config)) * (training_flops(shape) + behind);
}

double attention_flops(const Config& config) {
  return static_cast<double>(forecasts_of_sample(config)) * 3 *
         count_forward_flops(vit_shape(config)).attention;
}

}  // namespace isobar
