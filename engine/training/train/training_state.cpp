#include "train/training_state.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include "train/named_tensors.h"
#include "train/stage_tensors.h"
#include "train/stored_tensors.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kRandomFile = "random.safetensors";
constexpr const char* kScalerFile = "scaler.safetensors";

at::Generator generator_of(c10::Device device) { return at::globalContext().defaultGenerator(device); }

/// All that this rank holds of weights, moments and buffers.
std::vector<NamedTensor> states_of(const Parameters& parameters, const Optimizer& optimizer) {
  std::vector<NamedTensor> out = named_tensors(parameters);
  const std::vector<NamedTensor> moments = optimizer.moments();
  out.insert(out.end(), moments.begin(), moments.end());
  return out;
}

/// Files of a checkpoint that hold weights and moments, whatever ranks wrote them.
std::vector<fs::path> state_files(const Checkpoint& checkpoint) {
  std::vector<fs::path> out;
  for (const auto& [name, digest] : checkpoint.files) {
    if (name.ends_with(".safetensors") && name != kRandomFile && name != kScalerFile)
      out.push_back(checkpoint.path / name);
  }
  return out;
}

bool scales(const Training& training) { return training.scaler != nullptr && training.scaler->active(); }

}  // namespace

TrainingCounts save_training(CheckpointWriter* writer, const Training& training, c10::Device device,
                             Comm& model, Comm& stages) {
  const TrainingCounts counts{training.loader.position(), training.optimizer.steps()};
  const auto write = [&](const char* file, const std::vector<NamedTensor>& tensors) {
    const std::vector<NamedTensor> whole = from_all_stages(gathered(tensors, model), stages, device);
    if (writer != nullptr) writer->write_tensors(file, HostTensors(whole).to_write());
  };
  if (!training.parameters.is_shared_out()) {
    write(kModelFile, named_tensors(training.parameters));
    write(kOptimizerFile, training.optimizer.moments());
  }
  if (writer == nullptr) return counts;
  writer->write_tensors(kRandomFile,
                        HostTensors({{"generator", generator_of(device).get_state()}}).to_write());
  if (scales(training)) writer->write_tensors(kScalerFile, HostTensors(training.scaler->state()).to_write());
  return counts;
}

ShareFile save_share(const fs::path& folder, const Parameters& parameters, const Optimizer& optimizer,
                     const Comm& model, int file, int files) {
  std::vector<NamedTensor> mine = states_of(parameters, optimizer);
  std::erase_if(mine, [&](const NamedTensor& one) {
    if (one.stretch.begin < 0) return file > 0;  // a buffer
    return one.tensor.numel() == 0 || (one.shard.count == 1 && model.rank() > 0);
  });
  const std::string name = fmt::format("states-{:04}-of-{:04}.safetensors", file + 1, files);
  return {name, write_checkpoint_tensors(folder / name, HostTensors(mine).to_write())};
}

void load_states(const Checkpoint& checkpoint, const Parameters& parameters, const Optimizer& optimizer,
                 Comm* stages) {
  const std::vector<NamedTensor> own = states_of(parameters, optimizer);
  load_tensors(own, state_files(checkpoint),
               stages != nullptr ? names_elsewhere(own, *stages) : std::vector<std::string>{});
  if (SharesParameters* const sharer = parameters.shared_layout().sharer) sharer->own_values_changed();
}

void load_training(const Checkpoint& checkpoint, const Training& training, const TrainingCounts& counts,
                   c10::Device device, Comm& stages) {
  load_states(checkpoint, training.parameters, training.optimizer, &stages);
  at::Generator generator = generator_of(device);
  const at::Tensor state = generator.get_state();
  const fs::path random = checkpoint.path / kRandomFile;
  const SafetensorsFile file = open_safetensors(random);
  const bool same_kind = file.tensors.size() != 1 || file.tensors.front().shape == state.sizes().vec();
  if (same_kind) {
    load_tensors({{"generator", state}}, random);
    generator.set_state(state);
  }
  // One that was saved under the fault no_scaler has none: scaling begins anew then.
  if (scales(training) && checkpoint.files.count(kScalerFile) != 0)
    load_tensors(training.scaler->state(), checkpoint.path / kScalerFile);
  training.optimizer.set_steps(counts.optimizer_steps);
  training.loader.seek(counts.batches);
}

}  // namespace isobar
