// The part of Run that saves and brings back the state of training, and guards it.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "config/resume.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/fault.h"
#include "core/text.h"
#include "device/nonfinite.h"
#include "device/precision.h"
#include "run/run.h"
#include "train/gradient_sizes.h"

namespace isobar {
namespace {

bool is_finite(const at::Tensor& tensor) {
  at::Tensor count = at::zeros({}, tensor.options().dtype(at::kLong).requires_grad(false));
  add_nonfinite(tensor, count);
  return count.item<std::int64_t>() == 0;
}

/// The first parameter, in the order of the forward pass, that holds a value that is not finite; "" = none
/// does.
std::string first_broken(const Parameters& parameters, bool gradients) {
  if (is_finite(gradients ? parameters.gradients() : parameters.values())) return "";
  for (const Parameter& parameter : parameters.all()) {
    if (!is_finite(gradients ? parameter.tensor.grad() : parameter.tensor)) return parameter.name;
  }
  return "";
}

/// The last one whose gradient is not finite: backward goes from the last to the first, and met it first.
std::string last_broken_gradient(const Parameters& parameters) {
  for (auto parameter = parameters.all().rbegin(); parameter != parameters.all().rend(); ++parameter) {
    if (!is_finite(parameter->tensor.grad())) return parameter->name;
  }
  return "";
}

std::int64_t count_broken(const Parameters& parameters) {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters.all()) count += is_finite(parameter.tensor.grad()) ? 0 : 1;
  return count;
}

/// What is left when a step was not made.
std::string what_is_left(std::int64_t checkpoint_step) {
  return checkpoint_step < 0
             ? "the step was not made; no checkpoint was saved yet: train.checkpoint_every=N saves some"
             : fmt::format("the step was not made; the checkpoint after step {} is good", checkpoint_step);
}

void check_same_data(const std::string& kind, const std::string& then, const std::string& now,
                     const std::filesystem::path& checkpoint) {
  if (then == now) return;
  throw Error(fmt::format("the checkpoint was trained on another data set: its {} data is {}, this is {}",
                          kind, printable(then, 20), now),
              checkpoint.string(),
              "resume with the same data, or start a new run from its weights with train.init=");
}

}  // namespace

void Run::resume(const Training& training) {
  parameters_ = &training.parameters;
  loader_ = &training.loader;
  optimizer_ = &training.optimizer;
  scaler_ = training.scaler;
  round_weights();
  if (!resume_.wanted()) return;
  const CheckpointState& state = resume_.state;
  check_same_data("training", state.train_data, train_data_, resume_.checkpoint->path);
  check_same_data("validation", state.valid_data, valid_data_, resume_.checkpoint->path);
  load_training(*resume_.checkpoint, training, {state.batches, state.optimizer_steps}, device_);
  if (board_) board_->load(state, device_);
  if (resume_.by_key) console_.line(std::string("  note    ") + kResumeKeyNote);
  for (const std::string& sentence : resume_.passed_over) console_.line("  passed over  " + sentence);
  console_.line(fmt::format("  resume  attempt {}, after step {} from {}", attempt_, steps_done_,
                            resume_.checkpoint->path.string()));
}

bool Run::goes_on(const Training& training) {
  const TrainConfig& train = loaded_.config.train;
  if (loaded_.config.run.measure == "io") read_and_drop(training.loader);
  check_replicas(training.parameters);
  const bool all_done = steps_done_ >= train.steps;
  const bool requested =
      agreed_stop(/*now=*/all_done) != 0;  // once: one that comes later stops the next step
  const bool stops = requested && !complete();
  const bool due = train.checkpoint_every > 0 && steps_done_ > 0 && steps_done_ % train.checkpoint_every == 0;
  if ((due || stops) && !measures() && checkpoint_step_ != steps_done_) save_checkpoint(training);
  return !all_done && !requested;
}

void Run::read_and_drop(Loader& loader) {
  while (steps_done_ < loaded_.config.train.steps && agreed_stop(/*now=*/false) == 0) {
    Step step = begin_step();
    step.enter(Stage::load);
    const Batch batch = loader.next();
    step.finish({.loss = {}, .samples = batch.size(), .epoch = batch.epoch});
  }
}

