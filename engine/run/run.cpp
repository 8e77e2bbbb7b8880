#include "run/run.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>

#include "config/command_line.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/fault.h"
#include "core/files.h"
#include "core/text.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/peak.h"
#include "device/torch_error.h"
#include "fields/npy.h"
#include "run/environment.h"

namespace isobar {

namespace {

constexpr int kSchema = 1;
constexpr std::int64_t kShowEvery_us = 2'000'000;  // plain lines, where nothing can be overwritten
constexpr std::int64_t kLiveEvery_us = 100'000;

}  // namespace

VitShape vit_shape(const Config& config) {
  return {.height = config.data.grid[0],
          .width = config.data.grid[1],
          .channels = config.data.channels,
          .patch = config.model.patch,
          .embed = config.model.embed,
          .depth = config.model.depth,
          .heads = config.model.heads};
}

Run::Run(const LessonInfo& lesson, const RunArguments& arguments, const std::vector<std::string>& command)
    : lesson_(lesson),
      loaded_(load_config(project_home(), lesson, arguments.settings,
                          preset_device_kind(arguments.settings, automatic_device_kind))),
      device_(choose_device(loaded_.config.run.device)),
      data_root_(isobar::data_root(loaded_.config.data)) {
  Config& config = loaded_.config;
  config.amp.mode = choose_precision(config.amp.mode, device_);
  apply_precision(config.amp.mode);
  if (device_.is_cuda()) events_ = std::make_unique<EventPool>(device_);
  set_fault(config.run.fault, config.run.fault_ms, config.run.fault_stage);
  threads_ = set_up_cpu(static_cast<int>(config.run.threads));
  config.run.device =
      device_.str();  // run.toml holds what was resolved, so that the same numbers come out again
  config.run.threads = threads_;
  folder_ =
      arguments.run_dir.empty() ? make_run_folder("runs", lesson.name) : take_run_folder(arguments.run_dir);
  console_.keep_in(folder_.console_file());
  write_file_whole(folder_.config_file(), "# A run of lesson " + lesson.name + ". Again: ./isobar run " +
                                              lesson.name + " --config run.toml\n" + to_toml(config) + "\n" +
                                              environment_toml(device_, threads_, command));
  stream_ = std::make_unique<StreamWriter>(folder_.stream_file(0), static_cast<int>(config.run.flush_ms));
  board_ = std::make_unique<Board>(folder_.path / "tb", host_name());
  begin_us_ = steady_us();
  stream_->write(JsonLine("run")
                     .add("schema", kSchema)
                     .add("lesson", lesson.name)
                     .add("preset", loaded_.preset)
                     .add("attempt", 0)
                     .add("rank", 0)
                     .add("world", 1)
                     .add("host", host_name())
                     .add("pid", static_cast<std::int64_t>(getpid()))
                     .add("fault", config.run.fault)
                     .add("wanted_steps", config.train.steps)
                     .add("flops_per_sample", training_flops(vit_shape(config)))
                     .add("device", device_.str())
                     .add("threads", threads_)
                     .add("started", wall_iso()));
}

Run::~Run() = default;

void Run::announce(const Dataset& train, const Dataset& valid, std::int64_t parameters,
                   std::int64_t steps_per_epoch) {
  const Config& config = loaded_.config;
  const VitShape shape = vit_shape(config);
  const std::string chosen =
      loaded_.preset.empty()
          ? ""
          : ", preset " + loaded_.preset +
                (loaded_.preset_was_chosen ? " (picked for this device; --preset names another)" : "");
  summary_.warm_up_steps = warm_up_steps(steps_per_epoch);
  stream_->write(JsonLine("note")
                     .add("text", "plan")
                     .add("steps_per_epoch", steps_per_epoch)
                     .add("train_samples", train.size())
                     .add("valid_samples", valid.size())
                     .add("parameters", parameters));
  console_.line(fmt::format("{}  {}{}", lesson_.name, lesson_.title, chosen));
  console_.line(fmt::format("  data    {} training and {} validation samples of {} x {} x {} in {}",
                            train.size(), valid.size(), shape.channels, shape.height, shape.width,
                            data_root_.string()));
  console_.line(fmt::format("  model   {} parameters, {:.4g} GFLOP a sample, {} tokens",
                            human_count(parameters), training_flops(shape) * 1e-9, shape.tokens()));
  console_.line(fmt::format("  train   {} steps of {} samples, {:.1f} epochs of {} steps", config.train.steps,
                            config.train.global_batch,
                            static_cast<double>(config.train.steps) / static_cast<double>(steps_per_epoch),
                            steps_per_epoch));
  console_.line(fmt::format("  device  {} ({}, {} threads), {}", device_.str(), device_text(device_),
                            threads_, config.amp.mode == "none" ? "fp32" : config.amp.mode));
  console_.line("  run     " + folder_.path.string());
  if (config.run.fault != "none") {
    console_.line("  FAULT   " + config.run.fault + ": " + fault_sentence(fault_setting()));
    board_->mark_fault(config.run.fault);
  }
}

bool Run::wants_step() const {
  return steps_done_ < loaded_.config.train.steps && StopSignals::requested() == 0;
}

Step Run::begin_step() { return {*this, steps_done_}; }

bool Run::is_due(std::int64_t index) const {
  const TrainConfig& train = loaded_.config.train;
  return index % train.report_every == 0 || index + 1 == train.steps;
}

at::Tensor Run::fetch_loss(std::int64_t index, const at::Tensor& loss) const {
  // On a CPU the loss is there already; on a device fetching it at once would wait for the step.
  if (device_.is_cpu()) return loss.detach();
  if (has_fault(Fault::sync_each_step)) return loss.detach().to(at::kCPU);
  if (!is_due(index)) return {};
  at::Tensor host = at::empty({}, at::TensorOptions(loss.scalar_type()).pinned_memory(true));
  return host.copy_(loss.detach(), /*non_blocking=*/true);
}

void Run::queue_step(std::int64_t index, const StepResult& result, const at::Tensor& fetched,
                     PendingStageTimes times) {
  steps_done_ = index + 1;
  PendingStep step{index, result, fetched, std::move(times), steady_us() - begin_us_};
  step.result.loss = result.loss.detach();  // the graph behind it ends with the step
  pending_.push_back(std::move(step));
  record_done_steps(/*wait_for_all=*/false);
}

void Run::record_done_steps(bool wait_for_all) {
  while (!pending_.empty() && (wait_for_all || pending_.front().times.ready())) {
    PendingStep step = std::move(pending_.front());
    pending_.pop_front();
    record_step(step, step.times.take());
  }
}

void Run::record_step(const PendingStep& step, const StageTimes& times) {
  const auto& [index, result, fetched, pending, t_us] = step;
  const bool due = is_due(index);
  JsonLine line("step");
  line.add("step", index).add("t_us", t_us).add("epoch", result.epoch).add("samples", result.samples);
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (!times.entered[stage]) continue;
    line.add(fmt::format("{}_us", kStageNames[stage]), times.stage_us[stage]);
    line.add(fmt::format("{}_host_us", kStageNames[stage]), times.stage_host_us[stage]);
  }
  line.add("step_us", times.step_us).add("step_host_us", times.step_host_us).add("lr", result.learning_rate);
  if (fetched.defined()) last_loss_ = fetched.item<double>();
  const bool broken = !std::isfinite(last_loss_);
  if (index == 0) {
    summary_.first_loss = last_loss_;
    board_->begin(last_loss_);
  }
  if (due || broken) line.add("loss", last_loss_).add("peak_bytes", peak_bytes(device_));
  add_to_summary(step, times);
  stream_->write(line);
  board_->add_step(result.loss, result.learning_rate, result.samples, times.step_us);
  if (broken) {
    pending_.clear();  // what came after it tells nothing
    throw Error(fmt::format("the loss is {} and training cannot go on", last_loss_),
                fmt::format("step {}", index + 1), "a smaller optim.lr, or a warm-up (schedule.warmup_steps)",
                Exit::failed);
  }
  if (due) show_step(index, result);
}

