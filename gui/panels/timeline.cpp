#include <fmt/format.h>

#include <algorithm>

#include "analyse/comm_times.h"
#include "analyse/timeline_text.h"
#include "core/error.h"
#include "core/text.h"
#include "draw/axis.h"
#include "draw/colour.h"
#include "panels/run_parts.h"
#include "panels/views.h"

namespace isobar {
namespace {

constexpr float kLabel = 96;
constexpr float kLeastRow = 24;
constexpr float kMostRow = 36;
constexpr std::size_t kMostTracks = 64;

/// Works the timeline out again when the run, its spans or what is wanted are others.
void make_again(TimelineState& state, const RunEntry& run, const std::shared_ptr<const SpanTable>& table) {
  const StepRange compared = run.detail->ranks ? run.detail->ranks->compared() : StepRange{};
  const bool same = state.run == run.id && state.table == table && state.made_first == state.first &&
                    state.made_steps == state.steps && state.made_over == compared;
  if (same) return;
  if (state.run != run.id) state.first = -1;
  state.run = run.id;
  state.table = table;
  state.made_first = state.first;
  state.made_steps = state.steps;
  state.made_over = compared;
  state.made.reset();
  state.problem.clear();
  try {
    state.made = make_timeline(*table, run.detail->series, {state.first, state.steps, compared});
  } catch (const Error& error) {
    state.problem = printable(error.what(), 200);
  }
}

/// The ground or white, whichever is read better on it.
Colour words_on(const Theme& theme, Colour colour) {
  const Colour dark = theme.dark ? theme.ground : theme.text;
  const Colour light = theme.dark ? theme.text : theme.panel;
  return contrast(dark, colour) > contrast(light, colour) ? dark : light;
}

Colour colour_of(const Theme& theme, const std::string& name, bool communicates) {
  if (name == "wait") return with_alpha(theme.dim, communicates ? 0.45F : 0.15F);
  if (is_collective(name)) return stage_colour(theme, "comm");
  if (name == "read") return stage_colour(theme, "load");
  if (name == "normalise") return theme.series[4];
  if (name == "upload") return stage_colour(theme, "copy");
  return stage_colour(theme, name);
}

/// Where the picture's parts are.
struct Place {
  Box all;
  float left = 0;  ///< of the tracks
  float top = 0;
  float row = 0;  ///< height of a track
  double begin_us = 0, end_us = 1;

