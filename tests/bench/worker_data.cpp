#include "bench/worker_data.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

#include "core/random.h"
#include "fields/safetensors.h"

namespace isobar {

at::Tensor random_field(const std::string& name, const std::vector<std::int64_t>& shape) {
  at::Tensor out = at::empty(shape, at::kFloat);
  const std::uint64_t key = stream_key(1, name);
  float* const values = out.mutable_data_ptr<float>();
  at::parallel_for(0, out.numel(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto n =
          static_cast<std::uint64_t>(i);  // two uniform numbers make a normal one (Box and Muller 1958)
      const double radius = std::sqrt(-2 * std::log(1 - uniform_at(key, 2 * n)));
      values[i] = static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform_at(key, 2 * n + 1)));
    }
  });
  return out;
}

VitShape shape_of(const nlohmann::ordered_json& sheet) {
  return {.height = sheet["height"],
          .width = sheet["width"],
          .channels = sheet["channels"],
          .patch = sheet["patch"],
          .embed = sheet["embed"],
          .depth = sheet["depth"],
          .heads = sheet["heads"]};
}

void write_tensors(const std::filesystem::path& file, const NamedTensors& tensors) {
  std::vector<at::Tensor> kept;  // what is written is looked at until the end
  std::vector<TensorToWrite> entries;
  for (const auto& [name, tensor] : tensors) {
    kept.push_back(tensor.detach().to(at::kCPU, at::kFloat).contiguous());
    const std::span values(kept.back().const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel()));
    entries.push_back({name, "F32", tensor.sizes().vec(), std::as_bytes(values)});
  }
  write_safetensors(file, entries, {});
}

}  // namespace isobar
