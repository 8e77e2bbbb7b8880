#include "train/weights.h"

#include "train/named_tensors.h"

namespace isobar {

void save_weights(const Parameters& parameters, const std::filesystem::path& path) {
  write_safetensors(path, HostTensors(named_tensors(parameters)).to_write(),
                    {{"format", "pt"}, {"made_by", "isobar"}});
}

void load_weights(Parameters& parameters, const std::filesystem::path& path) {
  load_tensors(named_tensors(parameters), path);
}

}  // namespace isobar
