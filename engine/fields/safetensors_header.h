#pragma once
// The JSON header of a safetensors file, parsed with limits. Internal to fields/.
#include <string>

#include "fields/safetensors.h"

namespace isobar {

/// Entries in the order of their bytes; `begin_byte` still counts from the start of the data. `data_bytes` is
/// what the file holds behind the header. All rules of open_safetensors are checked here.
SafetensorsFile parse_safetensors_header(const std::string& json, std::uint64_t data_bytes,
                                         const std::filesystem::path& path);

}  // namespace isobar
