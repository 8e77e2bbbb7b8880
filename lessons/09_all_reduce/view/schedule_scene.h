#pragma once
// An all-reduce step by step: by the rules, for any ranks, chunks and link, or as the chosen run recorded it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "09_all_reduce/view/schedule_run.h"
#include "log/run_files.h"
#include "plot/scene.h"

namespace isobar::lesson_09 {

/// What a plan is made of.
struct SchedulePlan {
  AllReduceKind kind = AllReduceKind::ring;
  double ranks = 4;
  double chunks = 4;
  double bytes = 4 << 20;
  double latency_us = 50;
  double gbit_per_s = 10;
};

class ScheduleScene : public Scene {
 public:
  /// Reads the chosen run where it is another, or, every few seconds at most, where spans of a rank grew or
  /// it ended.
  bool take(const SceneInput& input, std::size_t shown) override;
  std::string problem() const override { return problem_; }
  std::string hint() const override { return hint_; }
  std::size_t last() const override { return schedule_ ? schedule_->steps.size() : 0; }
  double step_every_s() const override { return 0.7; }
  std::vector<SceneControl> controls() const override;
  Asked turn(std::string_view name, std::size_t place) override;
  Asked hold(std::string_view name, PlotPoint at) override;
  float paint(Sketch& sketch, std::size_t done, const Box& box) override;
  std::vector<SceneGrip> grips() const override;
  Drawing below() const override;

  /// Nothing where `problem` says why.
  const std::optional<Schedule>& schedule() const { return schedule_; }
  bool shows_run() const { return of_run_.value_or(recorded_ != nullptr); }
  /// The all-reduces of the run, in words.
  const std::vector<std::string>& choices() const { return choices_; }

 private:
  void keep_run(const SceneRun& run, double now_s);
  void read_run();
  void keep_schedule();
  void add_plan(std::vector<SceneControl>& out) const;
  void add_recorded(std::vector<SceneControl>& out) const;

  SchedulePlan plan_;
  std::optional<bool> of_run_;  ///< else the plan; before it is chosen the run, where it has an all-reduce
  ScheduleChoice chosen_ = {.step = -1, .of = ""};  ///< of the run; step -1 = the first
  std::string made_of_;                             ///< what `schedule_` was made of
  std::optional<Schedule> schedule_;
  std::string problem_, hint_;
  SceneRun run_;               ///< that `recorded_` is of
  std::vector<Stamp> stamps_;  ///< of the spans of all its ranks
  double looked_s_ = 0;        ///< when these were looked at
  bool begins_again_ = false;
  std::unique_ptr<const ScheduleRun> recorded_;
  std::vector<std::string> choices_;
  std::string run_problem_, run_hint_;  ///< why it has none
  Box clock_ = {};                      ///< of the picture that was painted last
};

}  // namespace isobar::lesson_09
