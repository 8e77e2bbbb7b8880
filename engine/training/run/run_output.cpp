#include "run/run_output.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <cmath>

#include "device/device.h"

namespace isobar {
namespace {

JournalFolder meet(const RunStart& start, const RunPlan& plan, Comm& world, Console& console) {
  const std::string libtorch =
      fmt::format("{}.{}.{}", TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, TORCH_VERSION_PATCH);
  const RunPlace place{.config = plan.config(),
                       .about = {{"cpu_kernels", cpu_capability()},
                                 {"device", plan.device.str()},
                                 {"device_is", device_text(plan.device)},
                                 {"threads_by", plan.threads_by},
                                 {"libtorch", libtorch}},
                       .threads = plan.threads,
                       .resumed = plan.resume.folder};
  return meet_in_folder(start, place, console, [&](const std::string& text) {
    return world.all_gather_text(text, "run folder").front();
  });
}

JournalStart start_of(const RunPlan& plan, RankGroups& groups) {
  return {.rank = groups.world().rank(),
          .silent = plan.fault.fault == Fault::rank0_log_only && !groups.speaks(),
          .first_step = plan.resume.state.step};
}

}  // namespace

RunOutput::RunOutput(const RunStart& start, const RunPlan& plan, RankGroups& groups, Console& console)
    : RunJournal(console, meet(start, plan, groups.world(), console), plan.config().run,
                 start_of(plan, groups)) {
  Comm& world = groups.world();
  if (world.rank() == 0) board_ = std::make_unique<Board>(*events());
  world.tell(&spans(), &status(), folder().path);
  write_begin(plan, world);
}

void RunOutput::write_begin(const RunPlan& plan, const Comm& world) {
  const Config& config = plan.config();
  const CheckpointState& from = plan.resume.state;
  JsonLine line = begin_line(plan.lesson.name, plan.loaded, attempt(), world.rank(), world.size())
                      .add("from_step", from.step)
                      .add("from_samples", from.samples)
                      .add("from_wall_us", std::llround(from.wall_s * 1e6))
                      .add("replicas", plan.replicas())
                      .add("data_source", name_of(config.data.source))
                      .add("throttle_mb_per_s",
                           config.data.source == DataSource::synthetic ? 0 : config.data.throttle_mb_per_s)
                      .add("flops_per_sample", sample_flops(config))
                      .add("precision", name_of(config.amp.mode))
                      .add("emulated", plan.emulated)
                      .add("device", plan.device.str())
                      .add("threads", plan.threads);
  if (plan.redone_flops() > 0) line.add("redone_flops_per_sample", plan.redone_flops());
  write(line);
}

}  // namespace isobar
