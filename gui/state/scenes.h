#pragma once
// What is gone through step by step: where the learner is in it, and what a lesson's scene shows.
#include <map>
#include <memory>
#include <string>

#include "plot/scene.h"
#include "widgets/plot_widget.h"

namespace isobar {

/// Steps that are looked at one by one, or played.
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
  void stop_at(std::size_t place) {
    shown = place;
    playing = false;
  }
};

struct SceneState : StepPlayer {
  std::unique_ptr<Scene> scene;
  std::string held;  ///< the grip that the mouse holds; "" = none
  PlotLink link;
  PlotView view;
};

struct ScenesState {
  std::map<std::string, SceneState> by_title;
  std::string wanted;  ///< the one to show where the lesson has none, by its title
};

}  // namespace isobar
