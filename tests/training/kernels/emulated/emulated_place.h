#pragma once
// The kernels where threads are emulated (device.h): every launch in the other order of threads than the one
// before.
#include <cstring>
#include <vector>

#include "kernels/count_nonfinite.h"
#include "kernels/emulated/device.h"
#include "kernels/emulated/watch.h"
#include "kernels/fused_checks.h"

namespace isobar {

class EmulatedPlace final : public KernelPlace {
 public:
  EmulatedPlace() = default;
  EmulatedPlace(const EmulatedPlace&) = delete;
  EmulatedPlace& operator=(const EmulatedPlace&) = delete;
  ~EmulatedPlace() override { EmulatedPlace::drop(); }

  std::byte* take(std::size_t bytes) override {
    memory_.push_back(emulated::take(emulated::Memory::global, "an operand", bytes, kAlignment));
    return memory_.back();
  }
  void drop() override {
    for (std::byte* const memory : memory_) emulated::give_back(memory);
    memory_.clear();
  }
  std::size_t margin() const override {
    return emulated::finds_accesses_beside() ? 0 : KernelPlace::margin();
  }
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
  void count_nonfinite(const float* values, std::int64_t n, std::int64_t* counter) override {
    turned([&] { count_nonfinite_cuda(values, n, counter, nullptr); });
  }
  void normalise(const DeviceFields& batch, std::optional<PackedField> packed, FieldOutput output) override {
    turned([&] {
      if (packed) return unpack_cuda(batch, *packed, output, nullptr);
      normalise_cuda(batch, output, nullptr);
    });
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

  std::vector<std::byte*> memory_;
  bool backwards_ = false;
};

}  // namespace isobar
