#include "device/stage_timer.h"

#include "core/clock.h"

namespace isobar {

StageTimer::StageTimer() : begin_us_(steady_us()), since_us_(begin_us_) {}

void StageTimer::close(std::int64_t now_us) {
  std::int64_t& running = current_ < kStageNames.size() ? times_.stage_us[current_] : times_.rest_us;
  running += now_us - since_us_;
  since_us_ = now_us;
}

void StageTimer::enter(Stage stage) {
  close(steady_us());
  current_ = static_cast<std::size_t>(stage);
  times_.entered[current_] = true;
}

void StageTimer::leave() {
  close(steady_us());
  current_ = kStageNames.size();
}

StageTimes StageTimer::finish() {
  leave();
  times_.step_us = steady_us() - begin_us_;
  return times_;
}

}  // namespace isobar
