#pragma once
// The JSON header of a safetensors file, parsed with limits.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace isobar {

/// Element types that Isobar writes and reads, named as in the file: "F32", "F64", "BF16", "F16", "I64",
/// "I32", "U8".
std::size_t safetensors_type_bytes(const std::string& dtype);

/// One tensor of an opened file: `begin_byte` counts from the start of the file.
struct TensorInFile {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin_byte = 0;
  std::uint64_t bytes = 0;
};

/// The table of contents, checked whole before anything is allocated for tensors (Error, exit code 2, with
/// rule and tensor): header within the file and at most 100 MB of JSON without NUL, no fields but those of
/// the format, at most 100,000 entries, names of 1 to 512 bytes without slashes and control characters and
/// not twice, known types, shape x type = span without overflow, spans that cover the data exactly without
/// gap or overlap. Time grows as n log n with the entries.
struct SafetensorsFile {
  std::filesystem::path path;
  std::vector<TensorInFile> tensors;  ///< in the order of their bytes
  std::map<std::string, std::string> metadata;
};

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
