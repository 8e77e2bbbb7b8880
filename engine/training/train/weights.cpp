#include "train/weights.h"

#include "train/named_tensors.h"

namespace isobar {

namespace {

void write(const std::vector<NamedTensor>& tensors, const std::filesystem::path& path) {
  write_safetensors(path, HostTensors(tensors).to_write(), {{"format", "pt"}, {"made_by", "isobar"}});
}

}  // namespace

void save_weights(const Parameters& parameters, const std::filesystem::path& path) {
  write(named_tensors(parameters), path);
}

void save_weights(const Parameters& parameters, const std::filesystem::path& path, Comm& model) {
  if (model.members().front() != 0) return;
  const std::vector<NamedTensor> whole = gathered(named_tensors(parameters), model);
  if (model.rank() == 0) write(whole, path);
}

void load_weights(Parameters& parameters, const std::filesystem::path& path) {
  load_tensors(named_tensors(parameters), path);
}

}  // namespace isobar
