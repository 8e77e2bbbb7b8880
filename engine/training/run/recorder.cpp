#include "run/recorder.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "device/memory.h"
#include "device/stream.h"
#include "train/gradient_sizes.h"

namespace isobar {
namespace {

constexpr std::int64_t kShowEvery_us = 2'000'000;  // plain lines, where nothing can be overwritten
constexpr std::int64_t kLiveEvery_us = 100'000;

/// What a step drops depends on the seed, the step and the rank: a run that continues draws what one without
/// an end would have drawn.
void seed_step(const Config& config, std::int64_t step, int rank) {
  if (config.model.dropout == 0) return;
  auto mixed = static_cast<std::uint64_t>(config.train.seed);
  for (const auto part : {static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(rank)}) {
    mixed = (mixed + part + 1) * 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio: neighbours come apart
    mixed ^= mixed >> 32U;                             // generators take the lower half
  }
  at::manual_seed(mixed);
}

}  // namespace

Recorder::Recorder(const RunPlan& plan, RankGroups& groups, RunOutput& output, Progress& progress)
    : plan_(plan),
      groups_(groups),
      output_(output),
      progress_(progress),
      probes_(plan.device, plan.config().run.profile_epoch, output.spans().wants(progress.first_step)) {
  const Config& config = plan.config();
  if (plan.measures()) summary_.measure = name_of(config.run.measure);
  summary_.precision = config.amp.mode == AmpMode::none ? "" : name_of(config.amp.mode);
  summary_.emulated = plan.emulated;
  summary_.world = plan.ranks.world;
  summary_.replicas = plan.replicas();
  summary_.samples = plan.resume.state.samples;
  summary_.first_loss = plan.resume.state.first_loss;
  last_loss_ = plan.resume.state.last_loss;
}

void Recorder::follow(const Training& training, const GradientGuard& guard) {
  training_ = &training;
  guard_ = &guard;
  faults_.emplace(plan_.fault, plan_.config(), training.parameters, groups_.world());
  summary_.warm_up_steps =
      plan_.measures() ? kMeasureWarmUpSteps
                       : warm_up_steps(progress_.steps_per_epoch, progress_.steps - progress_.first_step);
}

void Recorder::release() {
  training_ = nullptr;
  guard_ = nullptr;
  faults_.reset();
}

Step Recorder::begin_step() {
  const std::int64_t index = progress_.steps_done;
  groups_.world().begin_step(index);
  seed_step(plan_.config(), index, plan_.ranks.rank);
  if (faults_) faults_->begin(index);
  const bool memory = records_memory(index);
  if (memory) memory_step_ = index;
  probes_.begin(index, progress_.steps_per_epoch, watches_operators(index), memory);
  return {index, probes_.timer(memory || output_.spans().wants(index)), *this};
}

void Recorder::entered(Stage stage) {
  probes_.entered(stage);
  begin_phase(name_of(stage));
}

void Recorder::begin_phase(const char* name) {
  phase_ = name;
  output_.status().stage(progress_.steps_done, name);
  if (faults_) faults_->entered(name, progress_.steps_done);
}

void Recorder::finished(std::int64_t index, const StepResult& result, StageTimer& timer) {
  std::shared_ptr<OperatorWatch> operators = probes_.ended();
  if (faults_) faults_->ended(result.loss);
  const FetchedFigures fetched = fetch_figures(index, result);  // what it costs belongs to the step
  PendingStageTimes times = timer.finish();
  probes_.end_memory(times.intervals());
  progress_.steps_done = index + 1;
  // Standing still for other ranks is no computing, and arithmetic is.
  const SyncFigures& sync = result.sync;
  times.move(Stage::forward, Stage::comm,
             sync.tp_forward_wait_us + sync.cp_forward_wait_us + sync.forward_wait_us);
  times.move(Stage::backward, Stage::comm,
             sync.tp_backward_wait_us + sync.cp_backward_wait_us + sync.backward_wait_us);
  times.move(Stage::comm, Stage::backward, result.sync.late_compress_us);
  PendingStep step{index,
                   result,
                   fetched,
                   std::move(times),
                   output_.since_begin_us(),
                   loader_since_last_step(),
                   std::move(operators)};
  if (result.loss.defined())
    step.result.loss = result.loss.detach();  // the graph behind it ends with the step
  output_.trace("loop", index, step.times.intervals());
  pending_.push_back(std::move(step));
  record_done_steps(/*wait_for_all=*/false);
  probes_.done(index, progress_.steps_per_epoch);
}

FetchedFigures Recorder::fetch_figures(std::int64_t index, const StepResult& result) {
  if (!result.loss.defined()) return {};
  // On a CPU they are there already; on a device fetching them at once would wait for the step.
  const bool due = progress_.report_due(index);
  if (has_streams(plan_.device) && !due) return {};
  const at::Tensor loss = due ? loss_of_all(result.loss) : result.loss;
  return FetchedFigures({loss, guard_->nonfinite(), result.gradient_norm, training_->scaler, result.loss});
}

at::Tensor Recorder::loss_of_all(const at::Tensor& loss) {
  Comm& world = groups_.world();
  if (world.size() == 1 || plan_.measures()) return loss;
  at::Tensor all = loss.detach().to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  if (has_streams(plan_.device)) {
    world.all_reduce(all, Reduce::mean, "loss").wait();
    return all;
  }
  const std::vector<double> losses = world.all_gather_numbers(all.item<double>(), "loss");
  return all.fill_(std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size()));
}

