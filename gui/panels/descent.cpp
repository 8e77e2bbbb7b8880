#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/load.h"
#include "core/error.h"
#include "core/text.h"
#include "draw/descent_scene.h"
#include "panels/parts.h"
#include "panels/views.h"
#include "record/run_folder.h"
#include "widgets/plot_widget.h"

namespace isobar {
namespace {

constexpr const char* kLesson = "00_sgd";
constexpr double kStepEvery_s = 0.12;
constexpr float kSide = 330;

const std::vector<Knob>& descent_knobs() {
  static const std::vector<Knob> kKnobs = {
      {"train.global_batch", "Samples a step", "", "", {1, 4, 20, 100, 500, 1000}},
      {"optim.lr", "Learning rate", "", "", {0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 0.75, 0.8, 0.9}},
      {"run.ranks", "Ranks", "", "", {1, 2, 4}}};
  return kKnobs;
}

/// Begins again where the settings changed; keeps the number of steps that is looked at.
void keep_walk(const Data& data, const LessonCard& card, AppState& state) {
  DescentState& mine = state.descent;
  FormState& form = state.form();
  if (form.stale) check_form(data.project, form);
  const RunRequest request = request_of(form);
  const std::string made_of = joined(request.sets, " ");
  if (mine.made_of != made_of || (!mine.walk && mine.problem.empty())) {
    mine.made_of = made_of;
    mine.problem.clear();
    mine.walk.reset();
    try {
      mine.config = load_config(data.project.home, card.info, {.sets = request.sets}, "cpu").config;
      mine.walk = std::make_unique<DescentWalk>(*mine.config);
    } catch (const Error& error) {
      mine.problem = error.text();
      return;
    }
    mine.shown = std::min(mine.shown, mine.last());
  }
  if (!mine.walk) return;
  mine.go_on(mine.last(), state.now_s, kStepEvery_s);
  walk_on(mine);
}

/// The path of the chosen run, where it is one of this lesson.
void keep_run(const Data& data, AppState& state) {
  DescentState& mine = state.descent;
  const auto run = data.feed.runs->find(state.run);
  if (!run || run->view.lesson != kLesson) {
    mine.recorded.reset();
    mine.run.clear();
    return;
  }
  const Stamp stamp = stamp_of(RunFolder{run->folder}.stream_file(0));
  if (mine.run == run->id && mine.stamp == stamp) return;
  mine.run = run->id;
  mine.stamp = stamp;
  mine.recorded.reset();
  try {
    mine.recorded = read_descent(run->folder, data.project.home);
  } catch (const Error&) {  // it has not begun yet, or is damaged: Watch says so
  }
}

std::vector<Line> shown_path(const RankDescent& rank, std::size_t steps) {
  std::vector<Line> out = {rank.start};
  for (std::size_t i = 0; i < std::min(steps, rank.steps.size()); ++i) out.push_back(rank.steps[i].line);
  return out;
}

/// Paths, arrows of the next step, and a view that holds still while one steps: it is that of all steps.
DescentScene scene_of(const Theme& theme, const DescentState& mine) {
  const Descent& descent = mine.walk->so_far();
  DescentScene scene{LossBowl(descent.points)};
  if (mine.recorded) {
    for (const RankDescent& rank : mine.recorded->ranks) {
      std::vector<Line> path = rank.path();
      if (!scene.paths.empty() && path == scene.paths.front().path) continue;
      const std::string label = scene.paths.empty() ? "the chosen run" : "";
      scene.paths.push_back({label, std::move(path), theme.dim, Mark::none, Dash::dashed});
    }
  }
  const double lr = mine.config->optim.lr;
  const std::vector<ScenePath> paths = rank_paths(descent, mine.shown, theme);
  const bool are_one = paths.size() == 1;
  scene.paths.insert(scene.paths.end(), paths.begin(), paths.end());
  for (std::size_t i = 0; i < descent.ranks.size() && !mine.is_at_end(); ++i) {
    const DescentStep& step = descent.ranks[i].steps.at(mine.shown);
    const Line& from = descent.ranks[i].before(mine.shown);
    const bool several = descent.ranks.size() > 1;
    if (several)
      scene.arrows.push_back({from,
                              {from.slope - lr * step.own.slope, from.intercept - lr * step.own.intercept},
                              theme.series[i % theme.series.size()]});
    if (i == 0 || !are_one) scene.arrows.push_back({from, step.line, theme.text, several ? 3.0F : 2.0F});
  }
  fit_scene(scene);
  scene.low = {std::min(scene.low.slope, -0.6), std::min(scene.low.intercept, -0.2)};
  scene.high = {std::max(scene.high.slope, 2.8), std::max(scene.high.intercept, 2.4)};
  return scene;
}

/// The start follows the mouse while it is dragged.
void drag_start(Ui& ui, AppState& state, const ChartArea& area) {
  DescentState& mine = state.descent;
  const Line& start = mine.walk->so_far().ranks.front().start;
  const PlotPoint at = area.at(start.slope, start.intercept);
  const float reach = ui.px(12);
  const ImVec2 after = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos(least_of(area.box));
  const Area plane = ui.area("descent plane", {area.box.width(), area.box.height()});
  ui.record("descent start", {at.x - reach, at.y - reach, at.x + reach, at.y + reach});
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool near = std::hypot(mouse.x - at.x, mouse.y - at.y) < reach;
  if (plane.hovered && near) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    ui.tip("Drag the start");
  }
  if (ImGui::IsItemActivated()) mine.dragging = near;
  if (!plane.active) mine.dragging = false;
  ImGui::SetCursorScreenPos(after);
  if (!mine.dragging) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  const double slope = area.x.value(std::clamp(mouse.x, area.box.x0, area.box.x1));
  const double intercept = area.y.value(std::clamp(mouse.y, area.box.y0, area.box.y1));
  state.form().set("model.slope", fmt::format("{:.2f}", slope));
  state.form().set("model.intercept", fmt::format("{:.2f}", intercept));
  ui.ask_frame();
}

void draw_plane(Ui& ui, AppState& state, float height) {
  const DescentScene scene = scene_of(ui.theme(), state.descent);
  const Box box = ui.panel(height);
  ImGuiCanvas canvas = ui.canvas();
  Sketch sketch(canvas, ui.theme());
  const float x = box.x0 + ui.px(10), room = box.width() - ui.px(20);
  const float top = paint_scene_legend(sketch, scene, {x, box.y0 + ui.px(10)}, room);
  const float free = (box.y1 - top - ui.px(76)) / ui.fonts().scale;  // less the axes
  drag_start(ui, state, paint_scene(sketch, scene, {x, top}, room, std::max(60.0F, free)));
}

void draw_fit(Ui& ui, const DescentState& mine) {
  const Descent& descent = mine.walk->so_far();
  const Box box = ui.panel(ui.px(196), "descent fit");
  ImGuiCanvas canvas = ui.canvas();
  Sketch sketch(canvas, ui.theme());
  const std::vector<FitLine> lines = {{descent.ranks.front().start, ui.theme().dim, Dash::dashed},
                                      {descent.ranks.front().before(mine.shown), ui.theme().series[0]}};
  paint_fit(sketch, descent.points, lines, mine.walk->batch_of(0, mine.shown),
            {box.x0 + ui.px(10), box.y0 + ui.px(6)}, box.width() - ui.px(16), 120);
}

void draw_loss(Ui& ui, DescentState& mine, Requests& ask) {
  const Descent& descent = mine.walk->so_far();
  const LossBowl bowl(descent.points);
  const double by = mine.by_samples ? static_cast<double>(descent.batch()) : 1;
  std::vector<std::pair<double, double>> all, batches;
  const std::vector<Line> path = shown_path(descent.ranks.front(), mine.shown);
  for (std::size_t i = 0; i < path.size(); ++i)
    all.emplace_back(by * static_cast<double>(i), bowl.loss(path[i]));
  for (std::size_t i = 0; i < mine.shown; ++i)
    batches.emplace_back(by * static_cast<double>(i), descent.ranks.front().steps[i].loss);
  PlotSpec spec;
  spec.id = "descent-loss";
  spec.title = "Loss";
  spec.x_title = mine.by_samples ? "samples" : "steps";
  spec.x_is_whole = true;
  spec.lines = {line_of("its batch", ui.theme().series[1], batches),
                line_of("all points", ui.theme().series[0], all)};
  spec.levels = {{.label = "least", .value = bowl.least_loss(), .colour = ui.theme().dim}};
  spec.empty = "Take a step.";
  mine.view.log_y = true;
  mine.link.fit_x = true;
  mine.link.begin_frame();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const ImVec2 size = {room.x, std::max(ui.px(150), room.y)};
  save_plot(ui, show_plot(ui, spec, mine.view, mine.link, size), spec, mine.view, mine.link, "", ask);
}

void draw_settings(Ui& ui, AppState& state) {
  FormState& form = state.form();
  draw_form_knobs(ui, form, descent_knobs());
  std::vector<std::string> faults = {"none"};
  for (const Fault fault : state.descent.faults) faults.emplace_back(name_of(fault));
  std::string fault = form.text("run.fault");
  ui.text("Mistake on purpose", Face::bold);
  if (!ui.combo("descent fault", faults, fault, -1)) return;
  form.set("run.fault", fault);
  if (fault != "none" && form.text("run.ranks") == "1") form.set("run.ranks", "4");
}

void draw_steps(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  DescentState& mine = state.descent;
  draw_player(ui, mine, mine.last(), state.now_s);
  walk_on(mine);
  ImGui::SameLine();
  const RunRequest request = request_of(state.form());
  if (ui.button("Run it", ButtonKind::quiet, !data.starting && state.form().problem.empty(), "run descent"))
    ask.start = request;
  ui.tip(command_text(request));
  if (ui.beside().choice("by steps", !mine.by_samples)) mine.by_samples = false;
  if (ui.beside(2).choice("by samples", mine.by_samples)) mine.by_samples = true;
}

}  // namespace

