#pragma once
#include <c10/core/Device.h>

#include <string>

#include "config/config.h"
#include "config/fault.h"
#include "config/lesson.h"

namespace isobar {

/// What attention will run as, in words: "flash (picked by libtorch)". "" for a lesson that does not honour
/// model.attention. A form that this build, device, type or head size cannot run is an Error (exit code 2)
/// that names those that can; so is the fault math_attention where it would change nothing. `config` is
/// resolved.
std::string attention_text(const LessonInfo& lesson, const Config& config, const FaultSetting& fault,
                           c10::Device device);

}  // namespace isobar
