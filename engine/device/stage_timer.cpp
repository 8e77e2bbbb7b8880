#include "device/stage_timer.h"

#include <numeric>

#include "core/clock.h"

namespace isobar {

std::int64_t StageTimes::rest_us() const {
  return step_us - std::accumulate(stage_us.begin(), stage_us.end(), std::int64_t{0});
}

StageTimer::StageTimer() : begin_us_(steady_us()) {}

void StageTimer::enter(Stage stage) {
  const std::int64_t now_us = steady_us();
  if (current_ < kStageNames.size()) times_.stage_us[current_] += now_us - entered_us_;
  current_ = static_cast<std::size_t>(stage);
  times_.entered[current_] = true;
  entered_us_ = now_us;
}

void StageTimer::leave() {
  if (current_ < kStageNames.size()) times_.stage_us[current_] += steady_us() - entered_us_;
  current_ = kStageNames.size();
}

StageTimes StageTimer::finish() {
  leave();
  times_.step_us = steady_us() - begin_us_;
  return times_;
}

}  // namespace isobar
