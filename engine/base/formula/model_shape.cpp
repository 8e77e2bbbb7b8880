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
          .norm_eps = config.model.norm_eps,
          .channels_last = config.model.channels_last,
          .batch_norm = config.model.norm == NormKind::batch,
          .buffers_mb = config.model.buffers_mb};
}

}  // namespace isobar
