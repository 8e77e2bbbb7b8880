#pragma once
#include <c10/core/Device.h>

namespace isobar {

/// Floating-point operations per second that square float32 matrix products reach on `device` with the
/// threads in use, and on a CUDA device in the precision that apply_precision set: the best of a few, in
/// about a second at most. The denominator of MFU where no data sheet says it. 0 when the device has no
/// memory left for it.
double measure_peak_flops(c10::Device device);

}  // namespace isobar
