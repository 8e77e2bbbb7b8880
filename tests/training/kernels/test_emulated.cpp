// The CUDA kernels on a processor (emulated/device.h), against their definitions, in either order of threads.
#include <memory>

#include "kernels/emulated/device.h"
#include "kernels/fused_checks.h"
#include "support/catch.h"

using namespace isobar;

namespace {

class EmulatedPlace final : public KernelPlace {
 public:
  std::byte* take(std::size_t bytes) override {
    memory_.push_back(std::make_unique<std::byte[]>(bytes + kAlignment));
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.back().get());
    return memory_.back().get() + (kAlignment - address % kAlignment) % kAlignment;
  }
  void drop() override { memory_.clear(); }
  void upload(std::byte* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void download(void* to, const std::byte* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }

  void compute(const BiasGeluForward& job) override {
    turned([&] { bias_gelu_cuda(job, nullptr); });
  }
  void compute(const BiasGeluBackward& job) override {
    turned([&] { bias_gelu_cuda(job, nullptr); });
  }
  void compute(const ResidualNormForward& job) override {
    turned([&] { residual_norm_cuda(job, nullptr); });
  }
  void compute(const ResidualNormBackward& job) override {
    turned([&] { residual_norm_cuda(job, nullptr); });
  }
  void compute(const HeadLossForward& job) override {
    turned([&] { head_loss_cuda(job, nullptr); });
  }
  void compute(const HeadLossBackward& job) override {
    turned([&] { head_loss_cuda(job, nullptr); });
  }
  void compute(const AdamStep& job) override {
    turned([&] { adam_cuda(job, nullptr); });
  }
  void compute(const GradientNorm& job) override {
    turned([&] { gradient_norm_cuda(job, nullptr); });
  }

 private:
  static constexpr std::size_t kAlignment = 256;

  /// The next launch runs in the other order: the checks ask for the same bits twice.
  template <typename Run>
  void turned(const Run& run) {
    emulated::set_order(backwards_ ? emulated::Order::backwards : emulated::Order::forwards);
    backwards_ = !backwards_;
    run();
  }

  std::vector<std::unique_ptr<std::byte[]>> memory_;
  bool backwards_ = false;
};

}  // namespace

TEST_CASE("emulated bias and GELU equals its definition") {
  EmulatedPlace place;
  check_all_bias_gelu(place, /*large=*/false);
}

TEST_CASE("emulated residual and norm equals its definition") {
  EmulatedPlace place;
  check_all_residual_norm(place, /*large=*/false);
}

TEST_CASE("emulated head and loss equals its definition") {
  EmulatedPlace place;
  check_all_head_loss(place, /*large=*/false);
}

TEST_CASE("emulated Adam equals its definition, and skips") {
  EmulatedPlace place;
  check_all_adam(place, /*large=*/false);
}

TEST_CASE("emulated gradient norm equals its definition, and counts what is not finite") {
  EmulatedPlace place;
  check_all_gradient_norm(place, /*large=*/false);
}
