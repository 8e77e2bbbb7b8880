#include "config/with_fault.h"

#include "core/processors.h"

namespace isobar {
namespace {

using Change = void (*)(Config& config, const FaultSetting& setting);

/// In the order of Fault; most are empty.
constexpr Change kChanges[] = {
#define ISOBAR_FAULT_AS(name, text, made_by, shows, sentence, ...) \
  []([[maybe_unused]] Config& c, [[maybe_unused]] const FaultSetting& fault) { __VA_ARGS__; },
#include "config/faults.inc"
};

}  // namespace

Config with_fault(Config config, const FaultSetting& fault) {
  kChanges[static_cast<std::size_t>(fault.fault)](config, fault);
  return config;
}

}  // namespace isobar