LoaderCounts Recorder::loader_since_last_step() {
  if (training_ == nullptr) return {};
  LoaderCounts now = training_->loader.counts();
  const LoaderCounts before = std::exchange(loader_before_, now);
  now.stall_us -= before.stall_us;
  now.read_bytes -= before.read_bytes;
  now.cpu_us -= before.cpu_us;
  if (plan_.config().data.source == DataSource::synthetic)
    now.slots = 0;  // one batch again and again: none lies ready
  return now;
}

void Recorder::record_done_steps(bool wait_for_all) {
  // The host goes at most two steps ahead of the device: each of them holds its batch.
  while (!pending_.empty() && (wait_for_all || pending_.size() > 2 || pending_.front().times.ready())) {
    PendingStep step = std::move(pending_.front());
    pending_.pop_front();
    output_.trace("device", step.index, probes_.device_intervals(step.times));
    record_step(step, step.times.take());
  }
}

void Recorder::record(const GraphFacts& graph) {
  const GraphNodes& nodes = graph.nodes;
  const std::int64_t step = progress_.steps_done;
  output_.write(JsonLine("note")
                    .add("text", "graph")
                    .add("scope", name_of(graph.scope))
                    .add("step", step)
                    .add("kernels", nodes.kernels)
                    .add("copies", nodes.copies)
                    .add("fills", nodes.fills)
                    .add("others", nodes.others)
                    .add("capture_us", graph.capture_us));
  output_.console().line(fmt::format(
      "  graph   step {}: {} kernels, {} copies and {} fills recorded in {}, from now on one launch{}",
      step + 1, nodes.kernels, nodes.copies, nodes.fills,
      human_seconds(static_cast<double>(graph.capture_us) * 1e-6),
      graph.scope == GraphScope::model ? " and those of the optimiser" : ""));
  summary_.warm_up_steps = std::max(summary_.warm_up_steps, step - progress_.first_step + 1);
  if (sums_.empty()) return;
  record_done_steps(/*wait_for_all=*/true);
  sums_.clear();
}

void Recorder::record_gradient_sizes(Step& step) {
  const std::int64_t every = plan_.config().amp.histogram_every;
  if (every == 0 || step.index() % every != 0) return;
  step.leave();
  GradientHistogram histogram = gradient_sizes(training_->parameters);
  histogram.step = step.index();
  if (guard_->scales_loss()) histogram.scale = training_->scaler->scale_value().item<double>();
  output_.write(gradients_event(histogram, output_.since_begin_us()));
}

void Recorder::show_step(std::int64_t index, const StepResult& result) {
  output_.check_owned(/*soon=*/true);  // what is computed from here on would have no place
  Console& console = output_.console();
  const std::int64_t now_us = steady_us();
  const std::int64_t every_us = console.is_terminal() ? kLiveEvery_us : kShowEvery_us;
  const std::int64_t steps = progress_.steps;
  const bool last = index + 1 == steps;
  if (index > progress_.first_step && !last && now_us - shown_us_ < every_us) return;
  shown_us_ = now_us;
  const RunSummary so_far = summary();
  std::string speed;
  if (so_far.samples_per_s > 0) {
    speed = fmt::format("  {:.1f} samples/s  {} left  {}", so_far.samples_per_s,
                        human_seconds(static_cast<double>(steps - index - 1) * so_far.step_us * 1e-6),
                        stage_shares(so_far.stages_us, so_far.step_us));
  }
  const std::string loss = plan_.measures() ? "" : fmt::format(" loss {:.4f}", last_loss_);
  console.progress(fmt::format("step {:>{}}/{}  epoch {:<3}{}{}", index + 1, std::to_string(steps).size(),
                               steps, result.epoch + 1, loss, speed),
                   /*keep=*/true);
}

void Recorder::write_memory() const {
  const bool is_silent = plan_.fault.fault == Fault::rank0_log_only && !groups_.speaks();
  if (!probes_.memory() || is_silent) return;
  MemoryTimeline timeline = *probes_.memory();
  timeline.rank = groups_.world().rank();
  timeline.attempt = output_.attempt();
  timeline.step = memory_step_;
  try {
    write_file_whole(output_.folder().memory_file(timeline.rank), memory_text(timeline));
  } catch (const Error& error) {  // what was learned is safe: only this picture is missing
    output_.console().line("  memory   the step that was recorded could not be written: " + error.text());
  }
}

RunSummary Recorder::summary() const {
  RunSummary out = summary_;
  out.steps = progress_.steps_done;
  out.wanted_steps = progress_.steps;
  out.wall_s = plan_.resume.state.wall_s + static_cast<double>(output_.since_begin_us()) * 1e-6;
  out.has_losses = !plan_.measures() && progress_.steps_done > 0;
  out.last_loss = last_loss_;
  out.flops_per_sample = sample_flops(plan_.config());
  out.redone_flops_per_sample = plan_.redone_flops();
  out.predicted_bytes =
      plan_.predicted_bytes() - (plan_.device.is_cuda() ? plan_.memory.program : 0);  // no tensor's
  out.peak_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, peak_bytes(plan_.device)));
  sums_.put_into(out);
  return out;
}

void Recorder::put_into(CheckpointState& state) const {
  const RunSummary so_far = summary();
  state.samples = so_far.samples;
  state.first_loss = so_far.first_loss;
  state.last_loss = last_loss_;
  state.wall_s = so_far.wall_s;
}

}  // namespace isobar
