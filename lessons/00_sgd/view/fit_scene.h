#pragma once
// The fit of a line, step by step, from a start that is dragged, with the path of the chosen run beside it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "00_sgd/view/descent.h"
#include "00_sgd/view/plane.h"
#include "log/run_files.h"
#include "plot/scene.h"

namespace isobar::lesson_00 {

class FitScene : public Scene {
 public:
  bool take(const SceneInput& input, std::size_t shown) override;
  std::string problem() const override { return problem_; }
  std::size_t last() const override {
    return walk_ == nullptr ? 0 : static_cast<std::size_t>(config_.train.steps);
  }
  double step_every_s() const override { return 0.12; }
  bool is_of_next_run() const override { return true; }
  std::vector<SceneControl> controls() const override;
  Asked turn(std::string_view name, std::size_t place) override;
  Asked hold(std::string_view name, PlotPoint at) override;
  float paint(Sketch& sketch, std::size_t done, const Box& box) override;
  std::vector<SceneGrip> grips() const override;
  /// The formulas of the step that comes next, with its numbers.
  std::vector<std::string> lines(std::size_t done) const override;
  Drawing above(std::size_t done) const override;
  std::optional<ScenePlot> plot(std::size_t done, const Theme& theme) const override;

  const Config& config() const { return config_; }
  /// Null where the settings cannot be.
  const DescentWalk* walk() const { return walk_.get(); }

 private:
  const Descent& descent() const { return walk_->so_far(); }
  void keep_run(const SceneInput& input);
  DescentScene plane_of(const Theme& theme, std::size_t done) const;

  std::string made_of_ = "\n";  ///< settings; none are these
  std::string problem_;
  Config config_;
  std::unique_ptr<DescentWalk> walk_;  ///< one step more than is looked at: its gradients are the arrows
  std::vector<Fault> faults_;
  bool by_samples_ = false;
  std::string run_;  ///< the run that `recorded_` is of, by id
  Stamp stamp_;
  std::optional<Descent> recorded_;
  std::optional<ChartArea> area_;  ///< of the plane that was painted last
};

}  // namespace isobar::lesson_00
