#include "run/run.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <utility>

#include "config/command_line.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/fault.h"
#include "core/files.h"
#include "core/machine.h"
#include "core/text.h"
#include "device/device.h"
#include "device/load_cuda.h"
#include "device/memory.h"
#include "device/precision.h"
#include "launch/rank_launcher.h"
#include "run/attention.h"
#include "run/check_fault.h"
#include "run/environment.h"
#include "run/rank_agreement.h"
#include "train/schedule.h"

namespace isobar {
namespace {

std::string source_text(const DataConfig& data) {
  if (data.source == "synthetic") return "one batch, made up: there is nothing to learn";
  const std::string slow =
      data.throttle_mb_per_s > 0 ? fmt::format(", held to {} MB/s", data.throttle_mb_per_s) : "";
  return (data.source == "memory" ? "read into memory from " : "in ") + data_root(data).string() + slow;
}

constexpr int kSchema = 1;

/// The number of ranks is what the launcher says.
RunArguments with_ranks(RunArguments arguments, const RankEnvironment& ranks) {
  if (ranks.launched_by != LaunchedBy::nobody)
    arguments.settings.sets.push_back("run.ranks=" + std::to_string(ranks.world));
  return arguments;
}

}  // namespace

Run::Run(const LessonInfo& lesson, const RunArguments& arguments, const std::vector<std::string>& command,
         JoinRanks join_ranks)
    : ranks_(read_rank_environment()),
      lesson_(lesson),
      resume_(find_resume(with_ranks(arguments, ranks_), lesson.name)),
      loaded_(resumed_config(lesson, resume_, preset_device_kind(resume_.settings, automatic_device_kind))),
      device_(rank_device(loaded_.config.run.device, ranks_)),
      data_root_(isobar::data_root(loaded_.config.data)) {
  check_needs(lesson, device_);
  Config& config = loaded_.config;
  if (config.run.ranks != ranks_.world) {
    throw Error(fmt::format("{} ranks are wanted, and this process is alone", config.run.ranks), "run.ranks",
                "./isobar run " + lesson.name + " starts them; under Slurm srun does");
  }
  mesh();
  if (ranks_.rank > 0) console_.be_quiet();
  if (config.run.measure == "synthetic") config.data.source = "synthetic";
  if (measures()) summary_.measure = config.run.measure;
  config.amp.mode = choose_precision(config.amp.mode, device_);
  apply_precision(config.amp.mode);
  summary_.precision = config.amp.mode == "none" ? "" : config.amp.mode;
  summary_.emulated = emulates(config.amp.mode, precision_facts(device_));
  summary_.world = ranks_.world;
  summary_.replicas = replica_count();
  if (device_.is_cuda()) {
    events_ = std::make_unique<EventPool>(device_);
    nonfinite_ = at::zeros({}, at::TensorOptions(at::kLong).device(device_));
  }
  profiler_ = std::make_unique<EpochProfiler>(ranges_plugin(), config.run.profile_epoch);
  set_fault(config.run.fault, config.run.fault_ms, config.run.fault_stage, config.run.fault_step,
            config.run.fault_rank, ranks_.rank);
  check_fault(config, device_);
  check_memory();
  threads_ = set_up_cpu(static_cast<int>(config.run.threads), sharers());
  // run.toml holds what was resolved, so that the same numbers come out again.
  config.run.deterministic = set_deterministic(config.run.deterministic, device_) ? "yes" : "no";
  config.run.device = ranks_.world == 1 || device_.is_cpu() ? device_.str() : "cuda";
  config.run.threads = threads_;
  attention_ = attention_text(lesson_, config, device_);
  if (resume_.wanted()) take_state(resume_.state);
  join(join_ranks);
  take_folder(arguments);
  write_attempt(command);
}

const CudaPlugin* Run::ranges_plugin() const { return device_.is_cuda() ? &cuda_plugin() : nullptr; }

void Run::take_state(const CheckpointState& state) {
  steps_done_ = first_step_ = checkpoint_step_ = state.step;
  scored_step_ = state.scored_step;
  earlier_wall_s_ = state.wall_s;
  summary_.samples = state.samples;
  summary_.first_loss = state.first_loss;
  last_loss_ = state.last_loss;
}

void Run::take_folder(const RunArguments& arguments) {
  if (comm_.rank() > 0) {
    folder_ = {comm_.all_gather_text("", "run folder").front()};
    attempt_ = std::stoi(comm_.all_gather_text("", "attempt").front());
    return;
  }
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
  if (comm_.size() > 1) show_run_folder(ranks_.meeting_file, folder_.path);
  comm_.all_gather_text(folder_.path.string(), "run folder");
  comm_.all_gather_text(std::to_string(attempt_), "attempt");
}

void Run::write_attempt(const std::vector<std::string>& command) {
  const Config& config = loaded_.config;
  const std::string again =
      resume_.wanted()
          ? "# Attempt " + std::to_string(attempt_) + " at a run of lesson " + lesson_.name + "\n"
          : "# A run of lesson " + lesson_.name + ". Again: ./isobar run " + lesson_.name +
                " --config run.toml\n";
  if (speaks())
    write_file_whole(folder_.attempt_file(attempt_),
                     again + to_toml(config) + "\n" + environment_toml(device_, threads_, command));
  const bool silent = has_fault(Fault::rank0_log_only) && !speaks();
  const StreamStart start = silent         ? StreamStart::nowhere
                            : attempt_ > 0 ? StreamStart::go_on
                                           : StreamStart::create;
  stream_ = std::make_unique<StreamWriter>(folder_.stream_file(comm_.rank()),
                                           static_cast<int>(config.run.flush_ms), start);
  if (speaks()) board_ = std::make_unique<Board>(folder_.path / "tb", host_name());
  begin_us_ = steady_us();
  spans_ = std::make_unique<SpanWriter>(folder_.spans_file(comm_.rank()),
                                        static_cast<int>(config.run.flush_ms), start, begin_us_, first_step_,
                                        silent ? 0 : config.run.trace_steps, attempt_);
  if (events_ && spans_->wants(first_step_)) device_clock_ = std::make_unique<DeviceClock>(*events_);
  status_ = StatusSlot(folder_.path, comm_.rank());
  comm_.tell(spans_.get(), &status_, folder_.path);
  stream_->write(
      JsonLine("run")
          .add("schema", kSchema)
          .add("lesson", lesson_.name)
          .add("preset", loaded_.preset)
          .add("attempt", attempt_)
          .add("from_step", resume_.state.step)
          .add("from_samples", resume_.state.samples)
          .add("from_wall_us", std::llround(resume_.state.wall_s * 1e6))
          .add("rank", comm_.rank())
          .add("world", comm_.size())
          .add("replicas", replica_count())
          .add("host", host_name())
          .add("pid", static_cast<std::int64_t>(getpid()))
          .add("parent_pid", static_cast<std::int64_t>(getppid()))
          .add("fault", config.run.fault)
          .add("data_source", config.data.source)
          .add("throttle_mb_per_s", config.data.source == "synthetic" ? 0 : config.data.throttle_mb_per_s)
          .add("measure", config.run.measure)
          .add("group", config.run.group)
          .add("point", config.run.point)
          .add("repeat", config.run.repeat)
          .add("wanted_steps", config.train.steps)
          .add("flops_per_sample", training_flops(vit_shape(config)))
          .add("precision", config.amp.mode)
          .add("emulated", summary_.emulated)
          .add("device", device_.str())
          .add("threads", threads_)
          .add("started", wall_iso()));
}

Run::~Run() = default;

void Run::announce(const Dataset& train, const Dataset& valid, std::int64_t parameters,
                   const Loader& loader) {
  training_memory_.reset();
  const Config& config = loaded_.config;
  steps_per_epoch_ = loader.steps_per_epoch() / config.train.accumulate;
  const VitShape shape = vit_shape(config);
  const char* const picked =
      loaded_.preset_was_chosen ? " (picked for this device; --preset names another)" : "";
  const std::string chosen = loaded_.preset.empty() ? "" : ", preset " + loaded_.preset + picked;
  summary_.warm_up_steps =
      measures() ? kMeasureWarmUpSteps : warm_up_steps(steps_per_epoch_, config.train.steps - first_step_);
  train_data_ = train.identity();
  valid_data_ = valid.identity();
  check_same_on_ranks(comm_, "data sets",
                      fmt::format("training data = {} ({} samples)\nvalidation data = {} ({} samples)\n",
                                  train_data_, train.size(), valid_data_, valid.size()));
  stream_->write(JsonLine("note")
                     .add("text", "plan")
                     .add("steps_per_epoch", steps_per_epoch_)
                     .add("train_samples", train.size())
                     .add("valid_samples", valid.size())
                     .add("parameters", parameters)
                     .add("loader", loader.text()));
  console_.line(fmt::format("{}  {}{}", lesson_.name, lesson_.title, chosen));
  console_.line(fmt::format("  data    {} training and {} validation samples of {} x {} x {}, {}",
                            train.size(), valid.size(), shape.channels, shape.height, shape.width,
                            source_text(config.data)));
  console_.line("  loader  " + loader.text());
  console_.line(fmt::format("  model   {} parameters, {:.4g} GFLOP a sample, {} tokens",
                            human_count(parameters), training_flops(shape) * 1e-9, shape.tokens()));
  console_.line(fmt::format("  train   {} steps of {} samples, {:.1f} epochs of {} steps", config.train.steps,
                            config.train.global_batch,
                            static_cast<double>(config.train.steps) / static_cast<double>(steps_per_epoch_),
                            steps_per_epoch_));
  console_.line(fmt::format("  device  {} ({}, {} threads), {}{}", device_.str(), device_text(device_),
                            threads_, config.amp.mode == "none" ? "fp32" : config.amp.mode,
                            config.run.deterministic == "yes" ? "" : ", bits may differ from run to run"));
  tell_memory_plan();
  if (const std::string given = precision_sentence(config.amp.mode, precision_facts(device_)); !given.empty())
    console_.line("  " + config.amp.mode + "    " + given);
  if (!attention_.empty()) console_.line("  attention  " + attention_);
  if (const std::string rate = peak_text(config); !rate.empty()) console_.line("  rate    " + rate);
  announce_ranks();
  console_.line("  run     " + folder_.path.string());
  if (measures())
    console_.line("  MEASURE " + config.run.measure + ": " + measure_sentence(config.run.measure));
  const bool records = honours("graph.enabled") && config.graph.enabled;
  if (records && config.train.steps - first_step_ <= config.graph.warmup) {
    console_.line(fmt::format("  graph   none: the {} steps of this run are all warm-up (graph.warmup = {})",
                              config.train.steps - first_step_, config.graph.warmup));
  }
  if (config.run.fault != "none") {
    console_.line("  FAULT   " + config.run.fault + ": " + fault_sentence(fault_setting()));
    if (board_) board_->mark_fault(config.run.fault);
  }
}

bool Run::complete() const {
  const bool all = steps_done_ >= loaded_.config.train.steps;
  return all && (stop_ == 0 || !scores_due());
}

bool Run::scores_due() const {
  if (measures()) return false;
  const bool here = steps_done_ % steps_per_epoch_ == 0 || steps_done_ >= loaded_.config.train.steps;
  return here && scored_step_ != steps_done_;
}

Step Run::begin_step() {
  comm_.begin_step(steps_done_);
  plant_fault(steps_done_, /*in_gradients=*/false);
  return {*this, steps_done_};
}

bool Run::is_due(std::int64_t index) const {
  const TrainConfig& train = loaded_.config.train;
  return index % train.report_every == 0 || index + 1 == train.steps;
}

FetchedFigures Run::fetch_figures(std::int64_t index, const StepResult& result) {
  if (!result.loss.defined()) return {};
  // On a CPU they are there already; on a device fetching them at once would wait for the step.
  const bool wait = has_fault(Fault::sync_each_step);
  if (device_.is_cuda() && !wait && !is_due(index)) return {};
  const at::Tensor loss = is_due(index) ? loss_of_all(result.loss) : result.loss;
  return {{loss, nonfinite_, result.gradient_norm, scaler_, result.loss}, wait};
}

void Run::queue_step(std::int64_t index, const StepResult& result, const FetchedFigures& fetched,
                     PendingStageTimes times, std::shared_ptr<OperatorWatch> operators) {
  steps_done_ = index + 1;
  // Standing still for other ranks is no computing.
  times.move(Stage::forward, Stage::comm, result.sync.tp_forward_wait_us);
  times.move(Stage::backward, Stage::comm, result.sync.tp_backward_wait_us);
  PendingStep step{index,
                   result,
                   fetched,
                   std::move(times),
                   steady_us() - begin_us_,
                   loader_since_last_step(),
                   std::move(operators)};
  if (result.loss.defined())
    step.result.loss = result.loss.detach();  // the graph behind it ends with the step
  trace_host(index, step.times);
  pending_.push_back(std::move(step));
  record_done_steps(/*wait_for_all=*/false);
}

void Run::record_done_steps(bool wait_for_all) {
  // The host goes at most two steps ahead of the device: each of them holds its batch.
  while (!pending_.empty() && (wait_for_all || pending_.size() > 2 || pending_.front().times.ready())) {
    PendingStep step = std::move(pending_.front());
    pending_.pop_front();
    trace_device(step.index, step.times);
    record_step(step, step.times.take());
  }
}

void Run::record_step(const PendingStep& step, const StageTimes& times) {
  const auto& [index, result, fetched, pending, t_us, loader, operators] = step;
  const bool due = is_due(index);
  JsonLine line("step");
  line.add("step", index).add("t_us", t_us).add("epoch", result.epoch).add("samples", result.samples);
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (!times.entered[stage]) continue;
    line.add(fmt::format("{}_us", kStageNames[stage]), times.stage_us[stage]);
    line.add(fmt::format("{}_host_us", kStageNames[stage]), times.stage_host_us[stage]);
  }
  line.add("step_us", times.step_us).add("step_host_us", times.step_host_us);
  if (result.loss.defined()) line.add("lr", result.learning_rate);
  line.add("stall_us", loader.stall_us).add("read_bytes", loader.read_bytes);
  if (loader.slots > 0) line.add("queue_slots", loader.ready);
  const StepFigures figures = fetched.take();
  if (fetched) last_loss_ = figures.loss;
  const bool broken =
      guards_values() && !scales_loss() && (!std::isfinite(last_loss_) || figures.nonfinite > 0);
  if (index == 0 && result.loss.defined()) {
    summary_.first_loss = last_loss_;
    if (board_) board_->begin(last_loss_);
  }
  if ((due || broken) && result.loss.defined()) line.add("loss", last_loss_);
  if (due && result.loss.defined() && comm_.size() > 1) line.add("loss_rank", figures.own_loss);
  add_sync(line, result.sync);
  if (due && result.gradient_norm.defined()) line.add("grad_norm", figures.gradient_norm);
  if (fetched && scales_loss()) {
    summary_.scale = figures.scale;
    summary_.skipped = std::llround(figures.skipped);
    line.add("scale", figures.scale).add("skipped", summary_.skipped);
  }
  if (due || broken) line.add("peak_bytes", peak_bytes(device_));
  add_to_summary(step, times);
  if (operators) write_operators(index, line, operators->take());
  stream_->write(line);
  if (result.loss.defined() && board_)
    board_->add_step(result.loss, result.learning_rate, result.samples * replica_count(), times.step_us);
  if (broken) {
    pending_.clear();  // what came after it tells nothing
    throw Error(std::isfinite(last_loss_)
                    ? "gradients were not finite numbers"
                    : fmt::format("the loss is {} and training cannot go on", last_loss_),
                fmt::format("step {} or the {} before it", index + 1, loaded_.config.train.report_every - 1),
                "a smaller optim.lr, or a warm-up (schedule.warmup_steps)", Exit::failed);
  }
  if (fetched && scales_loss()) check_skips(index, figures);
  if (due) show_step(index, result);
}

