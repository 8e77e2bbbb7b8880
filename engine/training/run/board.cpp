#include "run/board.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>

#include "record/field_image.h"

namespace isobar {
namespace {

/// The channel that the tutorial draws: t2m, or the first where there are fewer than three.
std::int64_t drawn_channel(const Evaluation& evaluation) { return evaluation.channels.size() > 2 ? 2 : 0; }

PngImage draw(const Evaluation& evaluation) {
  const std::int64_t channel = drawn_channel(evaluation);
  const at::Tensor prediction = evaluation.fields[2][channel].contiguous();
  const at::Tensor target = evaluation.fields[1][channel].contiguous();
  const auto values = [](const at::Tensor& t) {
    return std::span(t.const_data_ptr<float>(), static_cast<std::size_t>(t.numel()));
  };
  return draw_pair(values(prediction), values(target), target.size(0), target.size(1));
}

}  // namespace

void Board::add_step(const at::Tensor& loss, double learning_rate, std::int64_t samples,
                     std::int64_t step_us) {
  const at::Tensor value = loss.detach().to(at::kDouble);
  loss_sum_ = steps_ == 0 ? value.clone() : loss_sum_ + value;
  ++steps_;
  samples_ += samples;
  time_us_ += step_us;
  learning_rate_ = learning_rate;
}

void Board::save(CheckpointState& state) const {
  state.board_loss_sum = steps_ == 0 ? 0 : loss_sum_.item<double>();
  state.board_steps = steps_;
  state.board_samples = samples_;
  state.board_us = time_us_;
  state.board_learning_rate = learning_rate_;
}

void Board::load(const CheckpointState& state, c10::Device device) {
  loss_sum_ = at::scalar_tensor(state.board_loss_sum, at::TensorOptions(at::kDouble).device(device));
  steps_ = state.board_steps;
  samples_ = state.board_samples;
  time_us_ = state.board_us;
  learning_rate_ = state.board_learning_rate;
}

void Board::add_evaluation(std::int64_t step, const Evaluation& evaluation) {
  if (steps_ > 0) {
    const double seconds = static_cast<double>(std::max<std::int64_t>(1, time_us_)) * 1e-6;
    events_.scalar("Loss/train", loss_sum_.item<double>() / static_cast<double>(steps_), step);
    events_.scalar("Learning Rate", learning_rate_, step);
    events_.scalar("Avg iters per sec", static_cast<double>(steps_) / seconds, step);
    events_.scalar("Avg samples per sec", static_cast<double>(samples_) / seconds, step);
  }
  events_.scalar("Loss/valid", evaluation.loss, step);
  events_.scalar("RMSE(" + evaluation.headline().name + ")/valid", evaluation.headline().rmse, step);
  if (evaluation.members > 1) {
    events_.scalar("CRPS(" + evaluation.headline().name + ")/valid", evaluation.headline().crps, step);
    events_.scalar("Spread(" + evaluation.headline().name + ")/valid", evaluation.headline().spread, step);
  }
  for (std::size_t i = 0; i < evaluation.later.size(); ++i)
    events_.scalar(fmt::format("RMSE({}) lead {}/valid", evaluation.headline().name, i + 2),
                   evaluation.later[i].rmse, step);
  const std::string drawn = evaluation.channels[static_cast<std::size_t>(drawn_channel(evaluation))].name;
  const PngImage picture = draw(evaluation);
  events_.image("Visualization, " + drawn, picture.bytes, picture.height, picture.width, step);
  steps_ = 0;
  samples_ = 0;
  time_us_ = 0;
}

}  // namespace isobar
