#pragma once
// What a fault needs of a run.
#include <string>

#include "config/config.h"
#include "config/fault.h"

namespace isobar {

/// Refuses (Error, exit code 2) `fault` where it would change nothing, and be searched for in vain: one of
/// uploads on a CPU, one of 16 bits in a run without them, one of a fusion that is off, one between replicas
/// where there is one; and where the ranks of a model would wait for each other for ever. `config` is
/// resolved, `device` is what it runs on ("cpu", "cuda:0").
void check_fault(const FaultSetting& fault, const Config& config, const std::string& device);

/// The fault that run.fault names, checked, for rank `rank`.
FaultSetting take_fault(const Config& config, std::int64_t rank, const std::string& device);

}  // namespace isobar