  float x(double time_us) const {
    const double part = std::clamp((time_us - begin_us) / (end_us - begin_us), 0.0, 1.0);
    return left + (all.x1 - left) * static_cast<float>(part);
  }
};

void draw_axis(Ui& ui, ImGuiCanvas& canvas, const Timeline& timeline, const Place& place) {
  const Theme& theme = ui.theme();
  Axis axis{
      .least = 0, .most = (place.end_us - place.begin_us) * 1e-3, .begin = place.left, .end = place.all.x1};
  for (const Tick& tick : ticks(axis, ui.px(90))) {
    if (tick.label.empty()) continue;
    const float x = axis.pixel(tick.value);
    canvas.fill({x, place.top, x + 1, place.all.y1}, theme.line);
    canvas.text(x, place.all.y0, tick.label + " ms", Face::small, theme.dim,
                x > place.all.x1 - ui.px(40) ? 1 : 0);
  }
  for (const StepWindow& window : timeline.drawn) {
    const float x = place.x(static_cast<double>(window.begin_us));
    canvas.fill({x, place.all.y0 + ui.px(18), x + ui.px(2), place.all.y1}, theme.dim);
    canvas.text(x + ui.px(6), place.all.y0 + ui.px(18), fmt::format("step {}", window.step), Face::small,
                theme.text);
  }
}

/// The stage comm of the loop is what nothing hides: its time is shaded over all tracks.
void shade_exposed(Ui& ui, ImGuiCanvas& canvas, const SpanTable& table, const Timeline& timeline,
                   const Place& place) {
  for (const std::size_t i : timeline.spans) {
    const SpanRow& span = table.spans[i];
    if (table.tracks[span.track] != "loop" || table.names[span.name] != "comm") continue;
    canvas.fill({place.x(static_cast<double>(span.begin_us)), place.top,
                 place.x(static_cast<double>(span.end_us)), place.all.y1},
                with_alpha(stage_colour(ui.theme(), "comm"), 0.14F));
  }
}

std::string tip_of(const SpanTable& table, const SpanRow& span, bool communicates) {
  std::string out =
      fmt::format("{}  {}\nstep {}, {:.3f} ms", table.tracks[span.track], table.names[span.name], span.step,
                  static_cast<double>(span.duration_us()) * 1e-3);
  if (span.bytes > 0) out += fmt::format(", {}", human_bytes(static_cast<std::uint64_t>(span.bytes)));
  if (communicates && table.names[span.name] == "wait") out += "\nready here, and not yet on all ranks";
  return out;
}

void draw_spans(Ui& ui, ImGuiCanvas& canvas, const SpanTable& table, const Timeline& timeline,
                const Place& place) {
  const Theme& theme = ui.theme();
  const std::vector<bool> communicates = comm_tracks(table);
  std::vector<float> tops(table.tracks.size(), -1);
  const std::size_t rows = std::min(kMostTracks, timeline.tracks.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t track = timeline.tracks[row];
    tops[track] = place.top + place.row * static_cast<float>(row);
    canvas.text(place.all.x0 + ui.px(4), tops[track] + (place.row - canvas.line_height(Face::small)) / 2,
                canvas.fitted(table.tracks[track], Face::small, ui.px(kLabel - 8)), Face::small, theme.dim);
  }
  const ImVec2 mouse = ImGui::GetMousePos();
  for (const std::size_t i : timeline.spans) {
    const SpanRow& span = table.spans[i];
    if (tops[span.track] < 0) continue;
    const std::string& name = table.names[span.name];
    const float x0 = place.x(static_cast<double>(span.begin_us));
    const float x1 = std::max(x0 + 1, place.x(static_cast<double>(span.end_us)));
    const Box box = {x0, tops[span.track] + ui.px(3), x1, tops[span.track] + place.row - ui.px(3)};
    const Colour colour = colour_of(theme, name, communicates[span.track]);
    canvas.fill(box, colour);
    if (x1 - x0 > canvas.text_width(name, Face::small) + ui.px(8) && name != "wait")
      canvas.text(x0 + ui.px(4), (box.y0 + box.y1 - canvas.line_height(Face::small)) / 2, name, Face::small,
                  words_on(theme, colour));
    if (box.contains(point_of(mouse)) && ImGui::IsWindowHovered())
      ImGui::SetTooltip("%s", tip_of(table, span, communicates[span.track]).c_str());
  }
}

/// What the picture amounts to over all steady steps, with the colours that names have in it.
void draw_figures(Ui& ui, const SpanTable& table, const std::vector<FigureRow>& rows) {
  constexpr std::size_t kWhat = 2;
  const Theme& theme = ui.theme();
  const std::vector<bool> communicates = comm_tracks(table);
  const auto cell = [&](std::size_t column, const std::string& words, Face face, Colour colour) {
    const bool number = column != 0 && column != kWhat;
    const float left = ImGui::GetContentRegionAvail().x - ui.canvas().text_width(words, face);
    if (number && left > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + left);
    ui.text(words, face, colour);
  };
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {ui.px(10), ui.px(2)});
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const ImGuiTableFlags flags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoHostExtendX;
  const bool open = ImGui::BeginTable("figures", static_cast<int>(kFigureHeads.size()), flags);
  if (open) {
    ImGui::TableNextRow();
    for (std::size_t i = 0; i < kFigureHeads.size(); ++i) {
      ImGui::TableSetColumnIndex(static_cast<int>(i));
      cell(i, kFigureHeads[i], Face::small, theme.dim);
    }
    for (const FigureRow& row : rows) {
      ImGui::TableNextRow();
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        ImGui::TableSetColumnIndex(static_cast<int>(i));
        if (i == kWhat) {
          const ImVec2 at = ImGui::GetCursorScreenPos();
          ui.canvas().fill({at.x, at.y + ui.px(3), at.x + ui.px(10), at.y + ui.px(13)},
                           colour_of(theme, table.names[row.name], communicates[row.track]), ui.px(2));
          ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ui.px(16));
        }
        const bool number = i != 0 && i != kWhat;
        cell(i, row.cells[i], number ? Face::mono_small : Face::small, theme.text);
      }
    }
    ImGui::EndTable();
  }
  ImGui::PopStyleVar();
  const ImVec2 end = ImGui::GetItemRectMax();
  ui.record("figures", {top.x, top.y, end.x, end.y});
}

/// `below` pixels are kept for what follows.
void draw_picture(Ui& ui, const SpanTable& table, const Timeline& timeline, float below) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::size_t rows = std::min(kMostTracks, timeline.tracks.size());
  Place place;
  const float room = ImGui::GetContentRegionAvail().y - ui.px(48) - below;
  place.row = std::clamp(room / static_cast<float>(std::max<std::size_t>(1, rows)), ui.px(kLeastRow),
                         ui.px(kMostRow));
  const float height = ui.px(40) + place.row * static_cast<float>(rows);
  place.all = {at.x, at.y, at.x + ImGui::GetContentRegionAvail().x, at.y + height};
  place.left = at.x + ui.px(kLabel);
  place.top = at.y + ui.px(38);
  place.begin_us = static_cast<double>(timeline.begin_us);
  place.end_us = static_cast<double>(timeline.end_us);
  ui.area("tracks", {place.all.width(), height});
  ImGuiCanvas canvas = ui.canvas();
  draw_axis(ui, canvas, timeline, place);
  shade_exposed(ui, canvas, table, timeline, place);
  draw_spans(ui, canvas, table, timeline, place);
  if (timeline.tracks.size() > rows) ui.dim(fmt::format("and {} more tracks", timeline.tracks.size() - rows));
}

