#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "panels/parts.h"
#include "panels/views.h"
#include "plot/memory_picture.h"

namespace isobar {
namespace {

constexpr std::size_t kMostShownRuns = 4;

/// The memory of a run's rank that is read; null while there is none.
std::shared_ptr<const MemoryTimeline> memory_of(const RunEntry& run, int rank) {
  if (!run.detail || std::ssize(run.detail->memory) <= rank) return nullptr;
  return run.detail->memory[static_cast<std::size_t>(rank)];
}

std::string moment_words(const MemoryTimeline& timeline, std::int64_t at_us) {
  const auto behind = std::ranges::upper_bound(timeline.moments, at_us, {}, &MemoryMoment::at_us);
  const MemoryMoment& moment = behind == timeline.moments.begin() ? *behind : *std::prev(behind);
  std::string out = fmt::format("{:.2f} ms", static_cast<double>(at_us) * 1e-3);
  for (const MemoryStage& stage : timeline.stages)
    if (at_us >= stage.begin_us && at_us < stage.end_us) out += ", " + stage.name;
  out += fmt::format("\n{} in tensors", human_bytes(moment.total()));
  for (std::size_t i = 0; i < kHeldCategories; ++i)
    if (moment.bytes[i] > 0)
      out += fmt::format("\n{}  {}", kMemoryCategories[i], human_bytes(moment.bytes[i]));
  return out;
}

void point_at_moment(Ui& ui, const MemoryTimeline& timeline, const MemoryArea& area) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered() || !area.box.contains({mouse.x, mouse.y})) return;
  const double ms = area.x.value(mouse.x);
  ImGuiCanvas canvas = ui.canvas();
  paint_stroke(canvas, {mouse.x, area.box.y0}, {mouse.x, area.box.y1}, ui.theme().accent, 1);
  ImGui::SetTooltip("%s", moment_words(timeline, static_cast<std::int64_t>(ms * 1e3)).c_str());
}

using PeakCells = std::vector<std::string>;

/// Rows of words whose columns from `numbers` on are aligned to the right.
void draw_cells(Ui& ui, const std::string& name, const PeakCells& heads, const std::vector<PeakCells>& rows,
                std::size_t numbers) {
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, {ui.px(10), ui.px(2)});
  const ImVec2 top = ImGui::GetCursorScreenPos();
  const ImGuiTableFlags flags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoHostExtendX;
  if (ImGui::BeginTable(name.c_str(), static_cast<int>(heads.size()), flags)) {
    const auto row = [&](const PeakCells& cells, bool is_head) {
      ImGui::TableNextRow();
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const Face face = is_head ? Face::small : i < numbers ? Face::small : Face::mono_small;
        ImGui::TableSetColumnIndex(static_cast<int>(i));
        const float left = ImGui::GetContentRegionAvail().x - ui.canvas().text_width(cells[i], face);
        if (i >= numbers && left > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + left);
        ui.text(cells[i], face, is_head ? ui.theme().dim : ui.theme().text);
      }
    };
    row(heads, true);
    for (const PeakCells& cells : rows) row(cells, false);
    ImGui::EndTable();
  }
  ImGui::PopStyleVar();
  const ImVec2 end = ImGui::GetItemRectMax();
  ui.record(name, {top.x, top.y, end.x, end.y});
}

std::string off_words(std::uint64_t base, std::uint64_t other) {
  if (base == 0 || other == 0) return "-";
  const double percent = 100 * (static_cast<double>(other) / static_cast<double>(base) - 1);
  if (percent > 400) return fmt::format("{:.1f} x", 1 + percent / 100);  // a factor reads better
  return std::abs(percent) < 0.05 ? "0.0 %" : fmt::format("{:+.1f} %", percent);
}

/// What one run held at its peak, beside what was planned.
void draw_peak(Ui& ui, const MemoryRun& run, const std::string& id) {
  const bool planned = !run.planned.empty();
  std::vector<PeakCells> rows;
  std::uint64_t measured_all = 0, planned_all = 0;
  const auto add = [&](const std::string& name, std::uint64_t measured, std::uint64_t plan) {
    PeakCells cells = {name, human_bytes(measured)};
    if (planned) cells.push_back(plan > 0 ? human_bytes(plan) : "-");
    if (planned) cells.push_back(off_words(measured, plan));
    rows.push_back(std::move(cells));
  };
  for (const MemoryRow& row : memory_rows(run.timeline, run.planned)) {
    add(name_of(row.category), row.measured, row.planned.value_or(0));
    measured_all += row.measured;
    planned_all += row.planned.value_or(0);
  }
  add("together", measured_all, planned_all);
  PeakCells heads = {"at the peak", "measured"};
  if (planned) heads.insert(heads.end(), {"predicted", "off by"});
  draw_cells(ui, "peak " + id, heads, rows, 1);
}

/// What several held, against the first.
void draw_peaks(Ui& ui, const std::vector<MemoryRun>& runs) {
  PeakCells heads = {"at the peak"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    heads.push_back(runs[i].label);
    if (i > 0) heads.emplace_back("more");
  }
  std::vector<PeakCells> rows;
  const auto add = [&](const std::string& name, const auto& bytes_of) {
    PeakCells cells = {name};
    bool any = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      any = any || bytes_of(runs[i]) > 0;
      cells.push_back(human_bytes(bytes_of(runs[i])));
      if (i > 0) cells.push_back(off_words(bytes_of(runs.front()), bytes_of(runs[i])));
    }
    if (any) rows.push_back(std::move(cells));
  };
  for (std::size_t i = 0; i < kHeldCategories; ++i)
    add(kMemoryCategories[i], [i](const MemoryRun& run) { return run.timeline.peak().bytes[i]; });
  add("all tensors", [](const MemoryRun& run) { return run.timeline.peak_bytes(); });
  add("program", [](const MemoryRun& run) { return run.timeline.program_bytes; });
  draw_cells(ui, "peaks", heads, rows, 1);
}

