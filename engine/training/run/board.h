#pragma once
// The run's TensorBoard log: the tags of the ERA5 tutorial, so that both open side by side.
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "record/tfevents_writer.h"
#include "run/run_state.h"
#include "train/evaluate.h"

namespace isobar {

class Board {
 public:
  /// `events` outlives it.
  explicit Board(TfEventsWriter& events) : events_(events) {}

  /// Sums since the last evaluation, so that a resumed run continues with them.
  void save(CheckpointState& state) const;
  void load(const CheckpointState& state, c10::Device device);

  /// The first loss is that of the untrained model: the curve begins there.
  void begin(double first_loss) { events_.scalar("Loss/train", first_loss, 0); }

  /// Adds one step to the means of its epoch. `loss` stays on its device.
  void add_step(const at::Tensor& loss, double learning_rate, std::int64_t samples, std::int64_t step_us);

  /// Writes scores after `step` steps, and the means of the steps since the last call.
  void add_evaluation(std::int64_t step, const Evaluation& evaluation);

 private:
  TfEventsWriter& events_;
  at::Tensor loss_sum_;
  std::int64_t steps_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t time_us_ = 0;
  double learning_rate_ = 0;
};

}  // namespace isobar
