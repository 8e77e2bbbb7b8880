#include "run/announce.h"

#include <fmt/format.h>

#include "comm/link_probe.h"
#include "core/text.h"
#include "core/token_shares.h"
#include "device/device.h"
#include "device/precision.h"
#include "formula/model_shape.h"
#include "pipeline/schedule.h"
#include "run/rank_agreement.h"
#include "train/schedule.h"

namespace isobar {
namespace {

std::string source_text(const DataConfig& data) {
  if (data.source == DataSource::synthetic) return "one batch, made up: there is nothing to learn";
  const std::string slow =
      data.throttle_mb_per_s > 0 ? fmt::format(", held to {} MB/s", data.throttle_mb_per_s) : "";
  return (data.source == DataSource::memory ? "read into memory from " : "in ") + data_root(data).string() +
         slow;
}

void write_plan(const RunPlan& plan, const Trained& trained, RunOutput& output) {
  output.write(JsonLine("note")
                   .add("text", "plan")
                   .add("steps_per_epoch", trained.steps_per_epoch)
                   .add("train_samples", trained.train.size())
                   .add("valid_samples", trained.valid.size())
                   .add("parameters", trained.parameters)
                   .add("loader", trained.loader.text()));
  const MemoryPlan& memory = plan.memory;
  JsonLine note("note");
  note.add("text", "memory");
  for (const auto& [name, bytes] : {std::pair{"weights_bytes", memory.weights},
                                    {"gradients_bytes", memory.gradients},
                                    {"moments_bytes", memory.moments},
                                    {"buffers_bytes", memory.buffers},
                                    {"in_flight_bytes", memory.in_flight},
                                    {"activations_bytes", memory.activations},
                                    {"attention_bytes", memory.attention},
                                    {"working_bytes", memory.working},
                                    {"batches_bytes", memory.batches},
                                    {"program_bytes", memory.program},
                                    {"host_bytes", memory.host},
                                    {"predicted_bytes", plan.predicted_bytes()}})
    note.add(name, static_cast<std::int64_t>(bytes));
  output.write(note);
}

/// "2 x 4 models, 8 members of each sample"
std::string ensembles_text(const Config& config) {
  return fmt::format("{} x {}, {} of each sample", replicas(config),
                     counted(models_of_ensemble(config), "model"), counted(members(config), "member"));
}

void say_task(const RunPlan& plan, const Trained& trained, Console& console) {
  const Config& config = plan.config();
  const VitShape shape = vit_shape(config);
  const char* const picked =
      plan.loaded.preset_was_chosen ? " (picked for this device; --preset names another)" : "";
  const std::string chosen = plan.loaded.preset.empty() ? "" : ", preset " + plan.loaded.preset + picked;
  console.line(fmt::format("{}  {}{}", plan.lesson.name, plan.lesson.title, chosen));
  console.line(fmt::format("  data    {} training and {} validation samples of {} x {} x {}, {}",
                           trained.train.size(), trained.valid.size(), shape.channels, shape.height,
                           shape.width, source_text(config.data)));
  if (const std::string& fault = trained.valid.climatology().fault; !fault.empty())
    console.line(fmt::format("  note    {}: left out (stats/time_means.npy)", fault));
  console.line("  loader  " + trained.loader.text());
  console.line(fmt::format("  model   {} parameters, {:.4g} GFLOP a sample, {} tokens",
                           human_count(trained.parameters), sample_flops(config) * 1e-9, shape.tokens()));
  console.line(
      fmt::format("  train   {} steps of {} samples, {:.1f} epochs of {} steps", config.train.steps,
                  config.train.global_batch,
                  static_cast<double>(config.train.steps) / static_cast<double>(trained.steps_per_epoch),
                  trained.steps_per_epoch));
  if (members(config) > 1) console.line("  members " + ensembles_text(config));
}

void say_machine(const RunPlan& plan, Console& console) {
  const Config& config = plan.config();
  console.line(fmt::format(
      "  device  {} ({}, {}{}), {}{}", plan.device.str(), device_text(plan.device),
      counted(plan.threads, "thread"), plan.threads_by == "affinity" ? "" : ": " + plan.threads_by,
      precision_text(config.amp.mode),
      config.run.deterministic == Determinism::yes ? "" : ", bits may differ from run to run"));
  if (!plan.threads_note.empty()) console.line("  threads " + plan.threads_note);
  if (plan.honours("run.memory_cap")) console.line("  memory  predicted for a rank, " + plan.memory.text());
  if (const std::string given = precision_sentence(config.amp.mode, precision_facts(plan.device));
      !given.empty())
    console.line(fmt::format("  {}    {}", name_of(config.amp.mode), given));
  if (!plan.attention.empty()) console.line("  attention  " + plan.attention);
  const std::string rate = peak_text(config, peak_learning_rate(plan.page_config));
  if (!rate.empty()) console.line("  rate    " + rate);
}

/// "4 of 1 1 1 1 blocks; schedule 1f1b, 4 micro-batches"
std::string stages_text(const Config& config) {
  const MeshConfig& mesh = config.mesh;
  std::vector<std::int64_t> blocks;
  for (const StageBlocks& stage :
       blocks_of_stages(config.model.depth, static_cast<int>(mesh.pp * mesh.chunks), mesh.stage_blocks))
    blocks.push_back(stage.end - stage.first);
  return fmt::format("{} of {} blocks; schedule {}, {}", blocks.size(), joined(blocks, " "),
                     mesh.schedule_file.empty() ? name_of(mesh.schedule) : mesh.schedule_file.c_str(),
                     config.train.accumulate == 1 ? "1 micro-batch"
                                                  : fmt::format("{} micro-batches", config.train.accumulate));
}

/// "41 41 41 39 of 162 tokens; gather"
std::string tokens_text(const Config& config) {
  const std::int64_t tokens = vit_shape(config).tokens();
  std::vector<std::int64_t> counts;
  for (const TokenShare& share : token_shares(tokens, config.mesh.cp)) counts.push_back(share.count);
  return fmt::format("{} of {} tokens; {}", joined(counts, " "), tokens,
                     config.model.window > 0 ? fmt::format("halos of {}", config.model.window)
                                             : name_of(config.mesh.cp_comm));
}

void say_ranks(const RunPlan& plan, Comm& world, RunOutput& output) {
  if (world.size() == 1) return;
  Console& console = output.console();
  const MeshConfig& mesh = plan.config().mesh;
  if (const std::int64_t each = ranks_of_model(plan.config()); each > 1) {
    const auto beside = [](const char* axis, std::int64_t size) {
      return size > 1 ? fmt::format(" x {} {}", axis, size) : "";
    };
    const std::int64_t all = models(plan.config());
    console.line(fmt::format("  mesh    {} of {} ranks each: tp {}{}{} x dp {}, order {}",
                             counted(all, "model"), each, mesh.tp, beside("cp", mesh.cp),
                             beside("pp", mesh.pp), all, mesh.order));
  }
  if (mesh.cp > 1) console.line("  tokens  " + tokens_text(plan.config()));
  if (mesh.pp > 1) console.line("  stages  " + stages_text(plan.page_config));
  if (!world.note().empty()) console.line("  ranks   " + world.note());
  if (!plan.config().comm.probe) return;
  const LinkProbe probe = probe_link(world, plan.device);
  console.line("  comm    " + probe_text(probe, world));
  output.write(JsonLine("note")
                   .add("text", "probe")
                   .add("backend", world.backend())
                   .add("latency_us", probe.latency_us)
                   .add("bytes", probe.bytes)
                   .add("algbw_gb_per_s", probe.algbw_gb_per_s)
                   .add("busbw_gb_per_s", probe.busbw_gb_per_s));
}

void say_what_is_special(const RunPlan& plan, RunOutput& output, std::int64_t first_step) {
  const Config& config = plan.config();
  Console& console = output.console();
  if (plan.measures()) {
    const char* const measure = name_of(config.run.measure);
    console.line(fmt::format("  MEASURE {}: {}", measure, measure_sentence(measure)));
  }
  const std::int64_t steps = config.train.steps - first_step;
  const bool records = plan.honours("graph.enabled") && config.graph.enabled;
  if (records && steps <= config.graph.warmup) {
    console.line(fmt::format("  graph   none: the {} steps of this run are all warm-up (graph.warmup = {})",
                             steps, config.graph.warmup));
  }
  announce_changes(output);
}

}  // namespace

void announce(const RunPlan& plan, const Trained& trained, RankGroups& groups, RunOutput& output,
              std::int64_t first_step) {
  check_same_on_ranks(groups.world(), "data sets",
                      fmt::format("training data = {} ({} samples)\nvalidation data = {} ({} samples)\n",
                                  trained.train.identity(), trained.train.size(), trained.valid.identity(),
                                  trained.valid.size()));
  write_plan(plan, trained, output);
  say_task(plan, trained, output.console());
  say_machine(plan, output.console());
  say_ranks(plan, groups.world(), output);
  output.console().line("  run     " + output.folder().path.string());
  say_what_is_special(plan, output, first_step);
}

}  // namespace isobar
