#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace isobar {

/// Floating-point operations per second that square matrix products of `type` reach on `device` with the
/// threads in use; those of float32 on a CUDA device in the precision that apply_precision set. The best of a
/// few, in about a second at most. The denominator of MFU where no data sheet says it. 0 when the device has
/// no memory left for it.
double measure_peak_flops(c10::Device device, c10::ScalarType type = c10::kFloat);

}  // namespace isobar
