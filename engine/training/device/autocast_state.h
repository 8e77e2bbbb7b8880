#pragma once
// Which types autocast takes in this thread, as ATen/autocast_mode.h declares it. That header brings all of
// torch/library.h, which costs every file that asks 4 s to compile; tests/support/host_device/operators.cpp
// includes both, so that they agree.
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace at::autocast {

TORCH_API bool is_autocast_enabled(at::DeviceType device_type);
TORCH_API void set_autocast_enabled(at::DeviceType device_type, bool enabled);
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API void set_autocast_dtype(at::DeviceType device_type, at::ScalarType dtype);
TORCH_API bool is_autocast_cache_enabled();
TORCH_API void set_autocast_cache_enabled(bool enabled);
TORCH_API int increment_nesting();
TORCH_API int decrement_nesting();
TORCH_API void clear_cache();

}  // namespace at::autocast
