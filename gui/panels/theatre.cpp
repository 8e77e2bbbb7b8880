#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "draw/theatre_scene.h"
#include "panels/parts.h"
#include "panels/views.h"

namespace isobar {
namespace {

constexpr double kMoveEvery_s = 0.7;
constexpr float kKnobWidth = 260;
constexpr float kLeastCells = 90;

/// A knob of the plan with a few places.
struct PlanKnob {
  const char* name;
  const char* title;
  double TheatreState::*value;
  std::vector<double> places;
  std::string (*words)(double);
};

std::vector<double> counts_from(int first, int last) {
  std::vector<double> out;
  for (int i = first; i <= last; ++i) out.push_back(i);
  return out;
}

const std::vector<PlanKnob>& plan_knobs() {
  static const std::vector<PlanKnob> kKnobs = {
      {"theatre ranks", "Ranks, N", &TheatreState::ranks, counts_from(2, kMostTheatreRanks), knob_text},
      {"theatre chunks", "Chunks of the buffer, C", &TheatreState::chunks, counts_from(1, 32), knob_text},
      {"theatre bytes",
       "Buffer, S",
       &TheatreState::bytes,
       {1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20},
       [](double value) {
         return value < 1 << 20 ? fmt::format("{:g} KiB", value / (1 << 10))
                                : fmt::format("{:g} MiB", value / (1 << 20));
       }},
      {"theatre latency",
       "Latency of a message, a",
       &TheatreState::latency_us,
       {0, 1, 2, 5, 10, 20, 50, 100, 200, 1000},
       [](double value) { return fmt::format("{:g} us", value); }},
      {"theatre bandwidth",
       "Bandwidth of a link, B",
       &TheatreState::gbit_per_s,
       {0.1, 1, 10, 25, 100, 200, 400, 3600, 0},
       [](double value) { return value == 0 ? std::string("no limit") : fmt::format("{:g} Gb/s", value); }}};
  return kKnobs;
}

void draw_plan(Ui& ui, TheatreState& mine) {
  ui.text("Algorithm", Face::bold);
  ui.tip("--set comm.algorithm=...");
  for (const AllReduceKind kind : {AllReduceKind::naive, AllReduceKind::tree, AllReduceKind::ring}) {
    if (kind != AllReduceKind::naive) ImGui::SameLine(0, ui.px(2));
    if (ui.choice(name_of(kind), mine.kind == kind) && mine.kind != kind) {
      mine.kind = kind;
      mine.shown = 0;
    }
  }
  for (const PlanKnob& knob : plan_knobs()) {
    const bool one_a_rank = mine.chunks == mine.ranks;
    double& value = mine.*knob.value;
    if (!draw_knob(ui, knob.name, knob.title, "", knob.places, knob.words(value), value)) continue;
    if (&value == &mine.ranks && one_a_rank) mine.chunks = mine.ranks;
    if (&value == &mine.ranks || &value == &mine.chunks) mine.shown = 0;
  }
  if (!mine.run.id.empty() && !mine.run_problem.empty()) {
    ui.gap(8);
    ui.warning("The chosen run cannot be stepped through: " + mine.run_problem + ".");
    if (!mine.run_hint.empty()) ui.note(mine.run_hint);
  }
}

void draw_recorded(Ui& ui, TheatreState& mine, const std::string& title) {
  ui.wrapped(title, Face::bold, ui.theme().text);
  if (!mine.recorded) return;
  std::string chosen = choice_text(mine.chosen);
  ui.dim("The run's all-reduces");
  if (ui.combo("theatre step", mine.choices, chosen, -1)) {
    const auto place = std::find(mine.choices.begin(), mine.choices.end(), chosen) - mine.choices.begin();
    mine.chosen = mine.recorded->choices()[static_cast<std::size_t>(place)];
    mine.shown = 0;
  }
  if (const std::size_t more = mine.recorded->left_out(); more > 0)
    ui.note(fmt::format("The first {} are listed, {} more are left out.", mine.choices.size(), more));
  if (!mine.theatre) return;
  const Theatre& theatre = *mine.theatre;
  ui.dim(fmt::format("{}, {}, {}", name_of(theatre.kind), counted(theatre.ranks, "rank"),
                     human_bytes(static_cast<std::uint64_t>(theatre.bytes))));
  if (std::isnan(theatre.start.front().front())) {
    ui.gap(4);
    ui.note("The numbers themselves are recorded in step 0 of lesson 09 alone.");
  }
}

void draw_source(Ui& ui, TheatreState& mine) {
  const bool was = mine.shows_run();
  if (ui.choice("the plan", !was)) mine.of_run = false;
  if (ui.beside(2).choice("the chosen run", was)) mine.of_run = true;
  if (was == mine.shows_run()) return;
  mine.shown = 0;
  mine.playing = false;
  keep_theatre(mine);
}

/// The step that a click on the clock's bar goes to.
void click_clock(Ui& ui, TheatreState& mine, const Box& box) {
  ImGui::SetCursorScreenPos(least_of(box));
  const Area clock = ui.area("theatre clock", {box.width(), box.height()});
  if (!clock.active) return;
  const float part = (ImGui::GetIO().MousePos.x - clock.box.x0) / clock.box.width();
  mine.shown = theatre_step_at(*mine.theatre, std::clamp(part, 0.0F, 1.0F));
  mine.playing = false;
}

void draw_scene(Ui& ui, TheatreState& mine, float height) {
  const Theatre& theatre = *mine.theatre;
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const Box box = ui.panel(height);
  ImGuiCanvas canvas = ui.canvas();
  Sketch sketch(canvas, ui.theme());
  const float inset = ui.px(14), room = box.width() - 2 * inset, x = box.x0 + inset;
  float y = paint_theatre_clock(sketch, theatre, mine.shown, {x, box.y0 + inset}, room);
  const Box clock = {x, box.y0 + inset, x + room, y};
  // The longest sentence has two lines: what is below stands still while one steps.
  const float line = canvas.line_height(Face::text) * 1.2F;
  sketch.words({x, y + ui.px(8)}, room, theatre_sentence(theatre, mine.shown), {.face = Face::text});
  y += ui.px(8) + 2 * line + ui.px(10);
  const std::vector<std::string> counters = theatre_counter_lines(theatre, theatre.after(mine.shown));
  const float below = ui.px(12) + line * static_cast<float>(counters.size()) + inset;
  const float rest = theatre_rest_height(sketch, theatre, room);
  const float cells = (box.y1 - y - below - rest) / ui.fonts().scale;
  const float end = paint_theatre(sketch, theatre, mine.shown, {x, y}, room, std::max(kLeastCells, cells));
  ui.record("theatre cells", {x, y, x + room, end});
  y = end + ui.px(12);
  for (const std::string& words : counters) y = sketch.words({x, y}, room, words, {.face = Face::text});
  click_clock(ui, mine, clock);
  ImGui::SetCursorScreenPos(top);
  ui.space(std::max(height, y - top.y));  // what exceeds the panel is scrolled to
}

void draw_legend(Ui& ui, const Theatre& theatre) {
  ui.gap(8);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGuiCanvas canvas = ui.canvas();
  Sketch sketch(canvas, ui.theme());
  ui.space(paint_theatre_legend(sketch, theatre, point_of(at), ImGui::GetContentRegionAvail().x) - at.y);
}

}  // namespace

void draw_theatre(Ui& ui, const Data& data, AppState& state, Requests&) {
  TheatreState& mine = state.theatre;
  const auto run = data.feed.runs->find(state.run);
  keep_theatre_run(mine,
                   run ? ChosenRun{run->id, run->folder, run->view.state == RunState::running} : ChosenRun{},
                   state.now_s);
  keep_theatre(mine);
  mine.go_on(mine.last(), state.now_s, kMoveEvery_s);
  draw_player(ui, mine, mine.last(), state.now_s);
  ImGui::SameLine(0, ui.px(24));
  draw_source(ui, mine);
  const float room = ImGui::GetContentRegionAvail().x;
  const float side = std::min(ui.px(kKnobWidth), room * 0.36F);
  ImGui::BeginChild("theatre left", {room - side - ui.px(10), 0});
  if (mine.theatre) {
    draw_scene(ui, mine, ImGui::GetContentRegionAvail().y);
  } else {
    ui.empty_state(mine.problem, mine.hint);
  }
  ImGui::EndChild();
  ImGui::SameLine(0, ui.px(10));
  ImGui::BeginChild("theatre right", {0, 0}, false, ImGuiWindowFlags_AlwaysUseWindowPadding);
  if (mine.shows_run()) {
    draw_recorded(ui, mine, run ? title_of(*run) : "No run is chosen");
  } else {
    draw_plan(ui, mine);
  }
  if (mine.theatre) draw_legend(ui, *mine.theatre);
  ImGui::EndChild();
}

}  // namespace isobar
