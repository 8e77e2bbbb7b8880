#pragma once
// Mixed precision by libtorch's autocast: matrix products, convolutions and attention take 16-bit copies of
// their inputs; norms, sums and the loss stay float32, and so do the parameters.
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "config/choices.h"

namespace isobar {

/// While one lives, operations on `device` in this thread run under autocast to the type of `mode`; with any
/// other mode nothing changes. Guards nest. Cast weights are kept until the outermost one ends, so weights
/// must not be updated inside; backward belongs outside. A processor that cannot multiply in 16 bits emulates
/// it from the first guard on (device/emulated_products.h).
class Autocast {
 public:
  Autocast(AmpMode mode, c10::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

  /// What the destructor does, earlier. The guards inside it must have ended.
  void end();

 private:
  c10::DeviceType device_;
  bool active_;
  bool was_enabled_ = false;
  bool was_caching_ = true;
  c10::ScalarType was_type_ = c10::ScalarType::Float;
};

}  // namespace isobar