void draw_largest(Ui& ui, const MemoryTimeline& timeline, const std::string& id) {
  std::vector<PeakCells> rows;
  for (const MemoryTensor& tensor : timeline.largest)
    rows.push_back({name_of(tensor.category), tensor.module.empty() ? "-" : tensor.module,
                    tensor.stage.empty() ? "before" : tensor.stage, human_bytes(tensor.bytes)});
  if (!rows.empty()) draw_cells(ui, "largest " + id, {"largest then", "made by", "in", "bytes"}, rows, 3);
}

/// The picture of one run in a column of this width.
void draw_memory_of(Ui& ui, const MemoryRun& run, const MemoryAxes& axes, const std::string& id, float width,
                    Requests& ask) {
  MemoryArea area;
  const Box box = paint_here(ui, "memory " + id, width, [&](Sketch& sketch, PlotPoint at, float wide) {
    return paint_memory(sketch, run, axes, at, wide, &area);
  });
  point_at_moment(ui, run.timeline, area);
  save_drawing(
      ui, box, "memory-" + id, [&] { return memory_csv(run.timeline); },
      [&](Canvas& onto, const Box& whole) {
        Sketch file(onto, theme_of(false));
        paint_memory(file, run, axes, {whole.x0, whole.y0}, whole.width());
      },
      ask);
}

void draw_memory_tables(Ui& ui, const std::vector<MemoryRun>& runs, const std::vector<std::string>& ids) {
  constexpr float kTablesBeside = 600;
  if (runs.size() > 1) {
    draw_peaks(ui, runs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      ui.gap(8);
      ui.text(runs[i].label, Face::bold);
      draw_largest(ui, runs[i].timeline, ids[i]);
    }
    return;
  }
  const bool beside = ImGui::GetContentRegionAvail().x >= ui.px(kTablesBeside);
  ImGui::BeginGroup();
  draw_peak(ui, runs.front(), ids.front());
  ImGui::EndGroup();
  if (beside) ImGui::SameLine(0, ui.px(36));
  if (!beside) ui.gap(4);
  ImGui::BeginGroup();
  draw_largest(ui, runs.front().timeline, ids.front());
  ImGui::EndGroup();
}

void draw_memory_ranks(Ui& ui, MemoryViewState& mine, std::size_t ranks) {
  mine.rank = std::clamp(mine.rank, 0, std::max(0, static_cast<int>(ranks) - 1));
  if (ranks < 2) return;
  ui.label("rank", 0);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (ui.beside(2).choice(fmt::format("r{}", rank), mine.rank == static_cast<int>(rank)))
      mine.rank = static_cast<int>(rank);
}

/// The ticked runs, or the chosen one where fewer than two are.
std::vector<std::shared_ptr<const RunEntry>> runs_of_memory(const Data& data, const AppState& state) {
  auto ticked = ticked_runs(*data.feed.runs, state.compared);
  if (ticked.size() > kMostShownRuns) ticked.resize(kMostShownRuns);
  if (ticked.size() > 1) return ticked;
  const auto chosen = data.feed.runs->find(state.run);
  return chosen ? std::vector{chosen} : std::vector<std::shared_ptr<const RunEntry>>();
}

void explain_no_memory(Ui& ui, const RunEntry& run) {
  if (run.detail && !run.detail->memory_problem.empty())
    return ui.wrapped(run.detail->memory_problem, Face::text, ui.theme().warn);
  if (run.view.state == RunState::running)
    ui.empty_state("Not written yet",
                   "A run writes what one of its first steps held in memory when it ends.");
  else
    ui.empty_state(
        "No memory was recorded",
        "Runs that train here record one step; those of earlier versions and predicted ones have none.");
}

}  // namespace

void draw_memory(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const auto runs = runs_of_memory(data, state);
  const std::string several = runs.size() > 1 ? fmt::format("The memory of {} runs", runs.size()) : "";
  if (!begin_run_view(ui, runs.empty() ? nullptr : runs.front().get(), "memory", several)) return;
  draw_memory_ranks(ui, state.memory, runs.front()->detail->memory.size());
  std::vector<MemoryRun> shown;
  std::vector<std::string> ids;
  for (const auto& run : runs) {
    if (const auto timeline = memory_of(*run, state.memory.rank)) {
      shown.push_back({runs.size() > 1 ? title_of(*run) : "", *timeline,
                       run->detail->memory_planned.at(static_cast<std::size_t>(state.memory.rank))});
      ids.push_back(run->name);
    }
  }
  if (shown.empty()) {
    explain_no_memory(ui, *runs.front());
  } else {
    const MemoryAxes axes = memory_axes(shown);
    draw_in_columns(ui, shown.size(), 8, [&](std::size_t i, float width) {
      draw_memory_of(ui, shown[i], axes, ids[i], width, ask);
    });
    draw_memory_tables(ui, shown, ids);
  }
  ImGui::EndChild();
}

}  // namespace isobar
