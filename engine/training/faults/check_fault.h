#pragma once
// What a fault needs of a run.
#include <c10/core/Device.h>

#include "config/config.h"
#include "core/fault.h"

namespace isobar {

/// Refuses (Error, exit code 2) `fault` where it would change nothing, and be searched for in vain: one of
/// uploads on a CPU, one of 16 bits in a run without them, one of a fusion that is off, one between replicas
/// where there is one; and where the ranks of a model would wait for each other for ever. `config` is
/// resolved.
void check_fault(const FaultSetting& fault, const Config& config, c10::Device device);

/// The fault that run.fault names, checked, for rank `rank`.
FaultSetting take_fault(const Config& config, std::int64_t rank, c10::Device device);

}  // namespace isobar
