#include "device/nonfinite.h"

#include <c10/util/Exception.h>

#include "device/load_cuda.h"
#include "device/operator_watch.h"
#include "device/stream.h"
#include "kernels/count_nonfinite.h"

namespace isobar {

void add_nonfinite(const at::Tensor& values, at::Tensor& counter) {
  TORCH_CHECK(values.is_contiguous() && counter.numel() == 1 && counter.device() == values.device(),
              "add_nonfinite: contiguous values and a counter of one element on their device");
  const KernelScope scope("count_nonfinite", values.numel() * static_cast<std::int64_t>(sizeof(float)),
                          c10::ScalarType::Float);
  const float* const begin = values.const_data_ptr<float>();
  std::int64_t* const sum = counter.mutable_data_ptr<std::int64_t>();
  if (has_streams(values.device())) {
    const CudaPlugin& plugin = cuda_plugin();
    plugin.count_nonfinite(begin, values.numel(), sum, plugin.current_stream(values.device().index()));
  } else {
    *sum += count_nonfinite(begin, values.numel());
  }
}

}  // namespace isobar
