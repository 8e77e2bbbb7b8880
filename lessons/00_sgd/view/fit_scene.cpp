#include "00_sgd/view/fit_scene.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/load.h"
#include "core/error.h"
#include "core/text.h"
#include "record/run_folder.h"

namespace isobar::lesson_00 {
namespace {

constexpr std::size_t kNamedRanks = 4;
constexpr float kReach = 12;  // around the start, in pixels

struct FitKnob {
  const char* key;
  const char* title;
  double (*value)(const Config& config);
  std::vector<double> places;
};

const std::vector<FitKnob>& fit_knobs() {
  static const std::vector<FitKnob> kKnobs = {
      {"train.global_batch",
       "Samples a step",
       [](const Config& c) { return static_cast<double>(c.train.global_batch); },
       {1, 4, 20, 100, 500, 1000}},
      {"optim.lr",
       "Learning rate",
       [](const Config& c) { return c.optim.lr; },
       {0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 0.75, 0.8, 0.9}},
      {"run.ranks", "Ranks", [](const Config& c) { return static_cast<double>(c.run.ranks); }, {1, 2, 4}}};
  return kKnobs;
}

/// With the value of the settings among the places.
std::vector<double> places_of(const FitKnob& knob, const Config& config) {
  std::vector<double> out = knob.places;
  const double value = knob.value(config);
  const auto at = std::ranges::lower_bound(out, value);
  if (at == out.end() || *at != value) out.insert(at, value);
  return out;
}

SceneControl control_of(const FitKnob& knob, const Config& config) {
  SceneControl out{.kind = SceneControl::Kind::knob,
                   .name = std::string("knob ") + knob.key,
                   .title = knob.title,
                   .tip = std::string("--set ") + knob.key + "=..."};
  for (const double place : places_of(knob, config)) {
    if (place == knob.value(config)) out.at = out.places.size();
    out.places.push_back(fmt::format("{:g}", place));
  }
  return out;
}

std::string pair_text(const Line& line) {
  return fmt::format("({:.4f}, {:.4f})", line.slope, line.intercept);
}

}  // namespace

bool FitScene::take(const SceneInput& input, std::size_t shown) {
  faults_ = input.lesson.faults;
  const std::string made_of = joined(input.sets, " ");
  if (made_of_ != made_of) {
    made_of_ = made_of;
    problem_.clear();
    walk_.reset();
    try {
      config_ = load_config(input.home, input.lesson, {.sets = input.sets}, "cpu").config;
      walk_ = std::make_unique<DescentWalk>(config_);
    } catch (const Error& error) {
      problem_ = error.text();
    }
  }
  if (walk_) {
    while (descent().steps() <= std::min(shown, last())) walk_->step();
  }
  keep_run(input);
  return false;
}

void FitScene::keep_run(const SceneInput& input) {
  const bool is_other = run_ != input.run.id;
  const Stamp stamp = input.run.id.empty() ? Stamp{} : stamp_of(RunFolder{input.run.folder}.stream_file(0));
  if (!is_other && stamp == stamp_) return;
  run_ = input.run.id;
  stamp_ = stamp;
  recorded_.reset();
  if (run_.empty() || input.run.lesson != input.lesson.name) return;
  try {
    recorded_ = read_descent(input.run.folder, input.home);
  } catch (const Error&) {  // not begun yet, or damaged, as Watch reports
  }
}

std::vector<SceneControl> FitScene::controls() const {
  std::vector<SceneControl> out;
  for (const FitKnob& knob : fit_knobs()) out.push_back(control_of(knob, config_));
  SceneControl fault{.kind = SceneControl::Kind::list,
                     .name = "scene fault",
                     .title = "Mistake on purpose",
                     .places = {"none"}};
  for (const Fault one : faults_) {
    if (one == config_.run.fault) fault.at = fault.places.size();
    fault.places.emplace_back(name_of(one));
  }
  out.push_back(fault);
  out.push_back({.kind = SceneControl::Kind::choices,
                 .name = "loss by",
                 .places = {"by steps", "by samples"},
                 .at = by_samples_ ? std::size_t{1} : std::size_t{0}});
  return out;
}

Scene::Asked FitScene::turn(std::string_view name, std::size_t place) {
  if (name == "loss by") {
    by_samples_ = place == 1;
    return {};
  }
  if (name == "scene fault") {
    if (place == 0) return {.settings = {{"run.fault", "none"}}};
    Asked out{.settings = {{"run.fault", name_of(faults_.at(place - 1))}}};
    if (config_.run.ranks == 1) out.settings.emplace_back("run.ranks", "4");
    return out;
  }
  for (const FitKnob& knob : fit_knobs()) {
    if (name == std::string("knob ") + knob.key)
      return {.settings = {{knob.key, fmt::format("{:g}", places_of(knob, config_).at(place))}}};
  }
  return {};
}

/// Paths, arrows of the next step, and a view that holds still while one steps: it is that of all steps.
DescentScene FitScene::plane_of(const Theme& theme, std::size_t done) const {
  DescentScene out{LossBowl(descent().points)};
  if (recorded_) {
    for (const RankDescent& rank : recorded_->ranks) {
      std::vector<Line> path = rank.path();
      if (!out.paths.empty() && path == out.paths.front().path) continue;
      const std::string label = out.paths.empty() ? "the chosen run" : "";
      out.paths.push_back({label, std::move(path), theme.dim, Mark::none, Dash::dashed});
    }
  }
  const double lr = config_.optim.lr;
  const std::vector<ScenePath> paths = rank_paths(descent(), done, theme);
  const bool are_one = paths.size() == 1, several = descent().ranks.size() > 1;
  out.paths.insert(out.paths.end(), paths.begin(), paths.end());
  for (std::size_t i = 0; i < descent().ranks.size() && done < last(); ++i) {
    const DescentStep& step = descent().ranks[i].steps.at(done);
    const Line& from = descent().ranks[i].before(done);
    if (several)
      out.arrows.push_back({from,
                            {from.slope - lr * step.own.slope, from.intercept - lr * step.own.intercept},
                            theme.series[i % theme.series.size()]});
    if (i == 0 || !are_one) out.arrows.push_back({from, step.line, theme.text, several ? 3.0F : 2.0F});
  }
  fit_scene(out);
  out.low = {std::min(out.low.slope, -0.6), std::min(out.low.intercept, -0.2)};
  out.high = {std::max(out.high.slope, 2.8), std::max(out.high.intercept, 2.4)};
  return out;
}

float FitScene::paint(Sketch& sketch, std::size_t done, const Box& box) {
  const DescentScene plane = plane_of(sketch.theme(), done);
  const float x = box.x0 + sketch.px(10), room = box.width() - sketch.px(20);
  const float top = paint_scene_legend(sketch, plane, {x, box.y0 + sketch.px(10)}, room);
  const float free = (box.y1 - top - sketch.px(76)) / sketch.px(1);  // less the axes
  area_ = paint_scene(sketch, plane, {x, top}, room, std::max(60.0F, free));
  return box.y1;
}

std::vector<SceneGrip> FitScene::grips() const {
  if (!area_ || !walk_) return {};
  const Line& start = descent().ranks.front().start;
  const PlotPoint at = area_->at(start.slope, start.intercept);
  return {{.name = "scene start",
           .box = area_->box,
           .begin = Box{at.x - kReach, at.y - kReach, at.x + kReach, at.y + kReach},
           .tip = "Drag the start"}};
}

Scene::Asked FitScene::hold(std::string_view, PlotPoint at) {
  const double slope = area_->x.value(std::clamp(at.x, area_->box.x0, area_->box.x1));
  const double intercept = area_->y.value(std::clamp(at.y, area_->box.y0, area_->box.y1));
  return {.settings = {{"model.slope", fmt::format("{:.2f}", slope)},
                       {"model.intercept", fmt::format("{:.2f}", intercept)}}};
}

std::vector<std::string> FitScene::lines(std::size_t done) const {
  const std::size_t ranks = descent().ranks.size();
  const RankDescent& first = descent().ranks.front();
  const DescentStep& step = first.steps.at(done);
  const Line& line = first.before(done);
  const double lr = config_.optim.lr;
  const auto batch = static_cast<std::int64_t>(walk_->batch_of(0, done).size());
  std::vector<std::string> out = {
      fmt::format("step {}:  m = {:.4f}, n = {:.4f}", done + 1, line.slope, line.intercept),
      fmt::format("loss       L = 1/{} sum (m x + n - y)^2 = {:.5g}", config_.train.global_batch, step.loss)};
  if (ranks == 1) {
    out.push_back(fmt::format("gradients  dL/dm = 2/{} sum (m x + n - y) x = {:.4f}", batch, step.own.slope));
    out.push_back(
        fmt::format("           dL/dn = 2/{} sum (m x + n - y)   = {:.4f}", batch, step.own.intercept));
  } else {
    for (std::size_t rank = 0; rank < std::min(ranks, kNamedRanks); ++rank)
      out.push_back(fmt::format("rank {}     (dL/dm, dL/dn) of its {} samples = {}", rank, batch,
                                pair_text(descent().ranks[rank].steps.at(done).own)));
    if (ranks > kNamedRanks) out.push_back(fmt::format("           and {} ranks more", ranks - kNamedRanks));
    const char* const made = config_.comm.sync == SyncKind::none ? "own" : "mean";
    out.push_back(fmt::format("{:<11}taken by rank 0 = {}", made, pair_text(step.taken)));
  }
  out.push_back(fmt::format("update     m = {:.4f} - {:g} x {:.4f} = {:.4f}", line.slope, lr,
                            step.taken.slope, step.line.slope));
  out.push_back(fmt::format("           n = {:.4f} - {:g} x {:.4f} = {:.4f}", line.intercept, lr,
                            step.taken.intercept, step.line.intercept));
  return out;
}

Drawing FitScene::above(std::size_t done) const {
  if (!walk_) return {};
  return {"", "", "", [this, done](Sketch& sketch, PlotPoint at, float width) {
            const RankDescent& first = descent().ranks.front();
            const std::vector<FitLine> lines = {{first.start, sketch.theme().dim, Dash::dashed},
                                                {first.before(done), sketch.theme().series[0]}};
            return paint_fit(sketch, descent().points, lines, walk_->batch_of(0, done), at, width, 120).end;
          }};
}

std::optional<ScenePlot> FitScene::plot(std::size_t done, const Theme& theme) const {
  if (!walk_) return std::nullopt;
  const LossBowl bowl(descent().points);
  const RankDescent& first = descent().ranks.front();
  const double by = by_samples_ ? static_cast<double>(descent().batch()) : 1;
  std::vector<std::pair<double, double>> all, batches;
  for (std::size_t i = 0; i <= std::min(done, first.steps.size()); ++i)
    all.emplace_back(by * static_cast<double>(i), bowl.loss(first.before(i)));
  for (std::size_t i = 0; i < std::min(done, first.steps.size()); ++i)
    batches.emplace_back(by * static_cast<double>(i), first.steps[i].loss);
  ScenePlot out{.spec = {}, .log_y = true};
  out.spec.id = "descent-loss";
  out.spec.title = "Loss";
  out.spec.x_title = by_samples_ ? "samples" : "steps";
  out.spec.x_is_whole = true;
  out.spec.lines = {line_of("its batch", theme.series[1], batches),
                    line_of("all points", theme.series[0], all)};
  out.spec.levels = {{.label = "least", .value = bowl.least_loss(), .colour = theme.dim}};
  out.spec.empty = "Take a step.";
  return out;
}

namespace {

const AddScene kScene{{"Descent", [](const LessonInfo& lesson) { return lesson.name == "00_sgd"; },
                       []() -> std::unique_ptr<Scene> { return std::make_unique<FitScene>(); }}};

}  // namespace

}  // namespace isobar::lesson_00
