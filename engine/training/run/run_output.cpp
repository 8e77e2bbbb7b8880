#include "run/run_output.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <cmath>

#include "core/machine.h"
#include "device/device.h"
#include "launch/rank_launcher.h"
#include "running/environment.h"

namespace isobar {
namespace {

std::string environment_of(const RunPlan& plan, const std::vector<std::string>& command) {
  return environment_toml(
      {{"cpu_kernels", cpu_capability()},
       {"device", plan.device.str()},
       {"device_is", device_text(plan.device)},
       {"threads_by", plan.threads_by},
       {"libtorch", fmt::format("{}.{}.{}", TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, TORCH_VERSION_PATCH)}},
      plan.threads, command);
}

/// Rank 0 broadcasts the folder.
JournalFolder meet_in_folder(const RunPlan& plan, Comm& world, Console& console,
                             const std::filesystem::path& run_dir, const std::vector<std::string>& command) {
  if (world.rank() > 0) {
    JournalFolder out{{world.all_gather_text("", "run folder").front()}};
    out.attempt = std::stoi(world.all_gather_text("", "attempt").front());
    return out;
  }
  JournalFolder out = take_journal_folder(plan.lesson.name, plan.resume.folder, run_dir, console);
  if (world.size() > 1) show_run_folder(plan.ranks.meeting_file, out.folder.path);
  world.all_gather_text(out.folder.path.string(), "run folder");
  world.all_gather_text(std::to_string(out.attempt), "attempt");
  write_run_toml(out, plan.lesson.name, plan.config(), environment_of(plan, command));
  return out;
}

JournalStart start_of(const RunPlan& plan, RankGroups& groups) {
  return {.rank = groups.world().rank(),
          .silent = plan.fault.fault == Fault::rank0_log_only && !groups.speaks(),
          .first_step = plan.resume.state.step};
}

}  // namespace

RunOutput::RunOutput(const RunPlan& plan, RankGroups& groups, Console& console,
                     const std::filesystem::path& run_dir, const std::vector<std::string>& command)
    : RunJournal(console, meet_in_folder(plan, groups.world(), console, run_dir, command), plan.config().run,
                 start_of(plan, groups)) {
  Comm& world = groups.world();
  if (world.rank() == 0) board_ = std::make_unique<Board>(folder().path / "tb", host_name());
  world.tell(&spans(), &status(), folder().path);
  write_begin(plan, world);
}

void RunOutput::write_begin(const RunPlan& plan, const Comm& world) {
  const Config& config = plan.config();
  const CheckpointState& from = plan.resume.state;
  write(begin_line(plan.lesson.name, plan.loaded, attempt(), world.rank(), world.size())
            .add("from_step", from.step)
            .add("from_samples", from.samples)
            .add("from_wall_us", std::llround(from.wall_s * 1e6))
            .add("replicas", plan.replicas())
            .add("data_source", name_of(config.data.source))
            .add("throttle_mb_per_s",
                 config.data.source == DataSource::synthetic ? 0 : config.data.throttle_mb_per_s)
            .add("flops_per_sample", training_flops(vit_shape(config)))
            .add("precision", name_of(config.amp.mode))
            .add("emulated", plan.emulated)
            .add("device", plan.device.str())
            .add("threads", plan.threads));
}

}  // namespace isobar
