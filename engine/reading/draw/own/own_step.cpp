// Lessons 01 and 07: what a step of the run took, what it kept in memory, and what a rank keeps and sends by
// how many share the model.
#include <fmt/format.h>

#include <algorithm>

#include "analyse/run_prediction.h"
#include "core/find.h"
#include "core/text.h"
#include "draw/bars.h"
#include "draw/own/own_run.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "formula/tensor_parallel.h"

namespace isobar {
namespace {

StackedBar own_step_bar(const Theme& theme, const RunSummary& summary) {
  StackedBar out;
  out.title = "Time of a step, mean of the steady ones";
  out.total = fmt::format("{:.2f} ms", summary.step_us * 1e-3);
  out.axis = "time in ms";
  out.unit = 1e3;
  double rest = summary.step_us;
  for (const auto& [stage, us] : summary.stages_us) {
    out.parts.push_back(stage_part(theme, stage, us));
    rest -= us;
  }
  out.parts.push_back(stage_part(theme, "rest", std::max(0.0, rest)));
  return out;
}

StackedBar own_memory_bar(const Theme& theme, const RunView& view) {
  const std::uint64_t peak = view.summary.peak_bytes;
  StackedBar out =
      memory_bar(theme, "Memory at its peak, by formula", view.memory, static_cast<double>(peak));
  out.mark = static_cast<double>(peak);
  if (peak > 0) out.mark_words = "upright line: the peak as it was, " + human_bytes(peak);
  return out;
}

constexpr std::int64_t kMostShown = 8;

struct SplitCase {
  std::int64_t tp = 1;
  bool is_own = false;
  MemoryPlan plan;
  double wire_bytes = 0;
};

SplitCase split_case(const KnownSettings& known, std::int64_t tp, bool on_cuda) {
  Config config = known.config;
  const std::int64_t replicas = std::max<std::int64_t>(1, config.run.ranks / config.mesh.tp);
  config.run.ranks = replicas * tp;
  config.mesh.tp = tp;
  const MemoryFacts facts = memory_facts(config, on_cuda);
  const TensorParallelForm form{.tp = tp,
                                .samples = micro_batch(config) * config.train.accumulate,
                                .value_bytes = facts.value_bytes,
                                .gradient_bytes = facts.value_bytes,
                                .shares_tokens = config.mesh.sequence_parallel};
  return {tp, tp == known.config.mesh.tp, plan_memory(known.lesson, config, facts),
          tp > 1 ? tensor_parallel_wire_bytes(vit_shape(config), form) : 0};
}

float paint_split_cases(Sketch& sketch, const std::vector<SplitCase>& cases, PlotPoint at, float width) {
  double most = 0;
  for (const SplitCase& one : cases) most = std::max(most, static_cast<double>(one.plan.total()));
  std::vector<LegendEntry> legend;
  for (const SplitCase& one : cases) {
    StackedBar bar =
        memory_bar(sketch.theme(), fmt::format("mesh.tp = {}{}", one.tp, one.is_own ? " (this run)" : ""),
                   one.plan.categories(), most);
    bar.total += one.tp == 1 ? " a rank; nothing goes through f and g"
                             : fmt::format(" a rank; {} a step through f and g",
                                           human_bytes(static_cast<std::uint64_t>(one.wire_bytes)));
    bar.has_rows = false;
    for (const StackPart& part : bar.parts) {
      if (find_by(legend, &LegendEntry::words, part.name) == nullptr)
        legend.push_back({part.name, part.colour, part.hatch});
    }
    at.y = paint_stacked_bar(sketch, bar, at, width) + sketch.px(6);
  }
  return sketch.legend(at, width, legend);
}

}  // namespace

OwnPicture own_step_and_memory(const OwnRun& run) {
  const RunView view = run.view();
  if (!(view.summary.step_us > 0) || view.summary.stages_us.empty())
    return nothing_to_draw("no stages of steady steps are known",
                           "let it run on beyond its warm-up, then ask again");
  const std::string alt =
      fmt::format("Two stacked bars: a step of {:.1f} ms by stage, and the memory of a rank by category.",
                  view.summary.step_us * 1e-3);
  const auto body = [view](Sketch& sketch, PlotPoint at, float width) {
    at.y = paint_stacked_bar(sketch, own_step_bar(sketch.theme(), view.summary), at, width);
    if (view.memory.empty()) return at.y;
    return paint_stacked_bar(sketch, own_memory_bar(sketch.theme(), view), {at.x, at.y + sketch.px(18)},
                             width);
  };
  return {{"A step of this run, and its memory", run.note, alt, body}};
}

OwnPicture own_split_layers(const OwnRun& run) {
  const std::optional<KnownSettings> known = settings_of(run.folder, run.view().lesson);
  if (!known)
    return nothing_to_draw("the settings of the run are not of this version",
                           "make a run with ./isobar run 07_tensor_parallel");
  const bool on_cuda = run.view().device != "cpu";
  std::vector<SplitCase> cases;
  for (std::int64_t tp = 1; tp <= std::min(kMostShown, known->config.model.heads); tp *= 2) {
    if (known->config.model.heads % tp == 0) cases.push_back(split_case(*known, tp, on_cuda));
  }
  std::string alt = "Stacked bars of memory by category, one for each number of ranks that share the model:";
  for (const SplitCase& one : cases) alt += fmt::format(" {} at {},", human_bytes(one.plan.total()), one.tp);
  alt.back() = '.';
  return {{"Memory of a rank, and what goes through f and g, for the model of this run",
           fmt::format("by formula, for {}", printable(run.view().preset, 40)), alt,
           [cases](Sketch& sketch, PlotPoint at, float width) {
             return paint_split_cases(sketch, cases, at, width);
           }}};
}

}  // namespace isobar