/// `rank` is -1 for a run of one.
std::string figures_text(const Timeline& timeline, int rank) {
  std::string out =
      fmt::format("{} steps {} to {}: a step takes {:.1f} ms.",
                  rank < 0 ? "Means of" : fmt::format("Means of rank {},", rank),
                  timeline.steady.front().step, timeline.steady.back().step, timeline.step_us * 1e-3);
  if (timeline.comm) {
    const CommTimes& comm = *timeline.comm;
    out += fmt::format(" Communication: {:.1f} ms a step in {:.4g} {}", comm.total_us * 1e-3, comm.calls,
                       comm.calls == 1 ? "call" : "calls");
    if (comm.overlap) out += fmt::format(", {:.0f} % of it beside computing", 100 * *comm.overlap);
    out += fmt::format(
        "; {:.1f} ms exposed (shaded{}), buckets ready but not under way {:.1f} ms (grey).",
        comm.exposed_us * 1e-3,
        comm.last_bucket ? fmt::format("; {:.0f} % of it the last bucket", 100 * *comm.last_bucket) : "",
        comm.queued_us * 1e-3);
  }
  if (timeline.upload_beside_compute)
    out += fmt::format(" Uploads run beside computing for {:.0f} % of their time.",
                       100 * *timeline.upload_beside_compute);
  return out;
}

void draw_controls(Ui& ui, TimelineState& state, std::size_t ranks) {
  const std::int64_t first = state.made ? state.made->drawn.front().step : 0;
  ui.label("steps", 2);
  for (const std::int64_t count : {1, 2, 3}) {
    if (ui.choice(std::to_string(count), state.steps == count)) state.steps = count;
    ImGui::SameLine(0, ui.px(count < 3 ? 2 : 16));
  }
  if (ui.button("Earlier", ButtonKind::plain, first > 0))
    state.first = std::max<std::int64_t>(0, first - state.steps);
  ImGui::SameLine(0, ui.px(4));
  const bool more = state.made && state.made->drawn.back().step < state.made->last_step;
  if (ui.button("Later", ButtonKind::plain, more)) state.first = first + state.steps;
  if (ranks < 2) return;
  ImGui::SameLine(0, ui.px(16));
  ui.label("rank", 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    ImGui::SameLine(0, ui.px(2));
    if (ui.choice(fmt::format("r{}", rank), state.rank == static_cast<int>(rank)))
      state.rank = static_cast<int>(rank);
  }
}

}  // namespace

void draw_timeline(Ui& ui, const Data& data, AppState& state, Requests&) {
  const std::shared_ptr<const RunEntry> run = data.feed.runs->find(state.run);
  if (!run || !run->detail) {
    ui.empty_state(run ? "Reading the run ..." : "No run is chosen",
                   run ? "This takes a moment." : "Choose one on the left, or press Space for a new one.");
    return;
  }
  TimelineState& mine = state.timeline;
  ui.text(title_of(*run), Face::title);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.theme().ground);
  ImGui::BeginChild("timeline");
  ImGui::PopStyleColor();
  const RunDetail& detail = *run->detail;
  if (detail.ranks) {
    const int clicked = draw_ranks(ui, *detail.ranks, mine.rank);
    if (clicked >= 0 && clicked < static_cast<int>(detail.spans.size())) mine.rank = clicked;
    ui.gap(8);
  }
  mine.rank = std::clamp(mine.rank, 0, std::max(0, static_cast<int>(detail.spans.size()) - 1));
  const auto table = detail.spans.empty() ? nullptr : detail.spans[static_cast<std::size_t>(mine.rank)];
  draw_controls(ui, mine, detail.spans.size());
  if (!table || table->spans.empty()) {
    ui.empty_state("No spans to draw", "A run keeps those of its first run.trace_steps steps.");
  } else {
    make_again(mine, *run, table);
    if (mine.made) {
      ui.note(figures_text(*mine.made, detail.ranks ? mine.rank : -1));
      const std::vector<FigureRow> rows = figure_rows(*table, *mine.made);
      draw_picture(ui, *table, *mine.made, ui.px(22) * static_cast<float>(rows.size() + 1) + ui.px(12));
      ui.gap(4);
      draw_figures(ui, *table, rows);
    } else {
      ui.wrapped(mine.problem, Face::text, ui.theme().warn);
    }
  }
  ImGui::EndChild();
}

}  // namespace isobar
