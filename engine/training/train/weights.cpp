#include "train/weights.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "fields/safetensors.h"
#include "train/named_tensors.h"
#include "train/stage_tensors.h"
#include "train/stored_tensors.h"

namespace isobar {

namespace {

const std::map<std::string, std::string> kMetadata = {{"format", "pt"}, {"made_by", "isobar"}};

/// Whether rank 0 of all has a part of this rank's model.
bool is_first_model(Comm& model, Comm& stages) {
  const std::vector<double> firsts = model.all_gather_numbers(stages.members().front(), "whole weights");
  return std::ranges::count(firsts, 0.0) > 0;
}

}  // namespace

void save_weights(const Parameters& parameters, const std::filesystem::path& path) {
  if (parameters.is_shared_out())
    throw Error("ranks share the weights out, so all of them take part in saving them", path.string(), "",
                Exit::failed);
  write_safetensors(path, HostTensors(named_tensors(parameters)).to_write(), kMetadata);
}

/// Tensor by tensor, so that no rank has all of them at a time.
void save_weights(const Parameters& parameters, const std::filesystem::path& path, Comm& model,
                  Comm* stages) {
  Comm alone = Comm::alone(model.members().at(static_cast<std::size_t>(model.rank())));
  Comm& depth = stages != nullptr ? *stages : alone;
  Comm* const shares = parameters.is_shared_out() ? &parameters.shared_layout().sharer->group() : nullptr;
  const bool in_first = is_first_model(model, depth);
  const bool writes = depth.members().front() == 0 && depth.rank() == 0;
  const std::vector<NamedTensor> pieces = named_tensors(parameters);
  const c10::Device device = parameters.options().device();
  const std::vector<TensorOfStage> all = tensors_of_stages(pieces, depth);
  std::optional<SafetensorsWriter> writer;
  if (writes) {
    std::vector<TensorHead> heads;
    for (const TensorOfStage& one : all) heads.push_back(one.head);
    writer.emplace(path, heads, kMetadata);
  }
  for (const TensorOfStage& next : all) {
    std::vector<NamedTensor> here;
    if (next.rank == depth.rank()) {
      here = {pieces[next.place]};
      here.front().tensor = here.front().tensor.to(device);  // it may lie in host memory
      if (shares != nullptr) here = with_all_stretches(here, *shares);
    }
    if (!in_first) continue;
    if (!here.empty()) here = gathered(here, model);
    if (model.rank() > 0) continue;
    const at::Tensor whole =
        brought_to_first(next, here.empty() ? at::Tensor() : here.front().tensor, depth, device);
    if (writer) writer->write(HostTensors({{next.head.name, whole}}).to_write().front().bytes);
  }
  if (writer) writer->finish();
}

void load_weights(Parameters& parameters, const std::filesystem::path& path, Comm* stages) {
  const std::vector<NamedTensor> own = named_tensors(parameters);
  load_tensors(own, {path}, stages != nullptr ? names_elsewhere(own, *stages) : std::vector<std::string>{});
  if (parameters.is_shared_out()) parameters.shared_layout().sharer->own_values_changed();
}

}  // namespace isobar
