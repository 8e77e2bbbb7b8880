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

}  // namespace isobar
