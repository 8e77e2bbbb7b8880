#pragma once
// Steps that are looked at one by one, or played.
#include <cstddef>

namespace isobar {

struct StepPlayer {
  std::size_t shown = 0;  ///< steps done, as far as one looks at
  bool playing = false;
  double next_s = 0;  ///< when the next step is due

  /// Does the next step where its time has come; stops behind the last.
  void go_on(std::size_t last, double now_s, double every_s) {
    playing = playing && shown < last;
    if (!playing || now_s < next_s) return;
    ++shown;
    next_s = now_s + every_s;
  }
};

}  // namespace isobar
