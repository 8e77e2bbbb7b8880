#pragma once
// What a prediction says.
#include <optional>

#include "analyse/run_prediction.h"
#include "cli/predicted_run.h"
#include "cli/report.h"
#include "config/lesson.h"

namespace isobar {

/// Of a device that need not be here.
Report device_report(const Prediction& prediction, const LessonInfo& lesson);

/// Of this machine, beside a run of it that measured the same where there is one.
Report here_report(const Prediction& prediction, const std::optional<RunLike>& measured);

}  // namespace isobar
