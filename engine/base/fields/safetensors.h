#pragma once
// safetensors files: 8-byte little-endian header length, JSON header, raw tensor bytes. They hold no code and
// open in Python as they are: https://github.com/huggingface/safetensors
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"

namespace isobar {

/// Element types that Isobar writes and reads, named as in the file: "F32", "F64", "BF16", "F16", "I64",
/// "I32", "U8".
std::size_t safetensors_type_bytes(const std::string& dtype);

/// One tensor to write; `bytes` stays owned by the caller and is in C order.
struct TensorToWrite {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Writes the tensors in the order given, whole or not at all; `metadata` becomes "__metadata__" of the
/// header. Returns the digest of what was written.
FileDigest write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata);

/// What stands in front of the tensors' bytes in the file that write_safetensors makes: length and header.
std::string safetensors_start(std::span<const TensorToWrite> tensors,
                              const std::map<std::string, std::string>& metadata);

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
SafetensorsFile open_safetensors(const std::filesystem::path& path);

/// The same from the bytes of a whole file; `name` stands in errors.
SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// Copies one tensor's bytes; `out` has exactly `tensor.bytes` bytes.
void read_tensor(const SafetensorsFile& file, const TensorInFile& tensor, std::span<std::byte> out);

}  // namespace isobar
