#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "draw/colour.h"
#include "panels/lesson_parts.h"
#include "widgets/marks.h"

namespace isobar {
namespace {

/// A disc with a tick where it is done, else a ring with the beat's number.
void draw_disc(Canvas& canvas, const Theme& theme, const BeatState& state, PlotPoint middle, bool shown) {
  const float radius = 10 * canvas.scale();
  if (state.is_done()) {
    canvas.circle(middle, radius, theme.good, true);
    return paint_tick(canvas, middle, theme.panel);
  }
  canvas.circle(middle, radius, shown ? theme.accent : mixed(theme.panel, theme.dim, 0.6F), true);
  canvas.circle(middle, radius - (shown ? 2 : 1.25F) * canvas.scale(), theme.panel, true);
  canvas.text(middle.x, middle.y - canvas.line_height(Face::small) / 2,
              std::to_string(static_cast<int>(state.beat) + 1), Face::small, shown ? theme.text : theme.dim,
              0.5F);
}

}  // namespace

const LessonProgress* progress_of(const Data& data, const std::string& lesson) {
  const auto found = data.course->lessons.find(lesson);
  return found == data.course->lessons.end() || found->second.beats.empty() ? nullptr : &found->second;
}

std::optional<Beat> draw_beat_strip(Ui& ui, const LessonProgress& progress, Beat shown) {
  std::optional<Beat> clicked;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const auto count = static_cast<float>(progress.beats.size());
  const float each = ImGui::GetContentRegionAvail().x / count;
  const float height = ui.px(62);
  ImGuiCanvas canvas = ui.canvas();
  const Theme& theme = ui.theme();
  const float y = at.y + ui.px(16);
  for (std::size_t i = 0; i < progress.beats.size(); ++i) {
    const BeatState& state = progress.beats[i];
    const float left = at.x + each * static_cast<float>(i);
    const float x = left + each / 2;
    ImGui::SetCursorScreenPos({left, at.y});
    const Area place = ui.area(std::string("beat ") + beat_name(state.beat), {each, height});
    if (place.clicked) clicked = state.beat;
    const bool is_shown = state.beat == shown;
    const Box cell = {left + ui.px(2), at.y, left + each - ui.px(2), at.y + height};
    if (is_shown || place.hovered) canvas.fill(cell, is_shown ? theme.selected : theme.hover, ui.px(6));
    if (i + 1 < progress.beats.size()) {
      const PlotPoint way[2] = {{x + ui.px(14), y}, {x + each - ui.px(14), y}};
      canvas.line(way, state.is_done() ? theme.good : theme.line, ui.px(1.5F), Dash::solid);
    }
  }
  for (std::size_t i = 0; i < progress.beats.size(); ++i) {
    const BeatState& state = progress.beats[i];
    const float x = at.x + each * (static_cast<float>(i) + 0.5F);
    const bool is_shown = state.beat == shown;
    draw_disc(canvas, theme, state, {x, y}, is_shown);
    canvas.text(x, at.y + ui.px(29), sentence_case(beat_name(state.beat)), Face::small,
                is_shown ? theme.text : theme.dim, 0.5F);
    if (state.of > 0)
      canvas.text(x, at.y + ui.px(44), fmt::format("{}/{}", state.so_far, state.of), Face::small, theme.dim,
                  0.5F);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({each * count, height});
  return clicked;
}

void paint_beats(Canvas& canvas, const Theme& theme, const LessonProgress& progress, PlotPoint at) {
  const float s = canvas.scale();
  float x = at.x - static_cast<float>(progress.beats.size()) * 11 * s + 3 * s;
  for (const BeatState& state : progress.beats) {
    const Box box = {x, at.y, x + 8 * s, at.y + 8 * s};
    if (state.is_done()) {
      canvas.fill(box, theme.good, 2 * s);
    } else {
      canvas.frame(box, mixed(theme.panel, theme.dim, 0.6F));
    }
    x += 11 * s;
  }
}

std::string beats_text(const LessonProgress& progress) {
  std::vector<std::string> done;
  for (const BeatState& state : progress.beats) {
    if (state.is_done()) done.emplace_back(beat_name(state.beat));
  }
  if (done.empty()) return "No beat is done yet";
  return done.size() == progress.beats.size() ? "All beats are done" : "Beats done: " + joined(done);
}

void draw_goals(Ui& ui, const LessonCard& card, const LessonProgress& progress) {
  const std::vector<std::string>& goals = card.info.goals;
  if (goals.empty()) return;
  const auto reached = std::count(progress.goals.begin(), progress.goals.end(), true);
  ui.gap(4);
  ui.text("Goals", Face::bold);
  ImGui::SameLine(0, ui.px(8));
  ui.dim(fmt::format("{} of {}", reached, goals.size()));
  for (std::size_t i = 0; i < goals.size(); ++i) {
    const bool done = i < progress.goals.size() && progress.goals[i];
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGuiCanvas canvas = ui.canvas();
    const Box box = paint_check(canvas, ui.theme(), {at.x + ui.px(1), at.y + ui.px(3)},
                                done ? Check::held : Check::open, ui.theme().good);
    if (done) ui.record(fmt::format("reached goal {}", i + 1), box);
    ImGui::Indent(ui.px(26));
    ui.wrapped(goals[i], Face::text, done ? ui.theme().text : ui.theme().dim);
    ImGui::Unindent(ui.px(26));
  }
}

}  // namespace isobar
