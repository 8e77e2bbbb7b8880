#pragma once
// Mistakes in what a rank does that the others see: its collectives and its backward pass.
#include <memory>

#include "comm/comm_seam.h"
#include "config/fault.h"

namespace isobar {

/// For Comm::set_seam; does what was asked for where `fault` is none of these, or strikes another rank.
std::shared_ptr<CommSeam> rank_fault(const FaultSetting& fault);

}  // namespace isobar
