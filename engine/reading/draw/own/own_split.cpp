// Lesson 07: what the run's model takes on a rank, and what its ranks send, by how many share it.
#include <fmt/format.h>

#include <algorithm>

#include "analyse/run_prediction.h"
#include "core/text.h"
#include "draw/own/own_run.h"
#include "draw/stacked_bar.h"
#include "formula/memory_plan.h"
#include "formula/model_shape.h"
#include "formula/tensor_parallel.h"

namespace isobar {
namespace {

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
    StackedBar bar;
    bar.title = fmt::format("mesh.tp = {}{}", one.tp, one.is_own ? " (this run)" : "");
    bar.total =
        human_bytes(one.plan.total()) + " a rank; " +
        (one.tp == 1 ? std::string("nothing goes through f and g")
                     : human_bytes(static_cast<std::uint64_t>(one.wire_bytes)) + " a step through f and g");
    bar.unit = most > 1e9 ? 1e9 : 1e6;
    bar.axis = most > 1e9 ? "memory in GB" : "memory in MB";
    bar.most = most;
    bar.has_rows = false;
    for (const auto& [name, bytes] : one.plan.categories()) {
      bar.parts.push_back(memory_part(sketch.theme(), name, static_cast<double>(bytes)));
      const bool is_new = std::none_of(legend.begin(), legend.end(),
                                       [&, n = name](const LegendEntry& entry) { return entry.words == n; });
      if (is_new) legend.push_back({name, bar.parts.back().colour, bar.parts.back().hatch});
    }
    at.y = paint_stacked_bar(sketch, bar, at, width) + sketch.px(6);
  }
  return sketch.legend(at, width, legend);
}

}  // namespace

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
  OwnPicture out;
  out.drawing.title = "Memory of a rank, and what goes through f and g, for the model of this run";
  out.drawing.note = fmt::format("by formula, for {}", printable(run.view().preset, 40));
  out.drawing.alt = "Stacked bars of memory by category, one for each number of ranks that share the model:";
  for (const SplitCase& one : cases)
    out.drawing.alt += fmt::format(" {} at {},", human_bytes(one.plan.total()), one.tp);
  out.drawing.alt.back() = '.';
  out.drawing.body = [cases](Sketch& sketch, PlotPoint at, float width) {
    return paint_split_cases(sketch, cases, at, width);
  };
  return out;
}

}  // namespace isobar
