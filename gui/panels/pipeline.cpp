#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/text.h"
#include "panels/parts.h"
#include "panels/views.h"
#include "plot/memory_picture.h"
#include "plot/pipeline_picture.h"

namespace isobar {
namespace {

constexpr std::size_t kMostMemoryRanks = 4;

/// Works the steps out again when the run, its spans or what is wanted are others.
void make_pipeline_again(PipelineViewState& state, const RunEntry& run) {
  const RunDetail& detail = *run.detail;
  const StepRange compared = detail.ranks ? detail.ranks->compared() : StepRange{};
  const bool same = state.run == run.id && state.tables == detail.spans &&
                    state.made_wanted == state.wanted && state.made_over == compared;
  if (same) return;
  if (state.run != run.id) state.wanted = -1;
  state.run = run.id;
  state.tables = detail.spans;
  state.made_wanted = state.wanted;
  state.made_over = compared;
  state.made.reset();
  state.sentences.clear();
  state.problem.clear();
  std::vector<PipelineRank> ranks;
  const auto host_of = [&](std::size_t rank) {
    return detail.ranks && rank < detail.ranks->ranks.size() ? detail.ranks->ranks[rank].host : std::string();
  };
  std::size_t first = state.tables.size();  // rank that has spans
  for (std::size_t i = 0; i < state.tables.size(); ++i) {
    if (!state.tables[i]) continue;
    first = std::min(first, i);
    ranks.push_back({static_cast<int>(i), state.tables[i].get(),
                     clock_shift_us(*state.tables[first], *state.tables[i], host_of(i) == host_of(first))});
  }
  try {
    state.made = pipeline_run(ranks, pipeline_shape(detail.config), compared, state.wanted);
    if (state.made) state.sentences = pipeline_sentences(*state.made);
  } catch (const Error& error) {
    state.problem = printable(error.what(), 200);
  }
}

void point_at_action(Ui& ui, const PipelineStep& step, const PipelineArea& area) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered()) return;
  const std::optional<std::size_t> action = area.action_at(step, {mouse.x, mouse.y});
  if (action) tip_at_mouse(ui, action_words(step, *action));
}

/// One step over its axis, which ends at `most`.
void draw_pipeline_step(Ui& ui, const PipelineStep& step, const std::string& name, double most,
                        Requests& ask) {
  PipelineArea area;
  const Box box = paint_here(ui, name, 0, [&](Sketch& sketch, PlotPoint at, float width) {
    return paint_pipeline(sketch, step, at, width, {.most = most}, &area);
  });
  point_at_action(ui, step, area);
  save_drawing(
      ui, box, name, [&] { return pipeline_csv(step); },
      [&](Canvas& onto, const Box& in) {
        paint_drawing(onto, theme_of(false), in, pipeline_drawing(step, "A step of a pipeline"));
      },
      ask);
}

void draw_pipeline_controls(Ui& ui, PipelineViewState& state) {
  const std::vector<std::int64_t> none;
  const std::vector<std::int64_t>& traced = state.made ? state.made->traced : none;
  const auto here = std::ranges::lower_bound(traced, state.made ? state.made->drawn.step : 0);
  if (ui.button("Earlier", ButtonKind::plain, here != traced.begin())) state.wanted = *std::prev(here);
  const bool has_later = here != traced.end() && std::next(here) != traced.end();
  if (ui.beside(4).button("Later", ButtonKind::plain, has_later)) state.wanted = *std::next(here);
  if (ui.beside(4).button("Typical", ButtonKind::quiet, state.wanted >= 0)) state.wanted = -1;
  ui.tip("The steady step nearest to the median");
  if (ui.beside(16).choice("With its schedule", state.scheduled)) state.scheduled = !state.scheduled;
  ui.tip("Below: the same order on a clock of events, with this run's mean times and no time for messages");
}

/// What each rank held in its recorded step, on common axes.
void draw_rank_memory(Ui& ui, const RunEntry& run, const std::vector<int>& ranks) {
  std::vector<MemoryRun> shown;
  std::size_t recorded = 0;
  for (const int rank : ranks) {
    const auto place = static_cast<std::size_t>(rank);
    if (place >= run.detail->memory.size() || !run.detail->memory[place]) continue;
    if (++recorded <= kMostMemoryRanks)
      shown.push_back({fmt::format("rank {}", rank), *run.detail->memory[place]});
  }
  if (shown.empty()) return;
  ui.gap(8);
  ui.text("What ranks held in one step", Face::bold);
  const MemoryAxes axes = memory_axes(shown);
  draw_in_columns(ui, shown.size(), 0, [&](std::size_t i, float width) {
    paint_here(ui, "memory of " + shown[i].label, width, [&](Sketch& sketch, PlotPoint at, float wide) {
      return paint_memory(sketch, shown[i], axes, at, wide);
    });
  });
  if (recorded > shown.size())
    ui.note(fmt::format("{} more ranks recorded theirs; Memory shows any of them", recorded - shown.size()));
}

void draw_pipeline_made(Ui& ui, const RunEntry& run, PipelineViewState& mine, Requests& ask) {
  const PipelineRun& made = *mine.made;
  const bool below = mine.scheduled && made.scheduled;
  double most = made.drawn.course.step_us;
  if (below) most = std::max(most, made.scheduled->course.step_us);
  ui.wrapped(fmt::format("Step {} as it was: {}", made.drawn.step, idle_words(made.drawn)), Face::bold,
             ui.theme().text);
  draw_pipeline_step(ui, made.drawn, "pipeline", most / made.drawn.unit_us, ask);
  if (below) {
    ui.wrapped("The schedule with this run's mean times: " + idle_words(*made.scheduled), Face::bold,
               ui.theme().text);
    draw_pipeline_step(ui, *made.scheduled, "scheduled", most / made.scheduled->unit_us, ask);
  }
  paint_here(ui, "pipeline legend", 0, [&](Sketch& sketch, PlotPoint at, float width) {
    return paint_pipeline_legend(sketch, {&made.drawn}, at, width);
  });
  for (const std::string& sentence : mine.sentences) ui.note(sentence);
  draw_rank_memory(ui, run, made.drawn.named);
}

}  // namespace

void draw_pipeline(Ui& ui, const Data& data, AppState& state, Requests& ask) {
  const std::shared_ptr<const RunEntry> run = data.feed.runs->find(state.run);
  if (!begin_run_view(ui, run.get(), "pipeline")) return;
  PipelineViewState& mine = state.pipeline;
  make_pipeline_again(mine, *run);
  if (mine.made || mine.wanted >= 0) draw_pipeline_controls(ui, mine);
  if (mine.made)
    draw_pipeline_made(ui, *run, mine, ask);
  else if (!mine.problem.empty())
    ui.wrapped(mine.problem, Face::text, ui.theme().warn);
  else
    ui.empty_state("No pipeline to draw",
                   "Runs with mesh.pp above 1 have one, and keep what ranks did in their first "
                   "run.trace_steps steps.");
  ImGui::EndChild();
}

}  // namespace isobar
