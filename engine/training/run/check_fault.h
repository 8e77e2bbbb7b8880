#pragma once
// What a lesson and a fault need of the device.
#include <c10/core/Device.h>

#include "config/config.h"
#include "config/lesson.h"

namespace isobar {

/// Refuses (Error, exit code 2) the fault that was set (core/fault.h) where it would change nothing, and be
/// searched for in vain: one of uploads on a CPU, one of 16 bits in a run without them, one of a fusion that
/// is off, one between replicas where there is one; and where the ranks of a model would wait for each other
/// for ever. `config` is resolved.
void check_fault(const Config& config, c10::Device device);

/// Refuses (Error, exit code 2) a lesson that needs a CUDA device on another one. `./isobar run` finds it out
/// before it starts the program, where there is no driver.
void check_needs(const LessonInfo& lesson, c10::Device device);

}  // namespace isobar
