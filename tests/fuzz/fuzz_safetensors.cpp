// A safetensors file of any bytes. An input that begins with '{' is a header alone and gets its length in
// front and data behind it, so that what lies behind the length is reached.
#include <cstring>
#include <unordered_set>

#include "core/error.h"
#include "fields/safetensors.h"
#include "fuzz/checks.h"

using namespace isobar;

namespace {

constexpr std::size_t kBytesOfASpace = 4;

/// Each space at the end of the header stands for four bytes of data.
std::string around(std::string_view header) {
  const std::size_t last = header.find_last_not_of(' ');
  std::string out(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(out.data(), &length, sizeof(length));
  out += header;
  return out + std::string(kBytesOfASpace * (header.size() - last - 1), 'd');
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Tensors lie one behind the other up to the end of the file, and each has what its shape needs.
void check_table(const SafetensorsFile& file, std::size_t file_bytes) {
  std::unordered_set<std::string_view> names;
  std::uint64_t end = file.tensors.empty() ? file_bytes : file.tensors.front().begin_byte;
  require(end >= 10);
  for (const TensorInFile& tensor : file.tensors) {
    require(tensor.begin_byte == end);
    end += tensor.bytes;
    std::uint64_t bytes = safetensors_type_bytes(tensor.dtype);
    require(bytes > 0);
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
    require(bytes == tensor.bytes);
    require(!tensor.name.empty() && tensor.name.size() <= 512 && tensor.name.find('/') == std::string::npos);
    check_text(tensor.name);
    require(names.insert(tensor.name).second);
  }
  require(end == file_bytes);
}

/// The file that we would write of the same tensors has the same table.
void check_again(const SafetensorsFile& file, std::string_view input) {
  std::vector<TensorToWrite> tensors;
  std::string data;
  for (const TensorInFile& tensor : file.tensors) {
    const std::string_view bytes = input.substr(tensor.begin_byte, tensor.bytes);
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, bytes_of(bytes)});
    data += bytes;
  }
  const std::string start = safetensors_start(tensors, file.metadata);
  require(start.size() % 8 == 0);
  const SafetensorsFile again = parse_safetensors(bytes_of(start + data), "again");
  require(again.metadata == file.metadata && again.tensors.size() == file.tensors.size());
  for (std::size_t i = 0; i < again.tensors.size(); ++i) {
    const TensorInFile& one = file.tensors[i];
    const TensorInFile& other = again.tensors[i];
    require(one.name == other.name && one.dtype == other.dtype && one.shape == other.shape);
    require(one.bytes == other.bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  if (!input.empty() && input.front() == '{') input = around(input);
  SafetensorsFile file;
  try {
    file = parse_safetensors(bytes_of(input), "fuzz");
  } catch (const Error& error) {
    require(error.code() == Exit::bad_input && !error.where().empty() && !error.hint().empty());
    check_text(error.what());
    check_text(error.where());
    return 0;
  }
  check_table(file, input.size());
  check_again(file, input);
  return 0;
}
