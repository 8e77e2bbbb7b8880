#include "train/training_state.h"

#include <ATen/Context.h>

#include "train/named_tensors.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kRandomFile = "random.safetensors";
constexpr const char* kScalerFile = "scaler.safetensors";

at::Generator generator_of(c10::Device device) { return at::globalContext().defaultGenerator(device); }

bool scales(const Training& training) { return training.scaler != nullptr && training.scaler->active(); }

}  // namespace

TrainingCounts save_training(CheckpointWriter* writer, const Training& training, c10::Device device,
                             Comm& model) {
  const TrainingCounts counts{training.loader.position(), training.optimizer.steps()};
  const auto write = [&](const char* file, const std::vector<NamedTensor>& tensors) {
    const std::vector<NamedTensor> whole = gathered(tensors, model);
    if (writer != nullptr) writer->write_tensors(file, HostTensors(whole).to_write());
  };
  write(kModelFile, named_tensors(training.parameters));
  write(kOptimizerFile, training.optimizer.moments());
  if (writer == nullptr) return counts;
  writer->write_tensors(kRandomFile,
                        HostTensors({{"generator", generator_of(device).get_state()}}).to_write());
  if (scales(training)) writer->write_tensors(kScalerFile, HostTensors(training.scaler->state()).to_write());
  return counts;
}

void load_training(const Checkpoint& checkpoint, const Training& training, const TrainingCounts& counts,
                   c10::Device device) {
  load_tensors(named_tensors(training.parameters), checkpoint.path / kModelFile);
  load_tensors(training.optimizer.moments(), checkpoint.path / kOptimizerFile);
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
