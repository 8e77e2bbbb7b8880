#include <algorithm>

#include "core/find.h"
#include "panels/parts.h"
#include "panels/views.h"

namespace isobar {
namespace {

constexpr float kSide = 330, kSideShare = 0.4F, kLeastPicture = 220, kLine = 20;

using Kind = SceneControl::Kind;

SceneInput input_of(const Data& data, const LessonCard& card, AppState& state) {
  FormState& form = state.form();
  if (form.stale) check_form(data.project, form);
  SceneInput out{.home = data.project.home,
                 .lesson = card.info,
                 .sets = request_of(form).sets,
                 .run = {},
                 .now_s = state.now_s};
  if (const auto run = data.feed.runs->find(state.run))
    out.run = {run->id, run->folder, title_of(*run), run->view.lesson, run->view.state == RunState::running};
  return out;
}

void take_asked(const Scene::Asked& asked, SceneState& mine, FormState& form) {
  for (const auto& [key, text] : asked.settings) form.set(key, text);
  if (asked.shown) mine.stop_at(*asked.shown);
}

/// The place that was chosen, if another one was.
std::optional<std::size_t> draw_choices(Ui& ui, const SceneControl& control) {
  std::optional<std::size_t> out;
  if (!control.title.empty()) ui.text(control.title, Face::bold);
  if (!control.title.empty() && !control.tip.empty()) ui.tip(control.tip);
  for (std::size_t i = 0; i < control.places.size(); ++i) {
    if (i > 0) ui.beside(2);
    if (ui.choice(control.places[i], i == control.at) && i != control.at) out = i;
  }
  return out;
}

std::optional<std::size_t> draw_control(Ui& ui, const SceneControl& control) {
  switch (control.kind) {
    case Kind::note:
      ui.note(control.title);
      return std::nullopt;
    case Kind::warning:
      ui.gap(8);
      ui.warning(control.title);
      return std::nullopt;
    case Kind::choices:
      return draw_choices(ui, control);
    case Kind::list: {
      std::string chosen = control.places.at(control.at);
      ui.text(control.title, Face::bold);
      if (!ui.combo(control.name, control.places, chosen, -1)) return std::nullopt;
      return std::ranges::find(control.places, chosen) - control.places.begin();
    }
    case Kind::knob:
      break;
  }
  int at = static_cast<int>(control.at);
  ui.text(control.title, Face::bold);
  if (!control.tip.empty()) ui.tip(control.tip);
  const bool turned = ui.notches(control.name, &at, static_cast<int>(control.places.size()),
                                 control.places.at(control.at), -1);
  return turned ? std::optional(static_cast<std::size_t>(at)) : std::nullopt;
}

void draw_controls(Ui& ui, SceneState& mine, FormState& form) {
  for (const SceneControl& control : mine.scene->controls()) {
    if (const auto place = draw_control(ui, control))
      take_asked(mine.scene->turn(control.name, *place), mine, form);
  }
}

/// What the mouse takes hold of follows it.
void hold_grips(Ui& ui, SceneState& mine, FormState& form) {
  const ImVec2 after = ImGui::GetCursorScreenPos();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  for (const SceneGrip& grip : mine.scene->grips()) {
    ImGui::SetCursorScreenPos(least_of(grip.box));
    const Area area =
        ui.area(grip.begin ? grip.name + " area" : grip.name, {grip.box.width(), grip.box.height()});
    const Box begin = grip.begin.value_or(grip.box);
    if (grip.begin) ui.record(grip.name, begin);
    const bool near =
        mouse.x >= begin.x0 && mouse.x <= begin.x1 && mouse.y >= begin.y0 && mouse.y <= begin.y1;
    if (area.hovered && near && !grip.tip.empty()) {
      ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
      ui.tip(grip.tip);
    }
    if (ImGui::IsItemActivated() && near) mine.held = grip.name;
    if (!area.active && mine.held == grip.name) mine.held.clear();
    if (mine.held != grip.name) continue;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    take_asked(mine.scene->hold(grip.name, {mouse.x, mouse.y}), mine, form);
    ui.ask_frame();
  }
  ImGui::SetCursorScreenPos(after);
}

void draw_picture(Ui& ui, SceneState& mine, FormState& form) {
  const std::vector<std::string> lines = mine.scene->lines(mine.shown);
  const float room = ImGui::GetContentRegionAvail().y - ImGui::GetStyle().ItemSpacing.y;
  const float height = lines.empty() ? room
                                     : std::max(ui.px(kLeastPicture),
                                                room - ui.px(kLine) * (static_cast<float>(lines.size()) + 1));
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const Box box = ui.panel(height, "scene");
  ImGuiCanvas canvas = ui.canvas();
  Sketch sketch(canvas, ui.theme());
  const float end = mine.scene->paint(sketch, mine.shown, box);
  hold_grips(ui, mine, form);
  ImGui::SetCursorScreenPos(top);
  ui.space(std::max(height, end - top.y));  // what exceeds the panel is scrolled to
  if (lines.empty()) return;
  ImGui::Indent(ui.px(10));
  for (const std::string& line : lines) ui.text(line, Face::mono_small);
  ImGui::Unindent(ui.px(10));
}

void draw_small(Ui& ui, const Drawing& drawing) {
  if (!drawing.body) return;
  ui.gap(8);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGuiCanvas canvas = ui.canvas();
  Sketch sketch(canvas, ui.theme());
  ui.space(drawing.body(sketch, point_of(at), ImGui::GetContentRegionAvail().x) - at.y);
}

void draw_scene_plot(Ui& ui, SceneState& mine, Requests& ask) {
  const std::optional<ScenePlot> plot = mine.scene->plot(mine.shown, ui.theme());
  if (!plot) return;
  mine.view.log_y = plot->log_y;
  mine.link.fit_x = true;
  mine.link.begin_frame();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const ImVec2 size = {room.x, std::max(ui.px(150), room.y)};
  save_plot(ui, show_plot(ui, plot->spec, mine.view, mine.link, size), plot->spec, mine.view, mine.link, "",
            ask);
}

void draw_run_button(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const RunRequest request = request_of(state.form());
  ImGui::SameLine();
  if (ui.button("Run it", ButtonKind::quiet, !data.starting && state.form().problem.empty(), "run scene"))
    ask.start = request;
  ui.tip(command_text(request));
}

/// Null where neither the lesson nor what was asked for has one.
const SceneKind* kind_of(const LessonCard& card, const AppState& state) {
  const SceneKind* const own = scene_of(card.info);
  return own != nullptr ? own : scene_named(state.scenes.wanted);
}

/// Its scene is made of settings that the chosen lesson does not have.
void lead_to_lesson(Ui& ui, const Data& data, const SceneKind& kind, Requests& ask) {
  const LessonCard* const its =
      find_where(data.project.lessons, [&](const LessonCard& card) { return scene_of(card.info) == &kind; });
  if (its == nullptr) return;
  if (ui.empty_state(std::string(kind.title) + " belongs to another lesson",
                     "It steps through what the settings of that lesson make.", "Go to " + its->info.name))
    ask.show_lesson = its->info.name;
}

void no_scene(Ui& ui) {
  ui.nothing("Nothing to step through", "This lesson has no scene. Its runs are shown by Watch.");
}

}  // namespace

void draw_scene(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const LessonCard* const card = data.project.find(state.lesson);
  const SceneKind* const kind = card == nullptr ? nullptr : kind_of(*card, state);
  if (kind == nullptr) return no_scene(ui);
  SceneState& mine = state.scenes.by_title[kind->title];
  if (!mine.scene) mine.scene = kind->make();
  Scene& scene = *mine.scene;
  if (scene.is_of_next_run() && scene_of(card->info) != kind) return lead_to_lesson(ui, data, *kind, ask);
  const SceneInput input = input_of(data, *card, state);
  if (scene.take(input, mine.shown)) mine.stop_at(0);
  const std::size_t taken = mine.shown = std::min(mine.shown, scene.last());
  mine.go_on(scene.last(), state.now_s, scene.step_every_s());
  draw_player(ui, mine, scene.last(), state.now_s);
  if (scene.is_of_next_run()) draw_run_button(ui, data, state, ask);
  if (mine.shown != taken) scene.take(input, mine.shown);
  const float room = ImGui::GetContentRegionAvail().x;
  const float side = std::min(ui.px(kSide), room * kSideShare);
  ImGui::BeginChild("scene left", {room - side - ui.px(10), 0});
  if (scene.problem().empty())
    draw_picture(ui, mine, state.form());
  else
    ui.empty_state(scene.problem(), scene.hint());
  ImGui::EndChild();
  ImGui::SameLine(0, ui.px(10));
  ImGui::BeginChild("scene right", {0, 0}, false, ImGuiWindowFlags_AlwaysUseWindowPadding);
  draw_small(ui, scene.above(mine.shown));
  draw_controls(ui, mine, state.form());
  draw_small(ui, scene.below());
  draw_scene_plot(ui, mine, ask);
  ImGui::EndChild();
}

}  // namespace isobar
