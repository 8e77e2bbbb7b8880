#pragma once
// One step of a page, which enters stages and gives the results at the end.
#include <cstdint>
#include <utility>

#include "core/stage.h"

namespace isobar {

/// `Listener` has entered(stage), which belongs to the stage that has begun, and
/// finished(index, result, timer), once all stages have ended. `Timer` is a StageClock, or has more clocks.
template <typename Listener, typename Timer, typename Result>
class StepOf {
 public:
  /// `listener` outlives it.
  StepOf(std::int64_t index, Timer timer, Listener& listener)
      : index_(index), timer_(std::move(timer)), listener_(listener) {}

  std::int64_t index() const { return index_; }  ///< from 0
  const Timer& timer() const { return timer_; }

  /// Stands in front of what it times; may be called any number of times.
  void enter(Stage stage) {
    timer_.enter(stage);
    listener_.entered(stage);
  }
  /// Ends the stage: time until the next one belongs to none.
  void leave() { timer_.leave(); }

  /// Ends the step and records it. What follows (validation, say) belongs to no step.
  void finish(const Result& result) {
    timer_.leave();
    listener_.finished(index_, result, timer_);
  }

 private:
  std::int64_t index_;
  Timer timer_;
  Listener& listener_;
};

}  // namespace isobar
