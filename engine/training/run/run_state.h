#pragma once
// The state of a run beside its tensors, to and from state.toml of a checkpoint.
#include <cstdint>
#include <filesystem>
#include <string>

#include "config/config.h"

namespace isobar {

struct CheckpointState {
  std::string lesson;
  std::string preset;
  std::string train_data;  ///< Dataset::identity()
  std::string valid_data;
  std::int64_t step = 0;          ///< steps done
  std::int64_t scored_step = -1;  ///< steps done at the last complete evaluation, -1 = none yet
  std::int64_t batches = 0;
  std::int64_t optimizer_steps = 0;
  std::int64_t samples = 0;
  double first_loss = 0;
  double last_loss = 0;
  double wall_s = 0;  ///< sum over all attempts
  // Sums since the last evaluation, for the means of an epoch (run/board.h).
  double board_loss_sum = 0;
  std::int64_t board_steps = 0;
  std::int64_t board_samples = 0;
  std::int64_t board_us = 0;
  double board_learning_rate = 0;
};

std::string to_toml(const CheckpointState& state);

/// Error (exit code 2) that names the file for anything but what `to_toml` writes.
CheckpointState read_run_state(const std::filesystem::path& file);

/// Error (exit code 2) that names the first figure of `file` which cannot be true of a run with this
/// configuration whose checkpoint is of `saved_step`: steps, batches, updates and samples follow from each
/// other.
void check_run_state(const CheckpointState& state, const Config& config, std::int64_t saved_step,
                     const std::filesystem::path& file);

}  // namespace isobar
