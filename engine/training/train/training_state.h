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

/// Where parameters are not shared out, writes model.safetensors (weights and saved buffers, named as for
/// Python; buffers that nobody broadcasts are each rank's own, and these are rank 0's), optimizer.safetensors
/// (`exp_avg.<parameter>` and `exp_avg_sq.<parameter>`); random.safetensors (state of the generator of
/// `device`) and, where the loss is scaled, scaler.safetensors. `writer` is null on ranks that write nothing;
/// all ranks of `model`, which share layers, and of `stages` call it.
TrainingCounts save_training(CheckpointWriter* writer, const Training& training, c10::Device device,
                             Comm& model, Comm& stages);

/// A file that one rank wrote of a checkpoint.
struct ShareFile {
  std::string name;
  FileDigest digest;
};
/// One rank's share of the states, where parameters are shared out: writes "states-0002-of-0004.safetensors",
/// of the second of four files, into `folder`, with weights and moments as stretches
/// (train/stored_tensors.h). Of what all ranks of a model have whole, the first of `model` alone writes some.
/// Saved buffers are in the first file.
ShareFile save_share(const std::filesystem::path& folder, const Parameters& parameters,
                     const Optimizer& optimizer, const Comm& model, int file, int files);

/// Fills weights, buffers and moments from the files of a checkpoint, whole tensors and shares alike: the
/// ranks that saved them may have been others, and so may be what they shared. All ranks call it. Errors
/// (exit code 2) name file and tensor. `stages` have a model between them; null = none but this rank.
void load_states(const Checkpoint& checkpoint, const Parameters& parameters, const Optimizer& optimizer,
                 Comm* stages = nullptr);

/// Brings all of it back: the next batch, and the step that it makes, are the same to the last bit. On
/// another kind of device than before, whose generator is another too, that one stays as train.seed left it.
/// Whole tensors and shares are read alike: the ranks that saved them may have been others, and so may be
/// what they shared. All ranks call it. Errors (exit code 2) name file and tensor.
void load_training(const Checkpoint& checkpoint, const Training& training, const TrainingCounts& counts,
                   c10::Device device, Comm& stages);

}  // namespace isobar
