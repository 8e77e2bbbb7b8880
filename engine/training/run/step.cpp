#include "run/step.h"

#include <utility>

namespace isobar {

Step::Step(std::int64_t index, StageTimer timer, StepListener& listener)
    : index_(index), timer_(std::move(timer)), listener_(listener) {}

void Step::enter(Stage stage) {
  timer_.enter(stage);
  listener_.entered(stage);
}

void Step::finish(const StepResult& result) {
  timer_.leave();
  listener_.finished(index_, result, timer_);
}

}  // namespace isobar
