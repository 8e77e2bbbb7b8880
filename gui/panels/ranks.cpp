#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "draw/colour.h"
#include "panels/run_parts.h"

namespace isobar {
namespace {

constexpr std::size_t kMostRows = 8;

/// Columns of a row, from the left edge of the panel in pixels of scale 1; the bar takes what is left.
struct Columns {
  float rate, step, comm, waits, last, memory, bar;
};
constexpr Columns kColumns = {236, 306, 376, 450, 512, 586, 610};

constexpr float kLeastBar = 60;

std::string milliseconds(double time_us) { return time_us < 0 ? "-" : fmt::format("{:.1f}", time_us * 1e-3); }

void draw_header(Ui& ui, ImGuiCanvas& canvas, const Box& box) {
  const Colour dim = ui.theme().dim;
  const auto put = [&](float x, const char* words, float across) {
    canvas.text(box.x0 + ui.px(x), box.y0, words, Face::small, dim, across);
  };
  put(8, "rank", 0);
  put(kColumns.rate, "samples/s", 1);
  put(kColumns.step, "step ms", 1);
  put(kColumns.comm, "comm ms", 1);
  put(kColumns.waits, "waits ms", 1);
  put(kColumns.last, "last in", 1);
  put(kColumns.memory, "memory", 1);
  const float left = box.x0 + ui.px(kColumns.bar);
  if (box.x1 - left < ui.px(kLeastBar)) return;
  canvas.text(left, box.y0, canvas.fitted("own work, then exposed comm", Face::small, box.x1 - left),
              Face::small, dim);
}

void draw_bar(Ui& ui, ImGuiCanvas& canvas, const RanksView& view, const RankFigures& rank, const Box& box) {
  const float left = box.x0 + ui.px(kColumns.bar);
  const float width = box.x1 - ui.px(12) - left;
  double most_us = 1;
  for (const RankFigures& one : view.ranks) most_us = std::max(most_us, one.step_us);
  if (width < ui.px(kLeastBar) || rank.step_us <= 0) return;
  const double comm_us = std::clamp(rank.comm_us, 0.0, rank.step_us);
  const auto at = [&](double time_us) { return left + width * static_cast<float>(time_us / most_us); };
  const float top = box.y0 + ui.px(7);
  const float bottom = box.y1 - ui.px(7);
  canvas.fill({left, top, at(rank.step_us - comm_us), bottom}, stage_colour(ui.theme(), "backward"));
  canvas.fill({at(rank.step_us - comm_us), top, at(rank.step_us), bottom}, stage_colour(ui.theme(), "comm"));
}

void draw_row(Ui& ui, ImGuiCanvas& canvas, const RanksView& view, const RankFigures& rank, const Box& box) {
  const Theme& theme = ui.theme();
  const float y = box.y0 + ui.px(5);
  const bool slow = view.straggler && view.straggler->rank == rank.rank;
  const Colour colour = rank.is_lost() ? theme.bad : slow ? theme.warn : theme.text;
  const std::string state = !rank.has_stream ? "no stream" : slow ? "straggler" : state_name(rank.state);
  canvas.text(box.x0 + ui.px(8), y, fmt::format("{}", rank.rank), Face::bold, colour);
  const std::string where = rank.host.empty() ? state : state + ", " + rank.host;
  canvas.text(box.x0 + ui.px(40), y, canvas.fitted(where, Face::small, ui.px(140)), Face::small,
              rank.is_lost() || slow ? colour : theme.dim);
  const auto put = [&](float x, const std::string& words) {
    canvas.text(box.x0 + ui.px(x), y, words, Face::text, theme.text, 1);
  };
  put(kColumns.rate, rank.samples_per_s > 0 ? fmt::format("{:.1f}", rank.samples_per_s) : "-");
  put(kColumns.step, milliseconds(rank.step_us));
  put(kColumns.comm, milliseconds(rank.comm_us));
  put(kColumns.waits, milliseconds(rank.waits_us));
  put(kColumns.last, view.steps > 0 ? fmt::format("{}", rank.last_in) : "-");
  put(kColumns.memory, rank.peak_bytes < 0 ? "-" : human_bytes(static_cast<std::uint64_t>(rank.peak_bytes)));
  draw_bar(ui, canvas, view, rank, box);
}

}  // namespace

int draw_ranks(Ui& ui, const RanksView& view, int chosen) {
  int clicked = -1;
  const Theme& theme = ui.theme();
  const int hosts = view.hosts();
  ui.text(fmt::format("{} ranks on {}", view.world,
                      hosts > 1 ? fmt::format("{} machines", hosts) : "one machine"),
          Face::bold);
  if (view.steps > 0) {
    ImGui::SameLine(0, ui.px(12));
    ui.dim(fmt::format("means of all ranks, steps {} to {}{}", view.first_step, view.last_step,
                       view.steady ? "" : ", still within the warm-up"));
  }
  if (view.straggler) ui.wrapped(straggler_sentence(view), Face::text, theme.warn);
  for (const std::string& line : lost_rank_sentences(view, 3)) ui.wrapped(line, Face::text, theme.bad);
  if (const std::string comm = comm_sentence(view); !comm.empty()) ui.note("Communication " + comm);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  ImGuiCanvas canvas = ui.canvas();
  draw_header(ui, canvas, {at.x, at.y, at.x + width, at.y + ui.px(20)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, ui.px(2)});
  ui.gap(18);
  const std::vector<const RankFigures*> shown = shown_ranks(view, kMostRows);
  for (const RankFigures* const rank : shown) {
    Box box;
    if (ui.row(fmt::format("rank {}", rank->rank), rank->rank == chosen, ui.px(28), &box))
      clicked = rank->rank;
    draw_row(ui, canvas, view, *rank, box);
  }
  ImGui::PopStyleVar();
  const std::int64_t others = view.world - static_cast<std::int64_t>(shown.size());
  if (others > 0) ui.dim(fmt::format("and {} more, none of which failed or came last more often", others));
  return clicked;
}

}  // namespace isobar
