#include "state/kept_rates.h"

#include "core/error.h"
#include "core/text.h"

namespace isobar {

bool KeptRates::look() {
  const Stamp now = stamp_of(file_);
  if (now == stamp_) return false;
  stamp_ = now;
  rates_ = nullptr;
  problem_.clear();
  try {
    if (const std::optional<MachineRates> kept = kept_machine_rates(file_))
      rates_ = std::make_shared<const MachineRates>(*kept);
  } catch (const Error& error) {
    problem_ = printable(error.what(), 200);
  }
  return true;
}

}  // namespace isobar
