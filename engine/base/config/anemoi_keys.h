#pragma once
// Settings of anemoi-training 0.16 (github.com/ecmwf/anemoi-core) and what they are called here.
#include <string>
#include <string_view>

namespace isobar {

/// "mesh.gpus_per_model" of "system.hardware.num_gpus_per_model", or of its last part; "" of what is none of
/// them.
std::string key_of_anemoi(std::string_view theirs);

}  // namespace isobar
