#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

#include "config/choices.h"

namespace isobar {

/// Floating-point operations per second that square matrix products of `type` reach on `device` with the
/// threads in use; those of float32 on a CUDA device in the precision that apply_precision set. The best of a
/// few, in about a second at most. The denominator of MFU where no data sheet has it. 0 when the device has
/// no memory left for it.
double measure_peak_flops(c10::Device device, c10::ScalarType type = c10::kFloat);

/// What MFU is a share of.
struct Peak {
  double flops_per_s = 0;        ///< 0 = not known
  bool from_data_sheet = false;  ///< else measured here, with matrix products
};

/// The peak of `device` in the arithmetic that `precision` (resolved) runs in, which is float32
/// where 16 bits are emulated: that of the data sheet where it is known, else measured. A product that is
/// measured may be slower than the best that the device can do, never faster.
Peak peak_of(c10::Device device, AmpMode precision);

}  // namespace isobar
