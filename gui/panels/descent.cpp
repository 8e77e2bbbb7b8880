#include "panels/descent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/load.h"
#include "core/error.h"
#include "core/text.h"
#include "draw/descent_scene.h"
#include "panels/run_form.h"
#include "record/run_folder.h"
#include "widgets/plot_widget.h"

namespace isobar {
namespace {

constexpr const char* kLesson = "00_sgd";
constexpr double kStepEvery_s = 0.12;
constexpr float kSide = 330;

struct DescentKnob {
  const char* key;
  const char* title;
  std::vector<double> places;
};

const std::vector<DescentKnob>& descent_knobs() {
  static const std::vector<DescentKnob> kKnobs = {
      {"train.global_batch", "Samples a step", {1, 4, 20, 100, 500, 1000}},
      {"optim.lr", "Learning rate", {0.02, 0.05, 0.1, 0.2, 0.5, 0.7, 0.75, 0.8, 0.9}},
      {"run.ranks", "Ranks", {1, 2, 4}}};
  return kKnobs;
}

void set_key(FormState& form, const std::string& key, const std::string& text) {
  if (form.values[key] == text) {
    form.changed.erase(key);
  } else {
    form.changed[key] = text;
  }
  form.stale = true;
}

std::string text_of(const FormState& form, const std::string& key) {
  const auto changed = form.changed.find(key);
  const auto value = form.values.find(key);
  return changed != form.changed.end() ? changed->second : value != form.values.end() ? value->second : "";
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
      Settings settings;
      settings.sets = request.sets;
      mine.config = load_config(data.project.home, card.info, settings, "cpu").config;
      mine.walk = std::make_unique<DescentWalk>(*mine.config);
    } catch (const Error& error) {
      mine.problem = error.text();
      return;
    }
    mine.shown = std::min(mine.shown, static_cast<std::size_t>(mine.config->train.steps));
  }
  if (!mine.walk) return;
  if (mine.is_due(state.now_s)) {
    ++mine.shown;
    mine.next_s = state.now_s + kStepEvery_s;
  }
  if (mine.is_at_end()) mine.playing = false;
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
  ImGui::SetCursorScreenPos({area.box.x0, area.box.y0});
  ImGui::InvisibleButton("descent plane", {area.box.width(), area.box.height()});
  ui.record("descent plane");
  ui.record("descent start", {at.x - reach, at.y - reach, at.x + reach, at.y + reach});
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool near = std::hypot(mouse.x - at.x, mouse.y - at.y) < reach;
  if (ImGui::IsItemHovered() && near) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    ui.tip("Drag the start");
  }
  if (ImGui::IsItemActivated()) mine.dragging = near;
  if (!ImGui::IsItemActive()) mine.dragging = false;
  if (!mine.dragging) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  const double slope = area.x.value(std::clamp(mouse.x, area.box.x0, area.box.x1));
  const double intercept = area.y.value(std::clamp(mouse.y, area.box.y0, area.box.y1));
  set_key(state.form(), "model.slope", fmt::format("{:.2f}", slope));
  set_key(state.form(), "model.intercept", fmt::format("{:.2f}", intercept));
  ui.ask_frame();
}

void draw_plane(Ui& ui, AppState& state, float width, float height) {
  const DescentScene scene = scene_of(ui.theme(), state.descent);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGuiCanvas canvas = ui.canvas();
  canvas.fill({at.x, at.y, at.x + width, at.y + height}, ui.theme().panel, ui.px(6));
  Sketch sketch(canvas, ui.theme());
  const float inset = ui.px(10);
  const float top = paint_scene_legend(sketch, scene, {at.x + inset, at.y + inset}, width - 2 * inset);
  const float scale = ui.fonts().scale;
  const float axes = ui.px(76);
  const ChartArea area = paint_scene(sketch, scene, {at.x + inset, top}, width - 2 * inset,
                                     std::max(60.0F, (height - (top - at.y) - axes) / scale));
  drag_start(ui, state, area);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, height});
}

void draw_fit(Ui& ui, const DescentState& mine, float width) {
  const Descent& descent = mine.walk->so_far();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = ui.px(196);
  ImGuiCanvas canvas = ui.canvas();
  canvas.fill({at.x, at.y, at.x + width, at.y + height}, ui.theme().panel, ui.px(6));
  Sketch sketch(canvas, ui.theme());
  std::vector<FitLine> lines = {{descent.ranks.front().start, ui.theme().dim, Dash::dashed},
                                {descent.ranks.front().before(mine.shown), ui.theme().series[0]}};
  paint_fit(sketch, descent.points, lines, mine.walk->batch_of(0, mine.shown),
            {at.x + ui.px(10), at.y + ui.px(6)}, width - ui.px(16), 120);
  ui.record("descent fit", {at.x, at.y, at.x + width, at.y + height});
  ImGui::Dummy({width, height});
}

