#include "run/run.h"

#include <ATen/core/Tensor.h>
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
#include "core/memory.h"
#include "core/text.h"
#include "device/device.h"
#include "device/peak.h"
#include "fields/npy.h"
#include "formula/vit_memory.h"
#include "launch/supervise.h"
#include "run/environment.h"

namespace isobar {

namespace {

/// What the program itself takes: its libraries, their pools, and the data set's tables.
constexpr std::uint64_t kProgramBytes = 300'000'000;

/// Refuses a run that this machine's memory cannot hold, before it takes an hour to find out.
void check_memory(const Config& config) {
  const TrainingBytes bytes = count_training_bytes(vit_shape(config), config.train.global_batch);
  const std::uint64_t wanted = bytes.total() + kProgramBytes;
  const MemoryState memory = memory_state();
  if (memory.total_bytes == 0 || wanted <= memory.available_bytes) return;
  throw Error(
      fmt::format(
          "training would take about {} of memory ({} for weights and optimiser, {} for activations), "
          "and {} of {} are free",
          human_bytes(wanted), human_bytes(bytes.state), human_bytes(bytes.activations),
          human_bytes(memory.available_bytes), human_bytes(memory.total_bytes)),
      fmt::format("data.grid = {} x {}, train.global_batch = {}", config.data.grid[0], config.data.grid[1],
                  config.train.global_batch),
      "a smaller train.global_batch, a smaller preset, or a larger machine");
}

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
      resume_(find_resume(arguments, lesson.name)),
      loaded_(resumed_config(load_config(project_home(), lesson, resume_.settings, automatic_device_kind()),
                             lesson, resume_, automatic_device_kind())),
      device_(choose_device(loaded_.config.run.device)),
      data_root_(isobar::data_root(loaded_.config.data)) {
  Config& config = loaded_.config;
  config.amp.mode = choose_precision(config.amp.mode, device_);
  set_fault(config.run.fault, config.run.fault_ms, config.run.fault_stage, config.run.fault_step);
  if (device_.is_cpu()) check_memory(config);
  threads_ = set_up_cpu(static_cast<int>(config.run.threads));
  config.run.device =
      device_.str();  // run.toml holds what was resolved, so that the same numbers come out again
  config.run.threads = threads_;
  take_folder(arguments);
  write_attempt(command);
}

void Run::take_folder(const RunArguments& arguments) {
  if (resume_.wanted()) {
    folder_ = {resume_.folder};
  } else if (arguments.run_dir.empty()) {
    folder_ = make_run_folder("runs", lesson_.name);
  } else {
    folder_ = take_run_folder(arguments.run_dir);
  }
  owner_ = RunOwner(folder_.path, host_name());
  attempt_ = next_attempt(folder_);
  console_.keep_in(folder_.console_file());
}

void Run::write_attempt(const std::vector<std::string>& command) {
  const Config& config = loaded_.config;
  const std::string again =
      resume_.wanted()
          ? "# Attempt " + std::to_string(attempt_) + " at a run of lesson " + lesson_.name + "\n"
          : "# A run of lesson " + lesson_.name + ". Again: ./isobar run " + lesson_.name +
                " --config run.toml\n";
  write_file_whole(folder_.attempt_file(attempt_),
                   again + to_toml(config) + "\n" + environment_toml(device_.str(), threads_, command));
  stream_ = std::make_unique<StreamWriter>(folder_.stream_file(0), static_cast<int>(config.run.flush_ms),
                                           attempt_ > 0 ? StreamStart::go_on : StreamStart::create);
  board_ = std::make_unique<Board>(folder_.path / "tb", host_name());
  begin_us_ = steady_us();
  stream_->write(JsonLine("run")
                     .add("schema", kSchema)
                     .add("lesson", lesson_.name)
                     .add("preset", loaded_.preset)
                     .add("attempt", attempt_)
                     .add("from_step", resume_.state.step)
                     .add("from_samples", resume_.state.samples)
                     .add("rank", 0)
                     .add("world", 1)
                     .add("host", host_name())
                     .add("pid", static_cast<std::int64_t>(getpid()))
                     .add("parent_pid", static_cast<std::int64_t>(getppid()))
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
  steps_per_epoch_ = steps_per_epoch;
  train_data_ = train.identity();
  valid_data_ = valid.identity();
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
  console_.line(fmt::format("  device  {} ({}, {} kernels, {} threads), {}", device_.str(), cpu_name(),
                            cpu_capability(), threads_,
                            config.amp.mode == "none" ? "fp32" : config.amp.mode));
  console_.line("  run     " + folder_.path.string());
  if (config.run.fault != "none") {
    console_.line("  FAULT   " + config.run.fault + ": " + fault_sentence(fault_setting()));
    board_->mark_fault(config.run.fault);
  }
}

bool Run::complete() const {
  const bool all = steps_done_ >= loaded_.config.train.steps;
  return all && (StopSignals::requested() == 0 || !scores_due());
}

bool Run::scores_due() const {
  const bool here = steps_done_ % steps_per_epoch_ == 0 || steps_done_ >= loaded_.config.train.steps;
  return here && scored_step_ != steps_done_;
}

Step Run::begin_step() {
  plant_fault(steps_done_, /*in_gradients=*/false);
  return {*this, steps_done_};
}

void Run::record_step(std::int64_t index, const StepResult& result, const StageTimes& times) {
  const TrainConfig& train = loaded_.config.train;
  const bool due = index % train.report_every == 0 || index + 1 == train.steps;
  steps_done_ = index + 1;
  JsonLine line("step");
  line.add("step", index)
      .add("t_us", steady_us() - begin_us_)
      .add("epoch", result.epoch)
      .add("samples", result.samples);
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (!times.entered[stage]) continue;
    line.add(fmt::format("{}_us", kStageNames[stage]), times.stage_us[stage]);
    line.add(fmt::format("{}_host_us", kStageNames[stage]), times.stage_us[stage]);
  }
  line.add("step_us", times.step_us).add("step_host_us", times.step_us).add("lr", result.learning_rate);
  // On a CPU the loss is there already; on a device fetching it would wait for the step.
  if (due || device_.is_cpu() || has_fault(Fault::sync_each_step)) last_loss_ = result.loss.item<double>();
  const bool broken = !std::isfinite(last_loss_);
  if (index == 0) summary_.first_loss = last_loss_;
  if (due || broken) line.add("loss", last_loss_).add("peak_bytes", peak_resident_bytes());
  add_to_summary(result, times);
  stream_->write(line);
  owner_.beat();
  board_->add_step(index, result.loss, result.learning_rate, result.samples, times.step_us);
  if (broken) {
    throw Error(fmt::format("the loss is {} and training cannot go on", last_loss_),
                fmt::format("step {}", index + 1), "a smaller optim.lr, or a warm-up (schedule.warmup_steps)",
                Exit::failed);
  }
  if (due) show_step(index, result);
}

void Run::add_to_summary(const StepResult& result, const StageTimes& times) {
  summary_.samples += result.samples;
  if (steps_done_ - first_step_ <= summary_.warm_up_steps) return;
  ++steady_steps_;
  steady_samples_ += result.samples;
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
  out.wall_s = earlier_wall_s_ + static_cast<double>(steady_us() - begin_us_) * 1e-6;
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
  if (index > first_step_ && !last && now_us - shown_us_ < every_us) return;
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
  if (!evaluation.complete) return;
  scored_step_ = steps_done_;
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

std::function<bool(std::int64_t, std::int64_t)> Run::progress(const std::string& what) {
  stage_ = what;
  return [this, what](std::int64_t done, std::int64_t all) {
    if (console_.is_terminal()) console_.progress(fmt::format("{} {}/{}", what, done, all));
    owner_.beat();
    return StopSignals::requested() == 0;
  };
}

void Run::end(const std::string& status, const std::string& reason) {
  if (ended_) return;
  ended_ = true;
  stream_->write(summary_event(summary()));
  stream_->write(JsonLine("end").add("status", status).add("reason", reason));
  stream_->finish();
  owner_.release();
}

int Run::finish() {
  const int stop = StopSignals::requested();
  const std::string reason =
      complete() ? "" : fmt::format("{} after {} steps, with a checkpoint", signal_name(stop), steps_done_);
  summary_.peak_flops_per_s = complete() ? measure_peak_flops(device_) : 0;
  end(complete() ? "done" : "stopped", reason);
  const std::string fault = has_fault(Fault::none) ? "" : "  with the fault " + loaded_.config.run.fault;
  console_.line((complete() ? "done" : "stopped: " + reason) + fault);
  for (const std::string& line : summary_lines(summary())) console_.line(line);
  console_.line("  run          " + folder_.path.string());
  if (complete()) return static_cast<int>(Exit::done);
  console_.line("  go on with   ./isobar run " + lesson_.name +
                " --set train.resume=" + folder_.path.string());
  return static_cast<int>(Exit::checkpointed);
}

Error Run::explained(const std::exception& error) const {
  const std::string text = error.what();
  const std::string first = text.substr(0, text.find('\n'));
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                      first.find("allocate memory") != std::string::npos ||
                      first.find("out of memory") != std::string::npos;
  const std::string where = fmt::format("step {}, stage {}", steps_done_ + 1, stage_);
  if (!memory) return {printable(first), where, "", Exit::failed};
  const std::size_t number = first.find("allocate ", first.find("tried to")) + 9;
  const bool known = first.find("tried to allocate ") != std::string::npos;
  const std::string asked =
      known ? ": " + human_bytes(std::strtoull(first.c_str() + number, nullptr, 10)) + " more were asked for"
            : "";
  return {fmt::format("out of memory{}; {} were held at most so far, {} are free", asked,
                      human_bytes(static_cast<std::uint64_t>(peak_resident_bytes())),
                      human_bytes(memory_state().available_bytes)),
          where, "a smaller train.global_batch, or a smaller preset", Exit::failed};
}

void Run::fail(const std::string& reason) noexcept {
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
  } catch (const std::exception& error) {
    const Error told = run.explained(error);
    run.fail(told.text());
    throw told;
  }
}

}  // namespace

int run_lesson(const std::string& lesson, int argc, char** argv, void (*page)(Run&)) {
  follow_launcher();
  std::signal(SIGXFSZ, SIG_IGN);  // so that a file size limit is an error that can be told
  return guarded_main(lesson, [&] { return body(lesson, argc, argv, page); });
}

}  // namespace isobar
