#include "cli/predict_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/split_comparison.h"
#include "core/text.h"
#include "core/token_shares.h"
#include "formula/context_parallel.h"
#include "formula/group_traffic.h"

namespace isobar {
namespace {

/// One of the four ways, or the exchange of a window.
struct ContextRow {
  std::string name;
  Config config;
  bool is_chosen = false;
};

std::vector<ContextRow> rows_of_ways(const Config& config) {
  if (config.model.window > 0) return {{"halo", config, true}};
  std::vector<ContextRow> out;
  for (std::size_t way = 0; way < kContextForms.size(); ++way) {
    Config one = config;
    one.mesh.cp_comm = static_cast<ContextForm>(way);
    out.push_back({kContextForms.at(way), one, one.mesh.cp_comm == config.mesh.cp_comm});
  }
  return out;
}

/// With the most blocks that a stage of a pipeline has.
VitShape shape_of_stage(const Prediction& prediction) {
  VitShape out = prediction.form.shape;
  const std::int64_t stages = prediction.config.mesh.pp;
  out.depth = (out.depth + stages - 1) / stages;
  return out;
}

Row row_of_way(const ContextRow& way, const LessonInfo& lesson, const Prediction& prediction) {
  const std::int64_t value_bytes = prediction.form.kept.value_bytes;
  const ContextParallelForm form = context_form(way.config, value_bytes);
  const VitShape shape = shape_of_stage(prediction);
  Row out;
  out.add("way", "mesh.cp_comm (*: this)", way.name + (way.is_chosen ? " *" : ""), way.name);
  if (form.way == ContextForm::a2a && shape.window == 0 && !has_heads_for_all(shape, form))
    return out.end(
        fmt::format("{} heads of a rank are not shared out over {}", shape.heads / form.tp, form.cp));
  const ContextStep step = context_step(shape, form, 0);
  out.add("forward_bytes", "forward", Quantity::bytes, step.blocks.forward_bytes);
  out.add("backward_bytes", "backward", Quantity::bytes, step.blocks.backward_bytes);
  out.add("block_bytes", "blocks a step", Quantity::bytes, step.blocks.bytes());
  out.add("calls", "calls", std::to_string(step.blocks.calls()), step.blocks.calls());
  const Link link = link_between(way.config, prediction.here->rates.link);
  out.add("comm_us", "all ms", Quantity::time, context_times(shape, form, link).total_us());
  const MemoryPlan memory = plan_memory(lesson, way.config, memory_facts(way.config, /*on_cuda=*/false));
  out.add("memory_bytes", "memory a rank", Quantity::bytes, static_cast<double>(memory.total()));
  return out;
}

void add_comparison(Report& report, const LessonInfo& lesson, const Prediction& prediction) {
  const Config& config = prediction.config;
  if (!can_split_layers(config)) {
    report.labelled("beside tp", config.model.window > 0
                                     ? std::string("not compared: with mesh.tp there is no window")
                                     : fmt::format("model.heads = {} are not shared out over mesh.tp = {}",
                                                   config.model.heads, config.mesh.tp * config.mesh.cp));
    return;
  }
  const SplitComparison found = compare_splits(lesson, config, prediction.here->rates, processors_here());
  report.labelled("beside tp", found.sentence(config.mesh.cp, config.mesh.tp));
  report.labelled(
      "", fmt::format("with mesh.cp a rank sends {} inside its model and holds {}, with mesh.tp {} and {}",
                      value_text(Quantity::bytes, found.tokens_bytes), human_bytes(found.tokens_memory),
                      value_text(Quantity::bytes, found.layers_bytes), human_bytes(found.layers_memory)));
  Json& json = report.json["beside_tp"];
  json = ISOBAR_NAMED(found.tokens_bytes, found.layers_bytes, found.tokens_memory, found.layers_memory);
  json["tokens_us"] = found.tokens_us();
  json["layers_us"] = found.layers_us();
  json["largest"] = found.largest().name;
  json["terms"] = json_list(found.terms, [](const SplitTerm& term) {
    return Json{{"name", term.name}, {"tokens_us", term.tokens_us}, {"layers_us", term.layers_us}};
  });
}

std::string beside_words(const ContextStep& step, bool has_stages) {
  return fmt::format(
      "{}: gradients at the embedding {}{}, outputs of the last norm {}{}, sums of gradients of {} "
      "parameters {}",
      has_stages
          ? "ranks send more"
          : "a step sends " +
                value_text(Quantity::bytes, step.share_bytes + step.unite_bytes + step.sum_bytes) + " more",
      value_text(Quantity::bytes, step.share_bytes), has_stages ? " (first stage)" : "",
      value_text(Quantity::bytes, step.unite_bytes), has_stages ? " (last stage)" : "",
      human_count(step.summed_values), value_text(Quantity::bytes, step.sum_bytes));
}

/// The part of the step that takes longest, by name.
std::string largest_stage(const StepStages& stages) {
  std::vector<std::pair<std::string, double>> all = stages.named();
  const auto most = std::ranges::max_element(all, {}, &std::pair<std::string, double>::second);
  return fmt::format("{}, {:.1f} of {:.1f} ms", most->first, most->second * 1e-3, stages.step_us() * 1e-3);
}

Row row_of_readers(const Config& config, std::int64_t group, const ReadRates& rates, bool is_best) {
  const ReadTraffic traffic = read_traffic(config, group);
  Row out;
  const bool is_this = group == config.data.read_group;
  out.add("read_group", "data.read_group (*: this)", std::to_string(group) + (is_this ? " *" : ""), group);
  out.add("file_bytes", "a rank reads", Quantity::bytes, traffic.file_bytes);
  out.add("gather_bytes", "and sends", Quantity::bytes, traffic.gather_bytes);
  out.add("seconds", "ms a step", fmt::format("{:.2f}", 1e3 * read_seconds(traffic, group, rates)),
          read_seconds(traffic, group, rates));
  out.add("is_best", "", is_best ? "best" : "", is_best);
  return out;
}

void add_readers(Report& report, const Prediction& prediction) {
  const Config& config = prediction.config;
  const Link link = link_between(config, prediction.here->rates.link);
  const ReadRates rates{.file_bytes_per_s = prediction.here->rates.read_bytes_per_s,
                        .link_bytes_per_s = link.bytes_per_us * 1e6,
                        .latency_us = link.latency_us};
  const std::int64_t best = best_read_group(config, rates);
  std::vector<Row> rows;
  for (const std::int64_t group : read_groups(config))
    rows.push_back(row_of_readers(config, group, rates, group == best));
  report.line("");
  report.rows("read_groups", rows, 0);
  const std::int64_t model = ranks_of_model(config);
  report.labelled("reading",
                  fmt::format("files at {} a rank, the link at {}: {}",
                              value_text(Quantity::byte_rate, rates.file_bytes_per_s),
                              value_text(Quantity::byte_rate, rates.link_bytes_per_s),
                              model == 1 ? std::string("each model has one rank, which reads whole fields")
                              : best == model ? "all ranks of a model together are the quickest group"
                              : best == 1     ? std::string("each rank is quicker alone")
                                              : fmt::format("groups of {} are the quickest", best)));
  report.json["best_read_group"] = best;
}

}  // namespace

void add_context(Report& report, const LessonInfo& lesson, const Prediction& prediction) {
  const Config& config = prediction.config;
  if (config.mesh.cp == 1 || !prediction.here) return;
  const VitShape shape = shape_of_stage(prediction);
  std::vector<std::int64_t> tokens;
  for (const TokenShare& share : token_shares(shape.tokens(), config.mesh.cp)) tokens.push_back(share.count);
  std::vector<std::string> shown;
  for (const std::int64_t count : tokens) shown.push_back(std::to_string(count));
  constexpr std::size_t kMostShown = 8;
  if (shown.size() > kMostShown) shown = {shown.front() + " each", "the last " + shown.back()};
  report.labelled("tokens", fmt::format("{} of the {} of a sample on the ranks of a model", joined(shown),
                                        human_count(shape.tokens())));
  report.json["tokens"] = tokens;
  std::vector<Row> rows;
  for (const ContextRow& way : rows_of_ways(config)) rows.push_back(row_of_way(way, lesson, prediction));
  report.line("");
  report.rows("context_ways", rows, 1);
  const ContextStep step = context_step(shape, context_form(config, prediction.form.kept.value_bytes), 0);
  report.labelled("beside them", beside_words(step, config.mesh.pp > 1));
  add_members(report.json, ISOBAR_NAMED(step.share_bytes, step.unite_bytes, step.sum_bytes));
  report.labelled("largest part", largest_stage(prediction.here->stages));
  add_comparison(report, lesson, prediction);
}

void add_model_groups(Report& report, const LessonInfo& lesson, const Prediction& prediction) {
  const Config& config = prediction.config;
  if (!honours(lesson, "mesh.gpus_per_model") || !prediction.here) return;
  const std::int64_t ranks = config.run.ranks, model = ranks_of_model(config);
  const std::int64_t in_ensemble = models_of_ensemble(config), all = members(config);
  const EffectiveBatch batch = effective_batch(config);
  report.labelled("groups",
                  fmt::format("{} = {} x {} x {}", counted(ranks, "rank"), counted(batch.replicas, "replica"),
                              counted(in_ensemble, "model"), counted(model, "rank")));
  report.labelled("members", all == 1
                                 ? std::string("1: a sample has one forecast")
                                 : fmt::format("{} = {} a model x {}", all, config.mesh.members_per_device,
                                               counted(in_ensemble, "model")));
  report.labelled("batch",
                  fmt::format("{} samples = {} of the loader x {} x {}", batch.total(), batch.loader_batch,
                              counted(batch.replicas, "replica"),
                              batch.accumulate == 1 ? "1 pass" : fmt::format("{} passes", batch.accumulate)));
  if (config.train.rollout > 1)
    report.labelled("rollout", fmt::format("{} forecasts, each from the one before: as many passes",
                                           config.train.rollout));
  const EnsembleTraffic ensemble = ensemble_traffic(config);
  if (ensemble.gathers > 0)
    report.labelled("ensemble", fmt::format("a rank sends {} of forecasts in {}, {:.2f} ms a step",
                                            value_text(Quantity::bytes, ensemble.gather_bytes),
                                            counted(ensemble.gathers, "gather"),
                                            prediction.here->stages.ensemble_us * 1e-3));
  Json& json = report.json["groups"];
  json = {{"ranks", ranks},
          {"ranks_of_model", model},
          {"models_of_ensemble", in_ensemble},
          {"replicas", batch.replicas},
          {"members", all},
          {"loader_batch", batch.loader_batch},
          {"accumulate", batch.accumulate},
          {"effective_batch", batch.total()},
          {"ensemble_bytes", ensemble.gather_bytes},
          {"ensemble_us", prediction.here->stages.ensemble_us}};
  add_readers(report, prediction);
}

}  // namespace isobar
