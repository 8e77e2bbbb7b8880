#pragma once
// Runs that stand still in a step until their signal was sent: there is no moment to miss.
#include "lessons/lesson_run.h"

namespace isobar {

/// Of a run with run.fault=slow_stage: `signal` comes in the middle of the attempt's step `step`, from 1,
/// where the loop stands still until the signal was sent. Sleeps take no time.
inline ProcessOptions paused_in_step(const std::string& step, const std::filesystem::path& paused,
                                     int signal) {
  return {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_STILL=1", "SHIM_PAUSE_AT=" + step,
                          "SHIM_PAUSED=" + paused.string()},
          .signal = signal,
          .interrupt_when = when_there(paused),
          .interrupted = [paused] { std::filesystem::remove(paused); }};
}

}  // namespace isobar