void Run::add_to_summary(const PendingStep& step, const StageTimes& times) {
  const std::int64_t samples = step.result.samples * replica_count();  // of all ranks
  summary_.samples += samples;
  if (step.index - first_step_ < summary_.warm_up_steps) return;
  if (steady_steps_++ == 0) steady_processor_ = thread_processor_time();
  steady_samples_ += samples;
  steady_times_.step_us += times.step_us;
  steady_loader_.stall_us += step.loader.stall_us;
  steady_loader_.read_bytes += step.loader.read_bytes;
  steady_loader_.cpu_us += step.loader.cpu_us;
  steady_loader_.ready += step.loader.ready;
  steady_loader_.slots = step.loader.slots;
  add_to_summary(step.result.sync);
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
  out.has_losses = !measures() && steps_done_ > 0;
  out.last_loss = last_loss_;
  out.flops_per_sample = training_flops(vit_shape(loaded_.config));
  out.predicted_bytes = memory_plan_.total() - (device_.is_cuda() ? memory_plan_.program : 0);  // no tensor's
  out.peak_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, peak_bytes(device_)));
  if (steady_steps_ == 0) return out;
  const auto steps = static_cast<double>(steady_steps_);
  out.step_us = static_cast<double>(steady_times_.step_us) / steps;
  out.samples_per_s = static_cast<double>(steady_samples_) / (out.step_us * steps) * 1e6;
  out.stall_us = static_cast<double>(steady_loader_.stall_us) / steps;
  out.ready_slots = static_cast<double>(steady_loader_.ready) / steps;
  out.slots = steady_loader_.slots;
  out.read_bytes = steady_loader_.read_bytes;
  out.read_cpu_us = steady_loader_.cpu_us;
  out.processor_wait = thread_processor_time().waited_since(steady_processor_);
  summarise_sync(out, steps);
  for (std::size_t stage = 0; stage < kStageNames.size(); ++stage) {
    if (!steady_times_.entered[stage]) continue;
    out.stages_us.emplace_back(kStageNames[stage],
                               static_cast<double>(steady_times_.stage_us[stage]) / steps);
  }
  return out;
}

}  // namespace isobar
