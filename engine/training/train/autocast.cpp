#include "train/autocast.h"

#include "device/autocast_state.h"
#include "device/emulated_products.h"
#include "device/precision.h"

namespace isobar {

namespace ac = at::autocast;

Autocast::Autocast(AmpMode mode, c10::Device device)
    : device_(device.type()), active_(half_type(mode).has_value()) {
  if (!active_) return;
  if (device.is_cpu()) emulate_products();
  was_enabled_ = ac::is_autocast_enabled(device_);
  was_type_ = ac::get_autocast_dtype(device_);
  was_caching_ = ac::is_autocast_cache_enabled();
  // One cache serves all types: a weight cast to another one would be handed out and not fit.
  if (was_enabled_ && was_type_ != *half_type(mode)) ac::clear_cache();
  ac::set_autocast_enabled(device_, true);
  ac::set_autocast_dtype(device_, *half_type(mode));
  ac::set_autocast_cache_enabled(true);
  ac::increment_nesting();
}

Autocast::~Autocast() { end(); }

void Autocast::end() {
  if (!active_) return;
  active_ = false;
  const bool other_type_goes_on = was_enabled_ && was_type_ != ac::get_autocast_dtype(device_);
  if (ac::decrement_nesting() == 0 || other_type_goes_on) ac::clear_cache();
  ac::set_autocast_enabled(device_, was_enabled_);
  ac::set_autocast_dtype(device_, was_type_);
  ac::set_autocast_cache_enabled(was_caching_);
}

}  // namespace isobar
