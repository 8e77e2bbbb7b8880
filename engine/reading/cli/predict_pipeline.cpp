#include "cli/predict_pipeline.h"

#include <fmt/format.h>

#include "analyse/pipeline_step.h"
#include "core/text.h"
#include "plot/pipeline_picture.h"

namespace isobar {
namespace {

std::string blocks_text(const PipelineTimes& times, const std::vector<int>& stages) {
  std::vector<std::string> out;
  for (const int stage : stages) {
    const StageBlocks& own = times.blocks[static_cast<std::size_t>(stage)];
    out.push_back(own.end - own.first == 1 ? std::to_string(own.first)
                                           : fmt::format("{}-{}", own.first, own.end - 1));
  }
  return joined(out);
}

Row row_of_rank(const Prediction& prediction, const PipelineTimes& times, int rank) {
  const auto at = static_cast<std::size_t>(rank);
  const std::vector<int> stages = times.schedule.stages_of(rank);
  const MemoryPlan& memory = prediction.memory_by_rank.at(at);
  const double busy_us = times.course.busy_us[at];
  Row out;
  out.add("rank", "rank", std::to_string(rank), rank);
  out.add("stages", "stages", joined(stages), stages);
  out.cell("blocks", blocks_text(times, stages));
  out.add("parameters", "parameters", human_count(times.parameters[at]), times.parameters[at]);
  out.add("busy_us", "busy ms", Quantity::time, busy_us);
  out.add("idle", "idle %", fmt::format("{:.1f}", 100 * (1 - busy_us / times.course.step_us)),
          1 - busy_us / times.course.step_us);
  const double kept = times.course.peak_kept[at] / static_cast<double>(stages.size());
  out.add("kept", "keeps", Quantity::count, kept);
  out.add("state_bytes", {"states", 1}, Quantity::bytes, static_cast<double>(memory.state()));
  out.add("activation_bytes", "activations", Quantity::bytes,
          static_cast<double>(memory.activations + memory.attention));
  out.add("memory_bytes", "memory", Quantity::bytes, static_cast<double>(memory.total()));
  return out;
}

Row row_of_boundary(const BoundaryTraffic& boundary) {
  Row out;
  out.add("stage", "behind stage", std::to_string(boundary.stage), boundary.stage);
  out.cell("between ranks", fmt::format("{}, {}", boundary.from_rank, boundary.to_rank));
  out.json["from_rank"] = boundary.from_rank;
  out.json["to_rank"] = boundary.to_rank;
  out.add("messages", "messages both ways", std::to_string(boundary.messages), boundary.messages);
  out.add("bytes", "sent both ways", Quantity::bytes, boundary.bytes);
  return out;
}

bool shares_processors(const PipelineTimes& times) { return times.costs.at_once < times.ranks(); }

std::string model_words(const PipelineTimes& times) {
  const double at_once = times.costs.at_once;
  if (!shares_processors(times)) return "each rank computes at full speed";
  return fmt::format("ranks share them: {:.3g} compute at full speed at a time, more of them slower",
                     at_once);
}

}  // namespace

void add_pipeline(Report& report, const Prediction& prediction, const ClusterArguments& arguments,
                  const NamedFile& csv) {
  if (!prediction.here || !prediction.here->stages.pipeline) return;
  const PipelineTimes& times = *prediction.here->stages.pipeline;
  const PipelineStep step{
      .course = times.course, .stages = times.schedule.stages, .form = prediction.config.mesh.schedule};
  add_drawing(
      report, arguments,
      pipeline_drawing(step, "A step of " + prediction.lesson,
                       shares_processors(times)
                           ? "predicted by formula, with ranks that share processors: no formula of the "
                             "bubble has that"
                           : "predicted by formula"));
  report.labelled("processors", model_words(times));
  Json& json = report.json["pipeline"];
  json = {{"schedule", name_of(prediction.config.mesh.schedule)},
          {"step_us", times.course.step_us},
          {"idle_of_step", times.course.idle_share()},
          {"idle_of_ideal", times.course.idle_of_ideal()},
          {"at_once", times.costs.at_once},
          {"message_us", times.costs.message_us}};
  if (const std::optional<BubbleFormula> formula = bubble_formula(step)) {
    json["formula_of_step"] = formula->of_step;
    json["formula_of_ideal"] = formula->of_ideal;
  }
  std::vector<Row> ranks, boundaries;
  for (int rank = 0; rank < times.ranks(); ++rank) ranks.push_back(row_of_rank(prediction, times, rank));
  for (const BoundaryTraffic& boundary : times.boundaries) boundaries.push_back(row_of_boundary(boundary));
  report.rows("pipeline_ranks", ranks, 0);
  report.line("");
  report.rows("boundaries", boundaries, 0);
  if (csv.path.empty()) return;
  write_named_file(csv, to_csv(times.schedule));
  report.labelled("schedule", csv.path.string());
  report.json["csv"] = csv.path.string();
}

}  // namespace isobar
