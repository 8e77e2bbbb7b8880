#pragma once
// The JSON header of a safetensors file, parsed with limits. Internal to fields/.
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "fields/safetensors.h"

namespace isobar {

inline constexpr std::uint64_t kSafetensorsLengthBytes = 8;  ///< in front of the JSON

/// The size of the JSON header, from the first bytes of a file of `file_bytes`.
std::uint64_t safetensors_header_bytes(std::span<const std::byte> first, std::uint64_t file_bytes,
                                       const std::filesystem::path& path);

/// Entries in the order of their bytes; `begin_byte` still counts from the start of the data. `data_bytes` is
/// what the file holds behind the header. All rules of open_safetensors are checked here.
SafetensorsFile parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                         const std::filesystem::path& path);

/// "" for a name that a tensor may have, else the rule that it breaks.
std::string safetensors_name_fault(std::string_view name);

}  // namespace isobar