void draw_loss(Ui& ui, AppState& state, float width, float height, Requests& ask) {
  DescentState& mine = state.descent;
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
  const PlotAsk asked = show_plot(ui, spec, mine.view, mine.link, {width, height});
  if (asked.export_wanted)
    ask.save = SaveRequest{
        spec.id, asked.kind,
        plot_file(ui, asked.kind, spec, mine.view, mine.link, asked.box.width(), asked.box.height())};
}

void draw_descent_knobs(Ui& ui, AppState& state) {
  FormState& form = state.form();
  for (const DescentKnob& knob : descent_knobs()) {
    const std::string text = text_of(form, knob.key);
    const double value = std::strtod(text.c_str(), nullptr);
    std::vector<double> places = knob.places;
    if (std::find(places.begin(), places.end(), value) == places.end()) {
      places.push_back(value);
      std::sort(places.begin(), places.end());
    }
    int at = static_cast<int>(std::find(places.begin(), places.end(), value) - places.begin());
    ui.text(knob.title, Face::bold);
    ui.tip(std::string("--set ") + knob.key + "=...");
    if (ui.notches(std::string("knob ") + knob.key, &at, static_cast<int>(places.size()),
                   fmt::format("{:g}", value), -1))
      set_key(form, knob.key, fmt::format("{:g}", places[static_cast<std::size_t>(at)]));
  }
  std::vector<std::string> faults = {"none"};
  for (const Fault fault : state.descent.faults) faults.emplace_back(name_of(fault));
  std::string fault = text_of(form, "run.fault");
  ui.text("Mistake on purpose", Face::bold);
  if (ui.combo("descent fault", faults, fault, -1)) {
    set_key(form, "run.fault", fault);
    if (fault != "none" && text_of(form, "run.ranks") == "1") set_key(form, "run.ranks", "4");
  }
}

void draw_steps(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  DescentState& mine = state.descent;
  const bool at_end = mine.is_at_end();
  if (ui.button("Step", ButtonKind::primary, !at_end)) {
    ++mine.shown;
    walk_on(mine);
  }
  ImGui::SameLine();
  if (ui.button("Back", ButtonKind::plain, mine.shown > 0, "step back")) --mine.shown;
  ImGui::SameLine();
  if (ui.button(mine.playing ? "Pause" : "Play", ButtonKind::plain, !at_end, "play steps")) {
    mine.playing = !mine.playing;
    mine.next_s = state.now_s;
  }
  ImGui::SameLine();
  if (ui.button("To the start", ButtonKind::quiet, mine.shown > 0)) {
    mine.shown = 0;
    mine.playing = false;
  }
  ImGui::SameLine();
  if (ui.button("To the end", ButtonKind::quiet, !at_end)) {
    mine.shown = static_cast<std::size_t>(std::min<std::int64_t>(mine.config->train.steps, 100'000));
    walk_on(mine);
  }
  ImGui::SameLine();
  const RunRequest request = request_of(state.form());
  if (ui.button("Run it", ButtonKind::quiet, !data.starting && state.form().problem.empty(), "run descent"))
    ask.start = request;
  ui.tip(command_text(request));
  ImGui::SameLine();
  if (ui.choice("by steps", !mine.by_samples)) mine.by_samples = false;
  ImGui::SameLine(0, ui.px(2));
  if (ui.choice("by samples", mine.by_samples)) mine.by_samples = true;
}

}  // namespace

Requests draw_descent(Ui& ui, const Data& data, AppState& state) {
  Requests ask;
  const LessonCard* const card = data.project.find(state.lesson);
  if (card == nullptr || card->info.name != kLesson) {
    if (ui.empty_state("This is lesson 00's", "A line is fitted step by step there.", "Go to lesson 00"))
      ask.show_lesson = kLesson;
    return ask;
  }
  DescentState& mine = state.descent;
  mine.faults = card->info.faults;
  keep_walk(data, *card, state);
  keep_run(data, state);
  if (!mine.walk) {
    ui.wrapped(mine.problem, Face::bold, ui.theme().warn);
    draw_descent_knobs(ui, state);
    return ask;
  }
  draw_steps(ui, data, state, ask);
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float side = std::min(ui.px(kSide), room.x * 0.42F);
  const float text = ui.px(20) * 8;
  const float plane = std::max(ui.px(220), room.y - text);
  ImGui::BeginChild("descent left", {room.x - side - ui.px(10), 0});
  draw_plane(ui, state, ImGui::GetContentRegionAvail().x, plane);
  ImGui::Indent(ui.px(10));
  for (const std::string& line : step_text(mine)) ui.text(line, Face::mono_small, ui.theme().text);
  ImGui::Unindent(ui.px(10));
  ImGui::EndChild();
  ImGui::SameLine(0, ui.px(10));
  ImGui::BeginChild("descent right", {0, 0});
  draw_fit(ui, mine, ImGui::GetContentRegionAvail().x);
  draw_descent_knobs(ui, state);
  draw_loss(ui, state, ImGui::GetContentRegionAvail().x,
            std::max(ui.px(150), ImGui::GetContentRegionAvail().y), ask);
  ImGui::EndChild();
  if (mine.playing) ui.ask_frame();
  return ask;
}

}  // namespace isobar
