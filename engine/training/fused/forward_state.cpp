#include "fused/forward_state.h"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>

#include <cstddef>
#include <mutex>

#include "config/fault.h"
#include "device/autocast_state.h"

namespace isobar {
namespace {

namespace ac = at::autocast;

/// Generators that operations on `device` draw from when none is named.
std::vector<at::Generator> generators_of(c10::Device device) {
  std::vector<at::Generator> out = {at::globalContext().defaultGenerator(c10::Device(c10::kCPU))};
  if (!device.is_cpu()) out.push_back(at::globalContext().defaultGenerator(device));
  return out;
}

}  // namespace

ForwardState::ForwardState(c10::Device device, bool draws)
    : device_(device),
      autocast_{ac::is_autocast_enabled(device.type()), ac::is_autocast_cache_enabled(),
                ac::get_autocast_dtype(device.type())} {
  if (!draws) return;
  for (at::Generator& generator : generators_of(device)) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    random_.push_back(generator.get_state());
  }
}

void ForwardState::set_random() const {
  std::vector<at::Generator> generators = generators_of(device_);
  for (std::size_t i = 0; i < random_.size(); ++i) {
    const std::lock_guard<std::mutex> lock(generators[i].mutex());
    generators[i].set_state(random_[i]);
  }
}

void ForwardState::set_autocast() const {
  ac::set_autocast_enabled(device_.type(), autocast_.enabled);
  ac::set_autocast_dtype(device_.type(), autocast_.type);
  ac::set_autocast_cache_enabled(autocast_.caches);
}

RestoredState::RestoredState(const ForwardState& state)
    : state_(state),
      before_(state.device_, !state.random_.empty()),
      draws_(!state.random_.empty() && !has_fault(Fault::no_rng_restore)),
      casts_(!has_fault(Fault::no_autocast_restore)) {
  if (draws_) state_.set_random();
  if (!casts_) return;
  // One cache serves all types: a weight that was cast to another one would be handed out.
  if (before_.autocast_.enabled && before_.autocast_.type != state_.autocast_.type) ac::clear_cache();
  state_.set_autocast();
  ac::increment_nesting();
}

RestoredState::~RestoredState() {
  if (casts_) {
    if (ac::decrement_nesting() == 0 || before_.autocast_.type != state_.autocast_.type) ac::clear_cache();
    before_.set_autocast();
  }
  if (draws_) before_.set_random();
}

}  // namespace isobar
