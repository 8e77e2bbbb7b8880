#include "run/run_plan.h"

#include <fmt/format.h>

#include <utility>

#include "config/check_fault.h"
#include "config/with_fault.h"
#include "core/error.h"
#include "core/named_file.h"
#include "core/processors.h"
#include "core/text.h"
#include "core/token_shares.h"
#include "device/device.h"
#include "device/load_cuda.h"
#include "device/memory.h"
#include "device/precision.h"
#include "formula/memory_front.h"
#include "formula/recompute.h"
#include "model/attention_choice.h"
#include "record/run_folder.h"
#include "run/rank_agreement.h"
#include "train/weights.h"

namespace isobar {
namespace {

/// Threads of tensor operations. Processes of this machine share its processors, unless Slurm gave each of
/// them some of its own.
void choose_threads(RunPlan& plan) {
  const Processors here = processors_here();
  const ThreadChoice choice =
      here.threads(plan.config().run.threads, plan.ranks.cores_of_task > 0 ? 1 : plan.ranks.local_world);
  plan.threads = set_up_cpu(choice.count);
  plan.threads_by = choice.why;
  plan.threads_note = here.note;
}

/// Refuses a run that the memory cannot hold, before it takes an hour to find out.
void check_memory(RunPlan& plan) {
  const Config& config = plan.config();
  const c10::Device device = plan.device;
  MemoryFacts facts = memory_facts(with_fault(config, plan.fault), device.is_cuda());
  // What libraries will take with their first calls: packed operands of matrix products, threads
  // (tests/lessons).
  constexpr std::uint64_t kPools = 8'000'000;
  if (device.is_cpu()) facts.program_bytes = peak_own_bytes() + kPools;
  check_memory_cap(plan.lesson, config, facts);
  plan.memory = plan_memory(plan.lesson, config, facts);
  if (config.mesh.pp > 1 && plan.ranks.world == config.run.ranks)
    plan.memory = plans_of_pipeline(
        plan.lesson, config, facts)[static_cast<std::size_t>(plan.mesh().coordinate(plan.ranks.rank, "pp"))];
  check_host_memory(plan.memory.host, plan.ranks.local_world, memory_now(c10::Device(c10::kCPU)));
  // What the program takes of a CUDA device is taken already; on a CPU loaders ask for their slots
  // themselves.
  std::uint64_t own = plan.predicted_bytes();
  if (device.is_cuda()) own -= plan.memory.program;
  if (device.is_cpu() && config.loader.kind != LoaderKind::in_line) own -= plan.memory.batches;
  // On a processor all ranks of the machine take it from the same memory.
  const auto takers = static_cast<std::uint64_t>(device.is_cpu() ? plan.ranks.local_world : 1);
  const std::uint64_t wanted = own * takers;
  const FreeAndTotal memory = memory_now(device);
  if (memory.total_bytes == 0 || wanted <= static_cast<std::uint64_t>(memory.free_bytes)) {
    if (device.is_cuda()) return;
    plan.promised = std::make_unique<MemoryPromise>();  // data and loaders come first, and must leave it
    return plan.promised->add(wanted);
  }
  const std::string each = takers > 1 ? fmt::format(" in {} ranks", takers) : "";
  throw Error(
      fmt::format("training would take about {} of memory{}, and {} of {} are free", human_bytes(wanted),
                  each, human_bytes(static_cast<std::uint64_t>(memory.free_bytes)),
                  human_bytes(static_cast<std::uint64_t>(memory.total_bytes))),
      fmt::format("{}, data.grid = {} x {}, train.global_batch = {}; {}{}", device.str(), config.data.grid[0],
                  config.data.grid[1], config.train.global_batch, takers > 1 ? "each " : "",
                  plan.memory.text()),
      memory_hint(device, memory));
}

/// What attention of the model is asked to do; over a window that is blocks of queries, with a mask.
AttentionShape attention_shape(const RunPlan& plan) {
  const Config& config = plan.config();
  const std::int64_t patches = config.model.patch * config.model.patch, window = config.model.window;
  AttentionShape out{.batch = config.train.global_batch,
                     .heads = config.model.heads,
                     .tokens = config.data.grid[0] * config.data.grid[1] / patches,
                     .head_size = config.model.embed / config.model.heads,
                     .type = half_type(config.amp.mode).value_or(c10::ScalarType::Float),
                     .device = plan.device};
  if (window == 0) return out;
  const std::int64_t own = largest_share(out.tokens, config.mesh.cp);
  out.tokens = window_block(config);
  out.batch *= (own + out.tokens - 1) / out.tokens;
  out.keys = out.tokens + 2 * window;
  out.has_mask = true;
  return out;
}

/// Error (exit code 2) for a form that this build, device, type or head size cannot run, with those that can;
/// and for the fault math_attention where it would change nothing.
std::string attention_text(const RunPlan& plan) {
  if (!plan.honours("model.attention")) return "";
  const Config& config = plan.config();
  const AttentionKind kind = choose_attention(config.model.attention, attention_shape(plan));
  if (plan.fault.fault == Fault::math_attention) {
    if (kind != AttentionKind::math) return std::string("math (the fault), instead of ") + name_of(kind);
    throw Error("attention is math already, and the fault math_attention would change nothing",
                "run.fault = math_attention", "another model.attention, or another fault");
  }
  return name_of(kind) + std::string(config.model.attention == AttentionKind::automatic
                                         ? " (picked by libtorch)"
                                         : " (model.attention)");
}

RunPlan find_plan(const RunStart& start) {
  RunPlan out;
  const LessonInfo& lesson = out.lesson = start.lesson;
  out.ranks = start.ranks;
  check_takes_ranks(out.ranks, lesson.name, honours(lesson, "run.ranks"));
  out.resume = find_resume(start.arguments, lesson.name);
  out.loaded =
      resumed_config(lesson, out.resume, preset_device_kind(out.resume.settings, automatic_device_kind));
  out.device = rank_device(out.config().run.device, out.ranks);
  if (lesson.needs == "cuda" && !out.device.is_cuda()) {
    throw Error(
        fmt::format("lesson {} needs a CUDA device, and this run is on {}", lesson.name, out.device.str()),
        "run.device", fmt::format("./isobar show {} --recorded opens a run of another machine", lesson.name));
  }
  out.data_root = data_root(out.config().data);
  return out;
}

}  // namespace

void check_host_memory(std::uint64_t bytes, int ranks, const FreeAndTotal& memory) {
  const std::uint64_t wanted = bytes * static_cast<std::uint64_t>(ranks);
  if (memory.total_bytes == 0 || wanted <= static_cast<std::uint64_t>(memory.free_bytes)) return;
  throw Error(fmt::format("the states of {} would take {} of host memory, and {} of {} are free",
                          counted(ranks, "rank"), human_bytes(wanted),
                          human_bytes(static_cast<std::uint64_t>(memory.free_bytes)),
                          human_bytes(static_cast<std::uint64_t>(memory.total_bytes))),
              "mesh.offload", "mesh.offload=none, more ranks on other machines, or a smaller preset");
}

bool lies_in_a_run(const std::filesystem::path& file) {
  std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  while (!is_run_folder(folder) && folder != folder.parent_path()) folder = folder.parent_path();
  return is_run_folder(folder);
}

/// The first rank writes them. Weights of a run and its checkpoints are trained, and stay.
void check_first_weights(const RunPlan& plan) {
  const std::string& file = plan.config().train.save_init;
  if (file.empty() || plan.ranks.rank > 0) return;
  place_of({.path = file,
            .option = "train.save_init",
            .kind = "file of weights",
            .mark = lies_in_a_run(file) ? "" : kWeightsMark});
}

RunPlan plan_run(const RunStart& start) {
  RunPlan plan = find_plan(start);
  Config& config = plan.loaded.config;
  const RankEnvironment& ranks = plan.ranks;
  if (config.run.ranks != ranks.world) {
    throw Error(fmt::format("{} ranks are wanted, and this process is alone", config.run.ranks), "run.ranks",
                "./isobar run " + plan.lesson.name + " starts them; under Slurm srun does");
  }
  plan.mesh();
  if (config.run.measure == MeasureKind::synthetic) config.data.source = DataSource::synthetic;
  config.amp.mode = choose_precision(config.amp.mode, plan.device);
  apply_precision(config.amp.mode);
  plan.emulated = emulates(config.amp.mode, precision_facts(plan.device));
  plan.fault = take_fault(config, ranks.rank, plan.device.str());
  check_first_weights(plan);
  check_memory(plan);
  choose_threads(plan);
  // run.toml holds what was resolved, so that the same numbers come out again.
  const bool repeats_bits = set_deterministic(config.run.deterministic, plan.device);
  config.run.deterministic = repeats_bits ? Determinism::yes : Determinism::no;
  config.run.device = ranks.world == 1 || plan.device.is_cpu() ? plan.device.str() : "cuda";
  config.run.threads = plan.threads;
  plan.page_config = with_fault(config, plan.fault);
  make_fault(plan.fault);
  seams::check_run(plan.page_config, plan.device);
  plan.attention = attention_text(plan);
  return plan;
}

Mesh RunPlan::mesh() const {
  const MeshConfig& mesh = config().mesh;
  const MeshSizes sizes{.tp = static_cast<int>(mesh.tp),
                        .cp = static_cast<int>(mesh.cp),
                        .pp = static_cast<int>(mesh.pp),
                        .dp = static_cast<int>(models(config())),
                        .shard = static_cast<int>(mesh.shard),
                        .ens = static_cast<int>(models_of_ensemble(config()))};
  return {mesh.order, sizes, ranks.world};
}

std::uint64_t RunPlan::predicted_bytes() const {
  return memory.total() + (device.is_cpu() ? memory.host : 0);
}

double RunPlan::redone_flops() const {
  if (!honours("model.checkpoint")) return 0;
  const std::int64_t value_bytes = config().amp.mode == AmpMode::none ? 4 : 2;
  return static_cast<double>(forecasts_of_sample(config())) *
         isobar::redone_flops(kept_form(config(), value_bytes), vit_shape(config()));
}

Progress RunPlan::begin() const {
  Progress out{.steps = config().train.steps, .report_every = config().train.report_every};
  out.measures = measures();
  if (!resume.wanted()) return out;
  out.first_step = out.steps_done = out.checkpoint_step = resume.state.step;
  out.scored_step = resume.state.scored_step;
  return out;
}

}  // namespace isobar
