#pragma once
// Everything that the next step depends on, to and from a checkpoint.
#include <cstdint>

#include "comm/comm.h"
#include "data/loader.h"
#include "fields/checkpoint_folder.h"
#include "model/parameters.h"
#include "train/grad_scaler.h"
#include "train/optimizer.h"

namespace isobar {

/// What a lesson trains with. The parts outlive this.
struct Training {
  Parameters& parameters;
  Optimizer& optimizer;
  Loader& loader;
  GradScaler* scaler = nullptr;  ///< set in a lesson that scales its loss
};

/// The parts of it that are numbers.
struct TrainingCounts {
  std::int64_t batches = 0;          ///< handed out by the loader since the run began
  std::int64_t optimizer_steps = 0;  ///< t of Adam
};

/// Writes model.safetensors (weights and saved buffers, named as for Python; buffers that nobody broadcasts
/// are each rank's own, and these are rank 0's), optimizer.safetensors (`exp_avg.<parameter>` and
/// `exp_avg_sq.<parameter>`), random.safetensors (state of the generator of `device`) and, where the loss is
/// scaled, scaler.safetensors.
/// `writer` is null on ranks that write nothing; all ranks of `model`, which share one model, call it.
TrainingCounts save_training(CheckpointWriter* writer, const Training& training, c10::Device device,
                             Comm& model);

/// Brings all of it back: the next batch, and the step that it makes, are the same to the last bit. On
/// another kind of device than before, whose generator is another too, that one stays as train.seed left it.
/// Errors (exit code 2) name file and tensor.
void load_training(const Checkpoint& checkpoint, const Training& training, const TrainingCounts& counts,
                   c10::Device device);

}  // namespace isobar
