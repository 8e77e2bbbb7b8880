#include "fields/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "core/checked.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr const char* kDisagree = "a tensor's shape, type and bytes disagree";

/// A name or text as JSON; it must be UTF-8.
std::string quoted(const std::string& text) {
  try {
    return json_quoted(text, JsonEscapes::strict);
  } catch (const Error&) {
    throw Error("a name or text of a safetensors file is no UTF-8", printable(text, 80), "", Exit::failed);
  }
}

/// From places in the data to places in the file.
void place(SafetensorsFile& table, std::uint64_t header_bytes) {
  for (TensorInFile& tensor : table.tensors) tensor.begin_byte += kSafetensorsLengthBytes + header_bytes;
}

}  // namespace

namespace {

std::string start_of(const std::vector<TensorHead>& tensors,
                     const std::map<std::string, std::string>& metadata, std::vector<std::uint64_t>& sizes) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) pairs.push_back(quoted(key) + ":" + quoted(value));
    entries.push_back("\"__metadata__\":{" + joined(pairs, ",") + "}");
  }
  std::unordered_set<std::string> names;
  std::uint64_t offset = 0;
  for (const TensorHead& tensor : tensors) {
    const std::optional<std::int64_t> bytes =
        checked_product(tensor.shape, static_cast<std::int64_t>(safetensors_type_bytes(tensor.dtype)));
    std::string fault = safetensors_name_fault(tensor.name);
    if (fault.empty() && !names.insert(tensor.name).second) fault = "a tensor's name stands twice";
    if (!bytes || safetensors_type_bytes(tensor.dtype) == 0) fault = kDisagree;
    if (!fault.empty()) throw Error(fault, printable(tensor.name, 80), "", Exit::failed);
    sizes.push_back(static_cast<std::uint64_t>(*bytes));
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  quoted(tensor.name), tensor.dtype, joined(tensor.shape, ","), offset,
                                  offset + sizes.back()));
    offset += sizes.back();
  }
  std::string json = "{" + joined(entries, ",") + "}";
  json.append((8 - json.size() % 8) % 8, ' ');
  const std::uint64_t length = json.size();
  std::string start(sizeof(length), '\0');
  std::memcpy(start.data(), &length, sizeof(length));
  return start + json;
}

/// Refuses bytes that do not go with their heads.
std::vector<TensorHead> heads_of(std::span<const TensorToWrite> tensors) {
  std::vector<TensorHead> out;
  for (const TensorToWrite& tensor : tensors) {
    const std::optional<std::int64_t> bytes =
        checked_product(tensor.shape, static_cast<std::int64_t>(safetensors_type_bytes(tensor.dtype)));
    if (!bytes || static_cast<std::size_t>(*bytes) != tensor.bytes.size())
      throw Error(kDisagree, printable(tensor.name, 80), "", Exit::failed);
    out.push_back({tensor.name, tensor.dtype, tensor.shape});
  }
  return out;
}

}  // namespace

std::string safetensors_start(std::span<const TensorToWrite> tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::vector<std::uint64_t> sizes;
  return start_of(heads_of(tensors), metadata, sizes);
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<TensorHead>& tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path) {
  const std::string start = start_of(tensors, metadata, sizes_);
  file_.write(std::as_bytes(std::span(start)));
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  if (written_ == sizes_.size() || sizes_[written_] != bytes.size())
    throw Error(
        fmt::format("{} bytes are not those of tensor {} of {}", bytes.size(), written_ + 1, sizes_.size()),
        "a safetensors file", "", Exit::failed);
  file_.write(bytes);
  ++written_;
}

FileDigest SafetensorsWriter::finish() {
  if (written_ < sizes_.size())
    throw Error(fmt::format("{} of {} tensors were written", written_, sizes_.size()), "a safetensors file",
                "", Exit::failed);
  file_.finish();
  return file_.digest();
}

FileDigest write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                             const std::map<std::string, std::string>& metadata) {
  SafetensorsWriter writer(path, heads_of(tensors), metadata);
  for (const TensorToWrite& tensor : tensors) writer.write(tensor.bytes);
  return writer.finish();
}

SafetensorsFile open_safetensors(const std::filesystem::path& path) {
  const FileDescriptor file = open_for_reading(path);
  const std::uint64_t size = file_size(file, path);
  std::vector<std::byte> first(std::min(size, kSafetensorsLengthBytes));
  pread_exactly(file, path, 0, first);
  const std::uint64_t header_bytes = safetensors_header_bytes(first, size, path);
  std::string json(header_bytes, '\0');
  pread_exactly(file, path, kSafetensorsLengthBytes, std::as_writable_bytes(std::span(json)));
  SafetensorsFile table = parse_safetensors_header(json, size - kSafetensorsLengthBytes - header_bytes, path);
  place(table, header_bytes);
  return table;
}

SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  const std::uint64_t header_bytes = safetensors_header_bytes(bytes, bytes.size(), name);
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + kSafetensorsLengthBytes,
                              header_bytes);
  SafetensorsFile table =
      parse_safetensors_header(json, bytes.size() - kSafetensorsLengthBytes - header_bytes, name);
  place(table, header_bytes);
  return table;
}

void read_tensor(const SafetensorsFile& file, const TensorInFile& tensor, std::span<std::byte> out) {
  if (out.size() != tensor.bytes) {
    throw Error(fmt::format("the tensor has {} bytes, {} were asked for", tensor.bytes, out.size()),
                file.path.string() + ": " + tensor.name, "", Exit::failed);
  }
  read_tensor_part(file, tensor, 0, out);
}

void read_tensor_part(const SafetensorsFile& file, const TensorInFile& tensor, std::uint64_t begin,
                      std::span<std::byte> out) {
  if (begin > tensor.bytes || out.size() > tensor.bytes - begin) {
    throw Error(fmt::format("the tensor has {} bytes, {} from byte {} were asked for", tensor.bytes,
                            out.size(), begin),
                file.path.string() + ": " + tensor.name, "", Exit::failed);
  }
  const FileDescriptor handle = open_for_reading(file.path);
  pread_exactly(handle, file.path, tensor.begin_byte + begin, out);
}

}  // namespace isobar
