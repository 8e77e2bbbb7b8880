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
#include "fields/safetensors_header.h"

namespace isobar {

/// One tensor to write; `bytes` stays owned by the caller and is in C order.
struct TensorToWrite {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// What stands of a tensor in the header.
struct TensorHead {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
};

/// Writes a file tensor by tensor, so that no more than one need be there at a time. Without `finish` nothing
/// is left behind.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<TensorHead>& tensors,
                    const std::map<std::string, std::string>& metadata);
  /// The next of `tensors`, all of it, in C order. Error (exit code 1) when it is of another size.
  void write(std::span<const std::byte> bytes);
  FileDigest finish();

 private:
  WholeFileWriter file_;
  std::vector<std::uint64_t> sizes_;  ///< bytes of each tensor
  std::size_t written_ = 0;
};

/// Writes the tensors in the order given, whole or not at all; `metadata` becomes "__metadata__" of the
/// header. Returns the digest of what was written.
FileDigest write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                             const std::map<std::string, std::string>& metadata);

/// What stands in front of the tensors' bytes in the file that write_safetensors makes: length and header.
std::string safetensors_start(std::span<const TensorToWrite> tensors,
                              const std::map<std::string, std::string>& metadata);

SafetensorsFile open_safetensors(const std::filesystem::path& path);

/// Parses the bytes of a whole file; `name` stands in errors.
SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// Copies one tensor's bytes; `out` has exactly `tensor.bytes` bytes.
void read_tensor(const SafetensorsFile& file, const TensorInFile& tensor, std::span<std::byte> out);
/// Copies those of its bytes that begin at `begin`.
void read_tensor_part(const SafetensorsFile& file, const TensorInFile& tensor, std::uint64_t begin,
                      std::span<std::byte> out);

}  // namespace isobar
