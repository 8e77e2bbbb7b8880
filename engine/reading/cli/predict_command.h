#pragma once
#include <string>
#include <vector>

#include "config/config.h"
#include "config/lesson.h"
#include "formula/step_time.h"

namespace isobar {

/// `predict LESSON [--device H200] [--preset P] [--config FILE] [--set key=value] [--run-dir DIR] [--json]`:
/// the step of the lesson on a device, from formulas; with --run-dir as a run folder that readers open,
/// marked predicted.
int predict_command(const std::vector<std::string>& arguments);

/// The step that a lesson's page runs with this configuration on a CUDA device: a key that the lesson does
/// not honour leaves its piece plain.
StepForm form_of(const LessonInfo& lesson, const Config& config);

}  // namespace isobar
