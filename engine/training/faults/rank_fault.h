#pragma once
// Mistakes in what a rank does that the others see: its collectives and its backward pass.
#include <cstdint>
#include <memory>

#include "comm/comm_seam.h"
#include "config/fault.h"

namespace isobar {

/// For Comm::set_seam; does what was asked for where `fault` is none of these, or strikes another rank. A
/// model of one replica gets its infinite gradient elsewhere (faults/parameter_fault.h).
std::shared_ptr<CommSeam> rank_fault(const FaultSetting& fault, std::int64_t replicas);

}  // namespace isobar