void Run::save_checkpoint(const Training& training) {
  enter_stage("checkpoint");
  record_done_steps(/*wait_for_all=*/true);
  const std::int64_t begin_us = steady_us();
  // A broken state must not take the place of a good one.
  if (const std::string broken = first_broken(training.parameters, /*gradients=*/false); !broken.empty()) {
    throw Error("a weight is not a finite number, so no checkpoint was saved", broken,
                checkpoint_step_ < 0 ? "there is none before it"
                                     : fmt::format("the one after step {} is still there", checkpoint_step_),
                Exit::failed);
  }
  const RunSummary so_far = summary();
  CheckpointState state{.lesson = lesson_.name,
                        .preset = loaded_.preset,
                        .train_data = train_data_,
                        .valid_data = valid_data_,
                        .step = steps_done_,
                        .scored_step = scored_step_,
                        .samples = so_far.samples,
                        .first_loss = so_far.first_loss,
                        .last_loss = last_loss_,
                        .wall_s = so_far.wall_s};
  stream_->flush();  // no step that the checkpoint holds is missing in the stream, whatever happens next
  const bool has_a_piece = model_ranks_.size() > 1 && group("dp").rank() == 0;
  if (!speaks()) {  // rank 0 writes for all
    if (has_a_piece) save_training(nullptr, training, device_, model_ranks_);
    strike("checkpoint");
    comm_.barrier("checkpoint written");
    checkpoint_step_ = steps_done_;
    return comm_.barrier("checkpoint");
  }
  board_->save(state);
  CheckpointWriter writer(folder_.checkpoints(), steps_done_);
  const TrainingCounts counts = save_training(&writer, training, device_, model_ranks_);
  strike("checkpoint");
  state.batches = counts.batches;
  state.optimizer_steps = counts.optimizer_steps;
  writer.write_text(kStateFile, to_toml(state));
  writer.write_text(kCheckpointConfig, to_toml(loaded_.config));
  // Nothing is complete that was computed with a rank that is gone: values of an aborted collective are
  // noise.
  comm_.barrier("checkpoint written");
  const std::filesystem::path saved = writer.finish();
  checkpoint_step_ = steps_done_;
  comm_.barrier("checkpoint");
  remove_old_checkpoints(folder_.checkpoints(), loaded_.config.train.keep_checkpoints, steps_done_);
  const std::int64_t duration_us = steady_us() - begin_us;
  trace_loop("checkpoint", begin_us);
  stream_->write(JsonLine("note")
                     .add("text", "checkpoint")
                     .add("step", steps_done_)
                     .add("t_us", begin_us - begin_us_)
                     .add("duration_us", duration_us));
  console_.line(fmt::format("saved  {} ({})", saved.lexically_relative(folder_.path).string(),
                            human_seconds(static_cast<double>(duration_us) * 1e-6)));
}

void Run::plant_fault(std::int64_t step, bool in_gradients) {
  const FaultSetting& fault = fault_setting();
  if (in_gradients && fault.fault == Fault::nan_in_padding && fault.step == step && parameters_ != nullptr)
    parameters_->gradients()[-1].fill_(std::numeric_limits<float>::quiet_NaN());
  const bool infinite =
      fault.fault == Fault::inject_inf && replica_count() == 1;  // else one rank's loss overflows
  const bool wanted =
      fault.fault == (in_gradients ? Fault::nan_gradient : Fault::nan_weight) || (in_gradients && infinite);
  if (!wanted || fault.step != step || parameters_ == nullptr) return;
  const at::NoGradGuard no_grad;
  const Parameter& middle = parameters_->all()[parameters_->all().size() / 2];
  const at::Tensor flat = (in_gradients ? middle.tensor.grad() : middle.tensor).view(-1);
  flat[0].fill_(infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN());
}

void Run::round_weights() const {
  if (!has_fault(Fault::all_half) || parameters_ == nullptr) return;
  const std::optional<c10::ScalarType> half = half_type(loaded_.config.amp.mode);
  if (!half) return;
  const at::NoGradGuard no_grad;
  at::Tensor values = parameters_->values();
  values.copy_(values.to(*half));
}

