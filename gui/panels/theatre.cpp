#include "panels/theatre.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "draw/theatre_scene.h"

namespace isobar {
namespace {

constexpr double kMoveEvery_s = 0.7;
constexpr float kKnobWidth = 260;
constexpr float kLeastCells = 90;

/// A knob of the plan with a few places.
struct PlanKnob {
  const char* name;
  const char* title;
  std::vector<double> places;
  std::string (*words)(double);
};

std::string plain_words(double value) { return fmt::format("{:g}", value); }

std::vector<double> counts_from(int first, int last) {
  std::vector<double> out;
  for (int i = first; i <= last; ++i) out.push_back(i);
  return out;
}

const std::vector<PlanKnob>& plan_knobs() {
  static const std::vector<PlanKnob> kKnobs = {
      {"theatre ranks", "Ranks, N", counts_from(2, kMostTheatreRanks), plain_words},
      {"theatre chunks", "Chunks of the buffer, C", counts_from(1, 32), plain_words},
      {"theatre bytes",
       "Buffer, S",
       {1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20},
       [](double value) {
         return value < 1 << 20 ? fmt::format("{:g} KiB", value / (1 << 10))
                                : fmt::format("{:g} MiB", value / (1 << 20));
       }},
      {"theatre latency",
       "Latency of a message, a",
       {0, 1, 2, 5, 10, 20, 50, 100, 200, 1000},
       [](double value) { return fmt::format("{:g} us", value); }},
      {"theatre bandwidth",
       "Bandwidth of a link, B",
       {0.1, 1, 10, 25, 100, 200, 400, 3600, 0},
       [](double value) { return value == 0 ? std::string("no limit") : fmt::format("{:g} Gb/s", value); }}};
  return kKnobs;
}

double knob_value(const TheatreState& mine, std::size_t knob) {
  const double values[] = {static_cast<double>(mine.ranks), static_cast<double>(mine.chunks), mine.bytes,
                           mine.latency_us, mine.gbit_per_s};
  return values[knob];
}

void turn_knob(TheatreState& mine, std::size_t knob, double value) {
  if (knob == 0) {
    if (mine.chunks == mine.ranks) mine.chunks = static_cast<int>(value);  // one a rank, as it was
    mine.ranks = static_cast<int>(value);
  }
  if (knob == 1) mine.chunks = static_cast<int>(value);
  if (knob == 2) mine.bytes = value;
  if (knob == 3) mine.latency_us = value;
  if (knob == 4) mine.gbit_per_s = value;
  if (knob < 2) mine.shown = 0;
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
  const std::vector<PlanKnob>& knobs = plan_knobs();
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    const PlanKnob& knob = knobs[i];
    const double value = knob_value(mine, i);
    int at = static_cast<int>(std::find(knob.places.begin(), knob.places.end(), value) - knob.places.begin());
    ui.text(knob.title, Face::bold);
    if (ui.notches(knob.name, &at, static_cast<int>(knob.places.size()), knob.words(value), -1))
      turn_knob(mine, i, knob.places[static_cast<std::size_t>(at)]);
  }
  if (!mine.run.id.empty() && !mine.run_problem.empty()) {
    ui.gap(8);
    ui.wrapped("The chosen run cannot be stepped through: " + mine.run_problem + ".", Face::small,
               ui.theme().warn);
    if (!mine.run_hint.empty()) ui.wrapped(mine.run_hint, Face::small, ui.theme().dim);
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
    ui.wrapped(fmt::format("The first {} are listed, {} more are left out.", mine.choices.size(), more),
               Face::small, ui.theme().dim);
  if (!mine.theatre) return;
  const Theatre& theatre = *mine.theatre;
  ui.dim(fmt::format("{}, {}, {}", name_of(theatre.kind), counted(theatre.ranks, "rank"),
                     human_bytes(static_cast<std::uint64_t>(theatre.bytes))));
  if (std::isnan(theatre.start.front().front())) {
    ui.gap(4);
    ui.wrapped("The numbers themselves are recorded in step 0 of lesson 09 alone.", Face::small,
               ui.theme().dim);
  }
}

/// N and B are the keys of Step and Back.
void draw_buttons(Ui& ui, AppState& state) {
  TheatreState& mine = state.theatre;
  const bool at_end = mine.is_at_end(), at_start = mine.shown == 0;
  if ((ui.button("Step", ButtonKind::primary, !at_end, "theatre forward") || ui.pressed('N')) && !at_end)
    ++mine.shown;
  ui.tip("N");
  ImGui::SameLine();
  if ((ui.button("Back", ButtonKind::plain, !at_start, "theatre back") || ui.pressed('B')) && !at_start)
    --mine.shown;
  ui.tip("B");
  ImGui::SameLine();
  if (ui.button(mine.playing ? "Pause" : "Play", ButtonKind::plain, !at_end, "theatre play")) {
    mine.playing = !mine.playing;
    mine.next_s = state.now_s;
  }
  ImGui::SameLine();
  if (ui.button("To the start", ButtonKind::quiet, !at_start, "theatre start")) mine.shown = 0;
  ImGui::SameLine();
  if (ui.button("To the end", ButtonKind::quiet, !at_end, "theatre end"))
    mine.shown = mine.theatre->steps.size();
}

void draw_source(Ui& ui, TheatreState& mine) {
  const bool was = mine.shows_run();
  if (ui.choice("the plan", !was)) mine.of_run = false;
  ImGui::SameLine(0, ui.px(2));
  if (ui.choice("the chosen run", was)) mine.of_run = true;
  if (was == mine.shows_run()) return;
  mine.shown = 0;
  mine.playing = false;
  keep_theatre(mine);
}

void play_on(AppState& state) {
  TheatreState& mine = state.theatre;
  if (mine.is_at_end()) mine.playing = false;
  if (!mine.is_due(state.now_s)) return;
  ++mine.shown;
  mine.next_s = state.now_s + kMoveEvery_s;
}

/// The step that a click on the clock's bar goes to.
void click_clock(Ui& ui, TheatreState& mine, const Box& box) {
  ImGui::SetCursorScreenPos({box.x0, box.y0});
  ImGui::InvisibleButton("theatre clock", {std::max(1.0F, box.width()), std::max(1.0F, box.height())});
  ui.record("theatre clock");
  if (!ImGui::IsItemActive()) return;
  const float part = (ImGui::GetIO().MousePos.x - box.x0) / std::max(1.0F, box.width());
  mine.shown = theatre_step_at(*mine.theatre, std::clamp(part, 0.0F, 1.0F));
  mine.playing = false;
}

void draw_scene(Ui& ui, TheatreState& mine, float width, float height) {
  const Theatre& theatre = *mine.theatre;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGuiCanvas canvas = ui.canvas();
  canvas.fill({at.x, at.y, at.x + width, at.y + height}, ui.theme().panel, ui.px(6));
  Sketch sketch(canvas, ui.theme());
  const float inset = ui.px(14), room = width - 2 * inset, x = at.x + inset;
  float y = paint_theatre_clock(sketch, theatre, mine.shown, {x, at.y + inset}, room);
  const Box clock = {x, at.y + inset, x + room, y};
  // The longest sentence has two lines: what is below stands still while one steps.
  const float line = canvas.line_height(Face::text) * 1.2F;
  sketch.words({x, y + ui.px(8)}, room, theatre_sentence(theatre, mine.shown), {.face = Face::text});
  y += ui.px(8) + 2 * line + ui.px(10);
  const std::vector<std::string> counters = theatre_counter_lines(theatre, theatre.after(mine.shown));
  const float below = ui.px(12) + line * static_cast<float>(counters.size()) + inset;
  const float rest = theatre_rest_height(sketch, theatre, room);
  const float cells = (at.y + height - y - below - rest) / ui.fonts().scale;
  const float end = paint_theatre(sketch, theatre, mine.shown, {x, y}, room, std::max(kLeastCells, cells));
  ui.record("theatre cells", {x, y, x + room, end});
  y = end + ui.px(12);
  for (const std::string& words : counters) y = sketch.words({x, y}, room, words, {.face = Face::text});
  click_clock(ui, mine, clock);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, std::max(height, y - at.y)});
}

