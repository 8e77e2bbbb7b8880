#include "train/weights.h"

#include <map>
#include <optional>

#include "core/error.h"
#include "fields/safetensors.h"
#include "train/named_tensors.h"
#include "train/stored_tensors.h"

namespace isobar {

namespace {

const std::map<std::string, std::string> kMetadata = {{"format", "pt"}, {"made_by", "isobar"}};

}  // namespace

void save_weights(const Parameters& parameters, const std::filesystem::path& path) {
  if (parameters.is_shared_out())
    throw Error("ranks share the weights out, so all of them take part in saving them", path.string(), "",
                Exit::failed);
  write_safetensors(path, HostTensors(named_tensors(parameters)).to_write(), kMetadata);
}

/// Tensor by tensor, so that no rank has all of them at a time.
void save_weights(const Parameters& parameters, const std::filesystem::path& path, Comm& model) {
  Comm* const shares = parameters.is_shared_out() ? &parameters.shared_layout().sharer->group() : nullptr;
  const bool writes =
      model.members().front() == 0 && model.rank() == 0 && (shares == nullptr || shares->rank() == 0);
  const std::vector<NamedTensor> pieces = named_tensors(parameters);
  std::optional<SafetensorsWriter> writer;
  if (writes) {
    std::vector<TensorHead> heads;
    for (const NamedTensor& one : pieces)
      heads.push_back({one.name, type_in_file(one.tensor), whole_shape(one)});
    writer.emplace(path, heads, kMetadata);
  }
  for (NamedTensor one : pieces) {
    one.tensor = one.tensor.to(parameters.options().device());  // it may lie in host memory
    std::vector<NamedTensor> here = {one};
    if (shares != nullptr) here = with_all_stretches(here, *shares);
    if (here.empty() || model.members().front() != 0) continue;
    here = gathered(here, model);
    if (writer) writer->write(HostTensors(here).to_write().front().bytes);
  }
  if (writer) writer->finish();
}

void load_weights(Parameters& parameters, const std::filesystem::path& path) {
  load_tensors(named_tensors(parameters), path);
  if (parameters.is_shared_out()) parameters.shared_layout().sharer->own_values_changed();
}

}  // namespace isobar
