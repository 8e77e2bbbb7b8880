#pragma once
// Mistakes at the begin of a stage: slow_stage, kill_rank, stop_rank.
#include <cstdint>
#include <string_view>

#include "comm/comm.h"
#include "config/fault.h"

namespace isobar {

/// Where kill_rank and stop_rank strike: `stage` ("start" and "checkpoint" besides those of a step) begins in
/// step `step`. In the stage comm this rank ends or stops in the middle of a collective of `comm`.
void strike_rank(const FaultSetting& fault, std::string_view stage, std::int64_t step, Comm& comm);

/// Once `stage` is timed: slow_stage sleeps.
void slow_down(const FaultSetting& fault, std::string_view stage);

}  // namespace isobar
