#pragma once
#include <c10/core/Device.h>

namespace isobar {

/// Floating-point operations per second that square float32 matrix products reach on `device` with the
/// threads in use: the best of a few, in under half a second. The denominator of MFU on a CPU, where no data
/// sheet says it.
double measure_peak_flops(c10::Device device);

}  // namespace isobar
