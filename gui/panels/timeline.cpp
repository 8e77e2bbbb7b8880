#include "analyse/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/comm_times.h"
#include "core/error.h"
#include "core/text.h"
#include "draw/colour.h"
#include "panels/parts.h"
#include "panels/views.h"
#include "plot/bars.h"

namespace isobar {
namespace {

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

Colour colour_of(const Theme& theme, const std::string& name, bool communicates) {
  if (name == "wait") return with_alpha(theme.dim, communicates ? 0.45F : 0.15F);
  return name == "normalise" ? theme.series[4] : stage_colour(theme, stage_of_span(name));
}

std::string tip_of(const SpanTable& table, const SpanRow& span, bool communicates) {
  std::string out =
      fmt::format("{}  {}\nstep {}, {:.3f} ms", table.tracks[span.track], table.names[span.name], span.step,
                  static_cast<double>(span.duration_us()) * 1e-3);
  if (span.bytes > 0) out += fmt::format(", {}", human_bytes(static_cast<std::uint64_t>(span.bytes)));
  if (communicates && table.names[span.name] == "wait") out += "\nready here, and not yet on all ranks";
  return out;
}

Gantt gantt_of(const Theme& theme, const SpanTable& table, const Timeline& timeline) {
  const std::vector<bool> communicates = comm_tracks(table);
  std::vector<std::size_t> tracks = timeline.tracks;
  tracks.resize(std::min(tracks.size(), kMostTracks));
  return timeline_gantt(table, timeline, tracks, [&](const std::string& name, std::size_t track) {
    return GanttSpan{.words = name == "wait" ? "" : name,
                     .colour = colour_of(theme, name, communicates[track])};
  });
}

/// The stage comm of the loop is what nothing hides: its time is shaded over all tracks. The span under the
/// pointer says what it is.
void draw_over_spans(Ui& ui, const SpanTable& table, const Timeline& timeline, const GanttArea& area) {
  const auto x = [&](std::int64_t us) {
    const double ms = static_cast<double>(us - timeline.begin_us) * 1e-3;
    return area.x.pixel(std::clamp(ms, area.x.least, area.x.most));
  };
  const std::vector<bool> communicates = comm_tracks(table);
  for (const std::size_t i : timeline.spans) {
    const SpanRow& span = table.spans[i];
    const auto found = std::ranges::find(timeline.tracks, span.track);
    const auto row = static_cast<std::size_t>(found - timeline.tracks.begin());
    const float x0 = x(span.begin_us), x1 = std::max(x0 + 1, x(span.end_us));
    if (table.tracks[span.track] == "loop" && table.names[span.name] == "comm")
      ui.canvas().fill({x0, area.rows.front().y0, x1, area.rows.back().y1},
                       with_alpha(stage_colour(ui.theme(), "comm"), 0.14F));
    if (row >= area.rows.size()) continue;
    const Box box = {x0, area.rows[row].y0, x1, area.rows[row].y1};
    if (x1 - x0 < ui.px(3))  // its edge would hide it
      ui.canvas().fill(box, colour_of(ui.theme(), table.names[span.name], communicates[span.track]));
    if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(least_of(box), most_of(box)))
      ImGui::SetTooltip("%s", tip_of(table, span, communicates[span.track]).c_str());
  }
}

/// What the picture amounts to over all steady steps, with the colours that names have in it.
void draw_figures(Ui& ui, const SpanTable& table, const std::vector<FigureRow>& rows) {
  constexpr std::size_t kWhat = 2;
  const Theme& theme = ui.theme();
  const std::vector<bool> communicates = comm_tracks(table);
  const auto cell = [&](std::size_t column, const std::string& words, Face face, Colour colour) {
    ImGui::TableSetColumnIndex(static_cast<int>(column));
    const float left = ImGui::GetContentRegionAvail().x - ui.canvas().text_width(words, face);
    const bool number = column != 0 && column != kWhat;
    if (number && left > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + left);
    ui.text(words, number ? face : Face::small, colour);
  };
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {ui.px(10), ui.px(2)});
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const ImGuiTableFlags flags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoHostExtendX;
  if (ImGui::BeginTable("figures", static_cast<int>(kFigureHeads.size()), flags)) {
    ImGui::TableNextRow();
    for (std::size_t i = 0; i < kFigureHeads.size(); ++i) cell(i, kFigureHeads[i], Face::small, theme.dim);
    for (const FigureRow& row : rows) {
      ImGui::TableNextRow();
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (i == kWhat && ImGui::TableSetColumnIndex(static_cast<int>(i))) {
          const ImVec2 at = ImGui::GetCursorScreenPos();
          ui.canvas().fill({at.x, at.y + ui.px(3), at.x + ui.px(10), at.y + ui.px(13)},
                           colour_of(theme, table.names[row.name], communicates[row.track]), ui.px(2));
          ImGui::SetCursorPosX(ImGui::GetCursorPosX() + ui.px(16));
        }
        cell(i, row.cells[i], Face::mono_small, theme.text);
      }
    }
    ImGui::EndTable();
  }
  ImGui::PopStyleVar();
  const ImVec2 end = ImGui::GetItemRectMax();
  ui.record("figures", {top.x, top.y, end.x, end.y});
}

void draw_picture(Ui& ui, const SpanTable& table, const Timeline& timeline) {
  const float line = ImGui::GetContentRegionAvail().x;
  GanttArea area;
  paint_here(ui, "tracks", line, [&](Sketch& sketch, PlotPoint at, float width) {
    return paint_gantt(sketch, gantt_of(ui.theme(), table, timeline), at, width, &area);
  });
  draw_over_spans(ui, table, timeline, area);
  if (timeline.tracks.size() > kMostTracks)
    ui.dim(fmt::format("and {} more tracks", timeline.tracks.size() - kMostTracks));
}

/// `rank` is -1 for a run of one.
std::string figures_text(const Timeline& timeline, int rank) {
  std::string out =
      fmt::format("{} steps {} to {}: a step takes {:.1f} ms.",
                  rank < 0 ? "Means of" : fmt::format("Means of rank {},", rank),
                  timeline.steady.front().step, timeline.steady.back().step, timeline.step_us * 1e-3);
  if (timeline.comm)
    out +=
        " Communication: " + comm_text(*timeline.comm) + " (shaded: exposed; grey: ready but not under way).";
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
  ui.beside(16).label("rank", 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (ui.beside(2).choice(fmt::format("r{}", rank), state.rank == static_cast<int>(rank)))
      state.rank = static_cast<int>(rank);
  }
}

}  // namespace

void draw_timeline(Ui& ui, const Data& data, AppState& state, Requests&) {
  const std::shared_ptr<const RunEntry> run = data.feed.runs->find(state.run);
  if (!begin_run_view(ui, run.get(), "timeline")) return;
  TimelineState& mine = state.timeline;
  const RunDetail& detail = *run->detail;
  if (detail.ranks) {
    const std::optional<int> clicked = draw_ranks(ui, *detail.ranks, mine.rank);
    if (clicked && *clicked < std::ssize(detail.spans)) mine.rank = *clicked;
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
      draw_picture(ui, *table, *mine.made);
      ui.gap(4);
      draw_figures(ui, *table, rows);
    } else {
      ui.wrapped(mine.problem, Face::text, ui.theme().warn);
    }
  }
  ImGui::EndChild();
}

}  // namespace isobar