void draw_descent(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const LessonCard* const card = data.project.find(state.lesson);
  if (card == nullptr || card->info.name != kLesson) {
    if (ui.empty_state("This is lesson 00's", "A line is fitted step by step there.", "Go to lesson 00"))
      ask.show_lesson = kLesson;
    return;
  }
  DescentState& mine = state.descent;
  mine.faults = card->info.faults;
  keep_walk(data, *card, state);
  keep_run(data, state);
  if (!mine.walk) {
    ui.wrapped(mine.problem, Face::bold, ui.theme().warn);
    draw_settings(ui, state);
    return;
  }
  draw_steps(ui, data, state, ask);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float side = std::min(ui.px(kSide), room.x * 0.42F);
  const float plane = std::max(ui.px(220), room.y - ui.px(20) * 8);  // less the formulas
  ImGui::BeginChild("descent left", {room.x - side - ui.px(10), 0});
  draw_plane(ui, state, plane);
  ImGui::Indent(ui.px(10));
  for (const std::string& line : step_text(mine)) ui.text(line, Face::mono_small);
  ImGui::Unindent(ui.px(10));
  ImGui::EndChild();
  ImGui::SameLine(0, ui.px(10));
  ImGui::BeginChild("descent right", {0, 0});
  draw_fit(ui, mine);
  draw_settings(ui, state);
  draw_loss(ui, mine, ask);
  ImGui::EndChild();
}

}  // namespace isobar