void Run::add_to_summary(const PendingStep& step, const StageTimes& times) {
  summary_.samples += step.result.samples;
  if (step.index < summary_.warm_up_steps) return;
  ++steady_steps_;
  steady_samples_ += step.result.samples;
  steady_times_.step_us += times.step_us;
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    steady_times_.stage_us[stage] += times.stage_us[stage];
    steady_times_.entered[stage] = steady_times_.entered[stage] || times.entered[stage];
  }
}

RunSummary Run::summary() const {
  RunSummary out = summary_;
  out.steps = steps_done_;
  out.wanted_steps = loaded_.config.train.steps;
  out.wall_s = static_cast<double>(steady_us() - begin_us_) * 1e-6;
  out.last_loss = last_loss_;
  out.flops_per_sample = training_flops(vit_shape(loaded_.config));
  if (steady_steps_ == 0) return out;
  const auto steps = static_cast<double>(steady_steps_);
  out.step_us = static_cast<double>(steady_times_.step_us) / steps;
  out.samples_per_s = static_cast<double>(steady_samples_) / (out.step_us * steps) * 1e6;
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (!steady_times_.entered[stage]) continue;
    out.stages_us.emplace_back(kStageNames[stage],
                               static_cast<double>(steady_times_.stage_us[stage]) / steps);
  }
  return out;
}

void Run::show_step(std::int64_t index, const StepResult& result) {
  const std::int64_t now_us = steady_us();
  const std::int64_t every_us = console_.is_terminal() ? kLiveEvery_us : kShowEvery_us;
  const std::int64_t steps = loaded_.config.train.steps;
  const bool last = index + 1 == steps;
  if (index > 0 && !last && now_us - shown_us_ < every_us) return;
  shown_us_ = now_us;
  const RunSummary so_far = summary();
  std::string speed;
  if (so_far.samples_per_s > 0) {
    speed = fmt::format("  {:.1f} samples/s  {} left  {}", so_far.samples_per_s,
                        human_seconds(static_cast<double>(steps - index - 1) * so_far.step_us * 1e-6),
                        stage_shares(so_far.stages_us, so_far.step_us));
  }
  console_.progress(fmt::format("step {:>{}}/{}  epoch {:<3} loss {:.4f}{}", index + 1,
                                std::to_string(steps).size(), steps, result.epoch + 1, last_loss_, speed),
                    /*keep=*/true);
}

