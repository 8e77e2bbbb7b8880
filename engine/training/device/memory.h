#pragma once
// How much memory there is, was used at most, and buffers that a device can fetch from by itself.
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cuda/memory.h"

namespace isobar {

/// Most bytes at once: on a CUDA device those that tensors of this process held there, since it began or
/// since `reset_peak_bytes`; on the CPU peak_own_bytes(), which cannot be reset.
std::int64_t peak_bytes(c10::Device device);
void reset_peak_bytes(c10::Device device);

/// Memory of the device (of the machine, for a CPU) that no process uses now, and all of it.
FreeAndTotal memory_now(c10::Device device);

/// What to do where a run needs more than `memory` has free; names memory of a CUDA device that other
/// programs take.
std::string memory_hint(c10::Device device, const FreeAndTotal& memory);

/// Bytes of host memory that `device` copies from: page-locked for a CUDA device, so that a copy runs beside
/// both processor and kernels; in huge pages for the CPU, where threads write them. Zeroed. Error (exit code
/// 1) when there is not as much.
class HostBuffer {
 public:
  HostBuffer(std::size_t bytes, c10::Device device);

  std::span<std::byte> bytes() { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

 private:
  std::shared_ptr<std::byte> data_;
  std::size_t size_ = 0;
};

/// Values of a HostBuffer as a tensor of the CPU, zeroed: float32, or of another type.
at::Tensor host_tensor(std::int64_t count, c10::Device device, at::ScalarType type = at::kFloat);

/// Bytes that all of these hold now. No account of tensors has them.
std::uint64_t host_tensor_bytes();

}  // namespace isobar
