#include "fields/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/checked.h"
#include "core/error.h"
#include "core/files.h"
#include "fields/safetensors_header.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;

}  // namespace

std::size_t safetensors_type_bytes(const std::string& dtype) {
  static const std::map<std::string, std::size_t> kBytes = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2},
                                                            {"I64", 8}, {"I32", 4}, {"I16", 2}, {"I8", 1},
                                                            {"U8", 1},  {"BOOL", 1}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

FileDigest write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    const std::optional<std::int64_t> bytes =
        checked_product(tensor.shape, static_cast<std::int64_t>(safetensors_type_bytes(tensor.dtype)));
    if (!bytes || static_cast<std::size_t>(*bytes) != tensor.bytes.size() || header.contains(tensor.name)) {
      throw Error("a tensor's shape and bytes disagree, or its name stands twice", tensor.name, "",
                  Exit::failed);
    }
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string json = header.is_null() ? "{}" : header.dump();
  json.append((8 - json.size() % 8) % 8, ' ');
  const std::uint64_t length = json.size();
  std::string start(sizeof(length), '\0');
  std::memcpy(start.data(), &length, sizeof(length));
  start += json;
  WholeFileWriter writer(path);
  writer.write(std::as_bytes(std::span(start)));
  for (const TensorToWrite& tensor : tensors) writer.write(tensor.bytes);
  writer.finish();
  return writer.digest();
}

SafetensorsFile open_safetensors(const std::filesystem::path& path) {
  const FileDescriptor file = open_for_reading(path);
  const std::uint64_t size = file_size(file, path);
  std::array<std::byte, 8> start{};
  std::uint64_t header_bytes = 0;
  if (size >= start.size()) {
    pread_exactly(file, path, 0, start);
    std::memcpy(&header_bytes, start.data(), start.size());
  }
  if (size < start.size() + 2 || header_bytes > size - start.size() || header_bytes > kMostHeaderBytes) {
    throw Error(fmt::format("not a safetensors file: the header would be {} bytes in a file of {}",
                            header_bytes, size),
                path.string(),
                "a .pt or pickle file is not read; save the state_dict with safetensors.torch.save_file");
  }
  std::string json(header_bytes, '\0');
  pread_exactly(file, path, start.size(), std::as_writable_bytes(std::span(json)));
  const std::uint64_t data_begin = start.size() + header_bytes;
  SafetensorsFile table = parse_safetensors_header(json, size - data_begin, path);
  for (TensorInFile& tensor : table.tensors) tensor.begin_byte += data_begin;
  return table;
}

void read_tensor(const SafetensorsFile& file, const TensorInFile& tensor, std::span<std::byte> out) {
  if (out.size() != tensor.bytes) {
    throw Error(fmt::format("the tensor has {} bytes, {} were asked for", tensor.bytes, out.size()),
                file.path.string() + ": " + tensor.name, "", Exit::failed);
  }
  const FileDescriptor handle = open_for_reading(file.path);
  pread_exactly(handle, file.path, tensor.begin_byte, out);
}

}  // namespace isobar
