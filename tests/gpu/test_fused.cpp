// The kernels on the device, against their definitions in double precision, as those for a processor
// are.
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cstdlib>

#include "device/load_cuda.h"
#include "gpu/gpu.h"
#include "kernels/fused_checks.h"
#include "support/catch.h"

using namespace isobar;

namespace {

/// A memory or race checker takes a hundred times as long: ISOBAR_SMALL leaves the large cases out.
const bool kLarge = std::getenv("ISOBAR_SMALL") == nullptr;

class GpuPlace final : public KernelPlace {
 public:
  std::byte* take(std::size_t bytes) override {
    memory_.push_back(at::empty({static_cast<std::int64_t>(bytes)}, on_gpu(at::kByte)));
    auto* const out = static_cast<std::byte*>(memory_.back().mutable_data_ptr());
    REQUIRE(reinterpret_cast<std::uintptr_t>(out) % 256 == 0);
    return out;
  }
  void drop() override { memory_.clear(); }
  void upload(std::byte* to, const void* from, std::size_t bytes) override {
    cuda_plugin().upload(to, from, bytes, gpu_stream());
    current_stream(kGpu).synchronize();
  }
  void download(void* to, const std::byte* from, std::size_t bytes) override {
    const auto n = static_cast<std::int64_t>(bytes);
    const at::Tensor there = at::from_blob(const_cast<std::byte*>(from), {n}, on_gpu(at::kByte));
    at::Tensor here = at::from_blob(to, {n}, at::kByte);
    here.copy_(there);
  }

  void compute(const BiasGeluForward& job) override { cuda_plugin().compute(job, gpu_stream()); }
  void compute(const BiasGeluBackward& job) override { cuda_plugin().compute(job, gpu_stream()); }
  void compute(const ResidualNormForward& job) override { cuda_plugin().compute(job, gpu_stream()); }
  void compute(const ResidualNormBackward& job) override { cuda_plugin().compute(job, gpu_stream()); }
  void compute(const HeadLossForward& job) override { cuda_plugin().compute(job, gpu_stream()); }
  void compute(const HeadLossBackward& job) override { cuda_plugin().compute(job, gpu_stream()); }
  void compute(const AdamStep& job) override { cuda_plugin().compute(job, gpu_stream()); }
  void compute(const GradientNorm& job) override { cuda_plugin().compute(job, gpu_stream()); }
  void count_nonfinite(const float* values, std::int64_t n, std::int64_t* counter) override {
    cuda_plugin().count_nonfinite(values, n, counter, gpu_stream());
  }
  void normalise(const DeviceFields& batch, std::optional<PackedField> packed, FieldOutput output) override {
    if (packed) return cuda_plugin().unpack(batch, *packed, output, gpu_stream());
    cuda_plugin().normalise(batch, output, gpu_stream());
  }

 private:
  std::vector<at::Tensor> memory_;
};

}  // namespace

TEST_CASE("on the device bias and GELU equals its definition") {
  GpuPlace place;
  check_all_bias_gelu(place, kLarge);
}

TEST_CASE("on the device residual and norm equals its definition") {
  GpuPlace place;
  check_all_residual_norm(place, kLarge);
}

TEST_CASE("on the device head and loss equals its definition") {
  GpuPlace place;
  check_all_head_loss(place, kLarge);
}

TEST_CASE("on the device Adam equals its definition, and skips") {
  GpuPlace place;
  check_all_adam(place, kLarge);
}

TEST_CASE("on the device gradient norm equals its definition, and counts what is not finite") {
  GpuPlace place;
  check_all_gradient_norm(place, kLarge);
}

TEST_CASE("on the device the count of what is not finite equals its definition") {
  GpuPlace place;
  check_all_count_nonfinite(place, kLarge);
}

TEST_CASE("on the device fields equal their definition, raw and packed") {
  GpuPlace place;
  check_all_normalise(place, kLarge);
}
