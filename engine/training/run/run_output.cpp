#include "run/run_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "check/yours.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/machine.h"
#include "core/text.h"
#include "launch/rank_launcher.h"
#include "run/environment.h"

namespace isobar {
namespace {

constexpr int kSchema = 1;

}  // namespace

RunOutput::RunOutput(const RunPlan& plan, RankGroups& groups, Console& console,
                     const std::filesystem::path& run_dir, const std::vector<std::string>& command)
    : console_(console) {
  Comm& world = groups.world();
  take_folder(plan, world, run_dir);
  const std::string& lesson = plan.lesson.name;
  const std::string again =
      plan.resume.wanted()
          ? "# Attempt " + std::to_string(attempt_) + " at a run of lesson " + lesson + "\n"
          : "# A run of lesson " + lesson + ". Again: ./isobar run " + lesson + " --config run.toml\n";
  if (groups.speaks()) {
    write_file_whole(
        folder_.attempt_file(attempt_),
        again + to_toml(plan.config()) + "\n" + environment_toml(plan.device, plan.threads, command));
  }
  begin_streams(plan, world.rank(), plan.fault.fault == Fault::rank0_log_only && !groups.speaks());
  world.tell(spans_.get(), &status_, folder_.path);
  write_begin(plan, world);
}

void RunOutput::take_folder(const RunPlan& plan, Comm& world, const std::filesystem::path& run_dir) {
  if (world.rank() > 0) {
    folder_ = {world.all_gather_text("", "run folder").front()};
    attempt_ = std::stoi(world.all_gather_text("", "attempt").front());
    return;
  }
  if (plan.resume.wanted()) {
    folder_ = {plan.resume.folder};
  } else if (run_dir.empty()) {
    folder_ = make_run_folder("runs", plan.lesson.name);
  } else {
    folder_ = take_run_folder(run_dir);
  }
  owner_ = RunOwner(folder_.path, host_name());
  attempt_ = next_attempt(folder_);
  console_.keep_in(folder_.console_file());
  if (world.size() > 1) show_run_folder(plan.ranks.meeting_file, folder_.path);
  world.all_gather_text(folder_.path.string(), "run folder");
  world.all_gather_text(std::to_string(attempt_), "attempt");
}

void RunOutput::begin_streams(const RunPlan& plan, int rank, bool silent) {
  const RunConfig& run = plan.config().run;
  const StreamStart start = silent         ? StreamStart::nowhere
                            : attempt_ > 0 ? StreamStart::go_on
                                           : StreamStart::create;
  const auto flush_ms = static_cast<int>(run.flush_ms);
  stream_ = std::make_unique<StreamWriter>(folder_.stream_file(rank), flush_ms, start);
  if (rank == 0) board_ = std::make_unique<Board>(folder_.path / "tb", host_name());
  begin_us_ = steady_us();
  spans_ = std::make_unique<SpanWriter>(folder_.spans_file(rank), flush_ms, start, begin_us_,
                                        plan.resume.state.step, silent ? 0 : run.trace_steps, attempt_);
  status_ = StatusSlot(folder_.path, rank);
}

void RunOutput::write_begin(const RunPlan& plan, const Comm& world) {
  const Config& config = plan.config();
  const CheckpointState& from = plan.resume.state;
  write(JsonLine("run")
            .add("schema", kSchema)
            .add("lesson", plan.lesson.name)
            .add("preset", plan.loaded.preset)
            .add("attempt", attempt_)
            .add("from_step", from.step)
            .add("from_samples", from.samples)
            .add("from_wall_us", std::llround(from.wall_s * 1e6))
            .add("rank", world.rank())
            .add("world", world.size())
            .add("replicas", plan.replicas())
            .add("host", host_name())
            .add("pid", static_cast<std::int64_t>(getpid()))
            .add("parent_pid", static_cast<std::int64_t>(getppid()))
            .add("yours", yours())
            .add("fault", name_of(config.run.fault))
            .add("data_source", name_of(config.data.source))
            .add("throttle_mb_per_s",
                 config.data.source == DataSource::synthetic ? 0 : config.data.throttle_mb_per_s)
            .add("measure", name_of(config.run.measure))
            .add("group", config.run.group)
            .add("point", config.run.point)
            .add("repeat", config.run.repeat)
            .add("wanted_steps", config.train.steps)
            .add("flops_per_sample", training_flops(vit_shape(config)))
            .add("precision", name_of(config.amp.mode))
            .add("emulated", plan.emulated)
            .add("device", plan.device.str())
            .add("threads", plan.threads)
            .add("started", wall_iso()));
}

std::int64_t RunOutput::since_begin_us() const { return steady_us() - begin_us_; }

void RunOutput::trace_loop(std::string_view name, std::int64_t begin_us, std::int64_t step) {
  spans_->add({.track = "loop", .name = name, .step = step, .begin_us = begin_us, .end_us = steady_us()});
}

void RunOutput::check_owned(bool soon) const {
  if (soon && !owner_.seen_lost()) return;
  if (const std::optional<Error> lost = owner_.lost()) throw *lost;
}

std::exception_ptr RunOutput::end(const std::string& status, const std::string& reason,
                                  const RunSummary& whole) {
  if (ended_) return nullptr;
  ended_ = true;
  std::exception_ptr lost;
  JsonLine last("end");
  try {
    spans_->finish();
    last.add("status", status).add("reason", reason);
  } catch (const Error& error) {  // what was learned is safe: only the timeline has a hole
    lost = std::current_exception();
    last.add("status", "failed").add("reason", status == "failed" ? reason : error.text());
  }
  if (const std::int64_t waited_us = stream_->waited_us(); waited_us > 0) {
    const std::string text = "training waited for the file system of the run folder";
    write(JsonLine("note").add("text", text).add("waited_us", waited_us));
    console_.line(
        fmt::format("  slow disk    {} for {}", text, human_seconds(static_cast<double>(waited_us) * 1e-6)));
  }
  write(summary_event(whole));
  write(last);
  stream_->finish();
  owner_.release();
  return lost;
}

}  // namespace isobar