void draw_legend(Ui& ui, const Theatre& theatre) {
  ui.gap(8);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  ImGuiCanvas canvas = ui.canvas();
  Sketch sketch(canvas, ui.theme());
  const float end = paint_theatre_legend(sketch, theatre, point_of(at), width);
  ImGui::Dummy({width, end - at.y});
}

}  // namespace

Requests draw_theatre(Ui& ui, const Data& data, AppState& state) {
  TheatreState& mine = state.theatre;
  const auto run = data.feed.runs->find(state.run);
  keep_theatre_run(mine,
                   run ? ChosenRun{run->id, run->folder, run->view.state == RunState::running} : ChosenRun{},
                   state.now_s);
  keep_theatre(mine);
  play_on(state);
  draw_buttons(ui, state);
  ImGui::SameLine(0, ui.px(24));
  draw_source(ui, mine);
  const float room = ImGui::GetContentRegionAvail().x;
  const float side = std::min(ui.px(kKnobWidth), room * 0.36F);
  ImGui::BeginChild("theatre left", {room - side - ui.px(10), 0});
  const ImVec2 size = ImGui::GetContentRegionAvail();
  if (mine.theatre) {
    draw_scene(ui, mine, size.x, size.y);
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
  if (mine.playing) ui.ask_frame();
  return {};
}

}  // namespace isobar
