#pragma once
#include <c10/core/Device.h>

#include "config/config.h"

namespace isobar {

/// Refuses (Error, exit code 2) the fault that was set (core/fault.h) where it would change nothing, and be
/// searched for in vain: one of uploads on a CPU, one of 16 bits in a run without them. `config` is resolved.
void check_fault(const Config& config, c10::Device device);

}  // namespace isobar