void Run::record(const Evaluation& evaluation) {
  record_done_steps(/*wait_for_all=*/true);
  const ChannelScores& headline = evaluation.headline();
  summary_.has_scores = true;
  summary_.valid_loss = evaluation.loss;
  summary_.headline = headline.name;
  summary_.rmse = headline.rmse;
  summary_.persistence_rmse = headline.persistence_rmse;
  summary_.climatology_rmse = evaluation.has_climatology ? headline.climatology_rmse : 0;
  JsonLine line("eval");
  line.add("step", steps_done_).add("t_us", steady_us() - begin_us_).add("samples", evaluation.samples);
  line.add("loss", evaluation.loss);
  for (const ChannelScores& channel : evaluation.channels) {
    line.add("rmse_" + channel.name, channel.rmse)
        .add("persistence_rmse_" + channel.name, channel.persistence_rmse);
    if (!evaluation.has_climatology) continue;
    line.add("climatology_rmse_" + channel.name, channel.climatology_rmse)
        .add("acc_" + channel.name, channel.acc);
  }
  stream_->write(line);
  const at::Tensor fields = evaluation.fields.contiguous();
  write_npy(folder_.fields_file(steps_done_), fields.sizes(),
            {fields.const_data_ptr<float>(), static_cast<std::size_t>(fields.numel())});
  board_->add_evaluation(steps_done_, evaluation);
  console_.line(fmt::format(
      "valid  after {} steps: loss {:.4f}, {} RMSE {:.4f} (persistence {:.4f}, {:+.1f} %{})", steps_done_,
      evaluation.loss, headline.name, headline.rmse, headline.persistence_rmse,
      100 * (headline.rmse / headline.persistence_rmse - 1),
      evaluation.has_climatology ? fmt::format("; climatology {:.3f}", headline.climatology_rmse) : ""));
}

std::function<void(std::int64_t, std::int64_t)> Run::progress(const std::string& what) {
  return [this, what](std::int64_t done, std::int64_t all) {
    if (console_.is_terminal()) console_.progress(fmt::format("{} {}/{}", what, done, all));
  };
}

void Run::end(const std::string& status, const std::string& reason) {
  if (ended_) return;
  ended_ = true;
  stream_->write(summary_event(summary()));
  stream_->write(JsonLine("end").add("status", status).add("reason", reason));
  stream_->finish();
}

int Run::finish() {
  record_done_steps(/*wait_for_all=*/true);
  const int stop = StopSignals::requested();
  const std::string reason =
      complete() ? "" : std::string(signal_name(stop)) + " after " + std::to_string(steps_done_) + " steps";
  summary_.peak_flops_per_s = measure_peak_flops(device_);
  end(complete() ? "done" : "stopped", reason);
  const std::string fault = has_fault(Fault::none) ? "" : "  with the fault " + loaded_.config.run.fault;
  console_.line((complete() ? "done" : "stopped: " + reason) + fault);
  for (const std::string& line : summary_lines(summary())) console_.line(line);
  console_.line("  run          " + folder_.path.string());
  return complete() ? static_cast<int>(Exit::done) : 128 + stop;
}

void Run::fail(const std::string& reason) noexcept {
  try {
    record_done_steps(/*wait_for_all=*/true);
  } catch (...) {  // the device, or a loss that is no number: the first error is the one that is told
  }
  try {
    console_.note(reason);
    end("failed", reason);
  } catch (...) {  // the stream is what failed, or the disk is full: the first error is the one that is told
  }
}

namespace {

int body(const std::string& lesson_name, int argc, char** argv, void (*page)(Run&)) {
  const LessonInfo lesson = read_lesson(project_home(), lesson_name);
  const RunArguments arguments = parse_run_arguments({argv + 1, argv + argc}, lesson, project_home());
  if (arguments.help) {
    std::fputs(arguments.help_text.c_str(), stdout);
    return static_cast<int>(Exit::done);
  }
  Run run(lesson, arguments, {argv, argv + argc});
  try {
    page(run);
    return run.finish();
  } catch (const Error& error) {
    run.fail(error.text());
    throw;
  } catch (const c10::Error& error) {
    const Error told = as_error(error);
    run.fail(told.text());
    throw told;
  } catch (const std::exception& error) {
    run.fail(error.what());
    throw;
  }
}

}  // namespace

int run_lesson(const std::string& lesson, int argc, char** argv, void (*page)(Run&)) {
  std::signal(SIGXFSZ, SIG_IGN);  // so that a file size limit is an error that can be told
  return guarded_main(lesson, [&] { return body(lesson, argc, argv, page); });
}

}  // namespace isobar