void Run::look_at_gradients(std::int64_t step) {
  plant_fault(step, /*in_gradients=*/true);
  const std::int64_t every = loaded_.config.amp.histogram_every;
  if (every == 0 || step % every != 0 || parameters_ == nullptr) return;
  GradientHistogram histogram = gradient_sizes(*parameters_);
  histogram.step = step;
  if (scales_loss()) histogram.scale = scaler_->scale_value().item<double>();
  stream_->write(gradients_event(histogram, steady_us() - begin_us_));
}

void Run::check_gradients(std::int64_t step) {
  if (parameters_ == nullptr || optimizer_->guards_weights()) return;
  if (device_.is_cuda()) {  // told when a report is due
    if (!scales_loss()) add_nonfinite(parameters_->gradients(), nonfinite_);
    return;
  }
  if (!is_finite(parameters_->gradients()) && guards_values()) tell_broken_gradients(step);
}

void Run::check_norm(std::int64_t step, const at::Tensor& gradient_norm) {
  if (parameters_ == nullptr || !gradient_norm.defined() || !optimizer_->guards_weights()) return;
  if (device_.is_cuda()) {  // told when a report is due
    if (!scales_loss()) nonfinite_.add_(gradient_norm.isfinite().logical_not());
    return;
  }
  if (!std::isfinite(gradient_norm.item<double>()) && guards_values()) tell_broken_gradients(step);
}

void Run::tell_broken_gradients(std::int64_t step) const {
  const std::string where = fmt::format("step {}", step + 1);
  if (const std::string weight = first_broken(*parameters_, /*gradients=*/false); !weight.empty()) {
    throw Error("a weight is not a finite number", where + ", " + weight, what_is_left(checkpoint_step_),
                Exit::failed);
  }
  const std::int64_t broken = count_broken(*parameters_);
  if (scales_loss() && (broken > 0 || model_ranks_.size() > 1)) return;  // the step is skipped
  if (broken == 0 && model_ranks_.size() > 1) {
    throw Error("a gradient is not a finite number in another rank's piece of the model", where,
                what_is_left(checkpoint_step_), Exit::failed);
  }
  if (broken == 0) {
    throw Error(
        "the padding of the gradient buffer holds a value that is not a finite number, though no gradient "
        "does",
        fmt::format("{}, behind the {} tensors", where, parameters_->all().size()),
        "a kernel wrote past the end of its tensor; what runs over the whole buffer (gradient norm, fused "
        "Adam) "
        "sees it",
        Exit::failed);
  }
  const auto all = static_cast<std::int64_t>(parameters_->all().size());
  if (broken < all) {
    throw Error(fmt::format("a gradient is not a finite number ({} of {} tensors)", broken, all),
                where + ", " + first_broken(*parameters_, /*gradients=*/true), what_is_left(checkpoint_step_),
                Exit::failed);
  }
  if (comm_.size() > 1) {
    throw Error("gradients are not finite numbers on some rank, and their mean on none", where,
                what_is_left(checkpoint_step_), Exit::failed);
  }
  throw Error("the loss is not a finite number: values overflowed in the forward pass", where,
              "a smaller optim.lr, or a warm-up (schedule.warmup_steps)", Exit::failed);
}

void Run::check_skips(std::int64_t step, const StepFigures& figures) const {
  const auto in_row = static_cast<std::int64_t>(figures.skipped_in_row);
  if (!guards_values() || in_row < loaded_.config.amp.max_skips || parameters_ == nullptr) return;
  // Unscaling in place leaves what is not finite as it is; on a CUDA device the host looks later.
  const std::string first = last_broken_gradient(*parameters_);
  throw Error(
      fmt::format("{} steps in a row were skipped because gradients overflowed; the loss scale is {:.6g}",
                  in_row, figures.scale),
      fmt::format("step {}{}", step + 1,
                  first.empty() ? "" : ", not finite first in the gradient of " + first),
      "Try bf16 (amp.mode=bf16), a lower lr (optim.lr), or a warm-up (schedule.warmup_steps)", Exit::failed);
}

}  // namespace isobar
