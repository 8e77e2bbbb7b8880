#include "formula/attention_floor.h"

#include <algorithm>

#include "core/error.h"

namespace isobar {

AttentionNeeds count_attention_needs(const VitShape& shape) {
  const auto tokens = static_cast<double>(shape.tokens());
  const auto embed = static_cast<double>(shape.embed);
  const auto depth = static_cast<double>(shape.depth);
  const auto heads = static_cast<double>(shape.heads);
  AttentionNeeds out;
  out.forward_flops = depth * 4 * tokens * tokens * embed;
  out.backward_flops = depth * 10 * tokens * tokens * embed;
  out.exponentials = depth * heads * tokens * tokens;
  out.forward_bytes = depth * (8 * tokens * embed + 4 * heads * tokens);
  out.backward_bytes = depth * (16 * tokens * embed + 4 * heads * tokens);
  return out;
}

AttentionFloor attention_floor(const VitShape& shape, std::int64_t samples, const DeviceRates& device) {
  if (device.flops_an_exponential == 0 || device.memory_tb_per_s == 0) {
    throw Error("no floor of attention is known for this device", device.name, "A100, H100 and H200 have one",
                Exit::bad_input);
  }
  const AttentionNeeds needs = count_attention_needs(shape);
  const double exponentials = needs.exponentials * device.flops_an_exponential;
  const auto floor_us = [&](double flops, double bytes) {
    return static_cast<double>(samples) * 1e-6 *
           std::max(std::max(flops, exponentials) / device.peak_16, bytes / device.memory_tb_per_s);
  };
  return {floor_us(needs.forward_flops, needs.forward_bytes),
          floor_us(needs.backward_flops, needs.backward_bytes)};
}

}  // namespace isobar
