#pragma once
// What a lesson needs of the device.
#include <c10/core/Device.h>

#include "config/config.h"

namespace isobar {

/// Refuses (Error, exit code 2) a lesson that needs a CUDA device on another one. `./isobar run` finds it out
/// before it starts the program, where there is no driver.
void check_needs(const LessonInfo& lesson, c10::Device device);

}  // namespace isobar
