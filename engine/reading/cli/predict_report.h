#pragma once
// The step of a lesson from formulas, as a report.
#include <optional>

#include "analyse/predicted_run.h"
#include "analyse/run_prediction.h"
#include "cli/report.h"

namespace isobar {

/// A prediction for a device that need not be here.
Report device_report(const Prediction& prediction, const LessonInfo& lesson);

/// A prediction for this machine, beside a run of it that measured the same where there is one.
Report here_report(const Prediction& prediction, const std::optional<RunLike>& measured);

}  // namespace isobar
