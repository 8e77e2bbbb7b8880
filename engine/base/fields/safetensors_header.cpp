#include "fields/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/checked.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostJsonBytes = 100'000'000;
constexpr std::size_t kMostEntries = 100'000;
constexpr std::size_t kMostNameBytes = 512;
constexpr std::size_t kMostTensorDims = 16;
constexpr std::string_view kMetadata = "__metadata__";

[[noreturn]] void refuse_header(const std::filesystem::path& path, const std::string& rule,
                                std::string_view tensor = "") {
  throw Error("not a sound safetensors file: " + rule,
              tensor.empty() ? path.string() : path.string() + ": " + printable(tensor, 80),
              "the file is damaged or was not written by a safetensors writer; copy or save it again");
}

/// Reads the two known levels as they stream by, so that a hostile header is refused before it costs memory.
class HeaderReader final : public JsonEvents {
 public:
  HeaderReader(SafetensorsFile& out, const std::filesystem::path& path) : out_(out), path_(path) {}

  void key(const std::string& name) override {
    if (depth_ == 1) {
      if (const std::string fault = safetensors_name_fault(name); !fault.empty() && name != kMetadata) {
        refuse_header(path_, fault, name);
      }
      if (!names_.insert(name).second) refuse_header(path_, "a name stands twice", name);
      current_ = TensorInFile{};
      current_.name = name;
      in_metadata_ = name == kMetadata;
      offsets_.clear();
      fields_ = 0;
    } else {
      field_ = name;
      if (in_metadata_) return;
      const unsigned bit = name == "dtype" ? 1U : name == "shape" ? 2U : name == "data_offsets" ? 4U : 0U;
      if (bit == 0 || (fields_ & bit) != 0)
        refuse_header(path_, "an unknown or repeated field", current_.name);
      fields_ |= bit;
    }
  }
  void begin_object() override {
    if (++depth_ > 2 || in_array_) refuse_header(path_, "objects are nested too deeply", current_.name);
  }
  void end_object() override {
    if (--depth_ == 1 && !in_metadata_) finish_entry();
  }
  void begin_array() override {
    if (depth_ != 2 || in_array_ || in_metadata_ || (field_ != "shape" && field_ != "data_offsets")) {
      refuse_header(path_, "a list where none belongs", current_.name);
    }
    in_array_ = true;
  }
  void end_array() override { in_array_ = false; }
  void string(const std::string& value) override {
    if (in_metadata_ && depth_ == 2) {
      if (!out_.metadata.emplace(field_, value).second)
        refuse_header(path_, "a key stands twice in it", kMetadata);
      if (out_.metadata.size() > kMostEntries)
        refuse_header(path_, fmt::format("more than {} keys in it", kMostEntries), kMetadata);
    } else if (depth_ == 2 && !in_array_ && field_ == "dtype") {
      current_.dtype = value;
    } else {
      refuse_header(path_, "text where none belongs", current_.name);
    }
  }
  void natural(std::uint64_t value) override {
    if (!in_array_ || value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse_header(path_, "a number where none belongs, or one that is too large", current_.name);
    }
    std::vector<std::int64_t>& list = field_ == "shape" ? current_.shape : offsets_;
    list.push_back(static_cast<std::int64_t>(value));
    if (current_.shape.size() > kMostTensorDims || offsets_.size() > 2)
      refuse_header(path_, "a list is too long", current_.name);
  }
  void integer(std::int64_t) override { refuse_header(path_, "a negative number", current_.name); }
  void fraction(double) override { refuse_header(path_, "a fraction, or more than 64 bits", current_.name); }
  void null() override { refuse_header(path_, "null where none belongs", current_.name); }
  void boolean(bool) override { refuse_header(path_, "true or false where none belongs", current_.name); }
  void broken(std::size_t at) override {
    refuse_header(path_, fmt::format("the header is no JSON at byte {}", at));
  }

 private:
  void finish_entry() {
    if (out_.tensors.size() == kMostEntries)
      refuse_header(path_, fmt::format("more than {} tensors", kMostEntries));
    if (fields_ != 7 || offsets_.size() != 2)
      refuse_header(path_, "dtype, shape or data_offsets is missing", current_.name);
    const std::size_t type_bytes = safetensors_type_bytes(current_.dtype);
    if (type_bytes == 0)
      refuse_header(path_, "the type " + printable(current_.dtype, 20) + " is not known", current_.name);
    const std::optional<std::int64_t> bytes =
        checked_product(current_.shape, static_cast<std::int64_t>(type_bytes));
    if (!bytes || offsets_[1] < offsets_[0] || offsets_[1] - offsets_[0] != *bytes) {
      refuse_header(path_, "the shape does not match the tensor's bytes", current_.name);
    }
    current_.begin_byte = static_cast<std::uint64_t>(offsets_[0]);
    current_.bytes = static_cast<std::uint64_t>(*bytes);
    out_.tensors.push_back(std::move(current_));
  }

  SafetensorsFile& out_;
  const std::filesystem::path& path_;
  std::unordered_set<std::string> names_;
  TensorInFile current_;
  std::vector<std::int64_t> offsets_;
  std::string field_;
  int depth_ = 0;
  unsigned fields_ = 0;
  bool in_array_ = false;
  bool in_metadata_ = false;
};

}  // namespace

std::size_t safetensors_type_bytes(const std::string& dtype) {
  static const std::map<std::string, std::size_t> kBytes = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2},
                                                            {"I64", 8}, {"I32", 4}, {"I16", 2}, {"I8", 1},
                                                            {"U8", 1},  {"BOOL", 1}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

std::string safetensors_name_fault(std::string_view name) {
  if (name.empty() || name.size() > kMostNameBytes) {
    return fmt::format("a tensor name has 1 to {} bytes, this one {}", kMostNameBytes, name.size());
  }
  if (name == kMetadata) return "a tensor has the name of the metadata";
  for (const char c : name) {
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return "a tensor name holds a slash, a backslash, NUL or another control character";
  }
  return "";
}

std::uint64_t safetensors_header_bytes(std::span<const std::byte> first, std::uint64_t file_bytes,
                                       const std::filesystem::path& path) {
  std::uint64_t header_bytes = 0;
  if (first.size() >= sizeof(header_bytes)) std::memcpy(&header_bytes, first.data(), sizeof(header_bytes));
  if (first.size() < sizeof(header_bytes) || header_bytes < 2 ||
      header_bytes > file_bytes - kSafetensorsLengthBytes || header_bytes > kMostJsonBytes) {
    throw Error(fmt::format("not a safetensors file: the header would be {} bytes in a file of {}",
                            header_bytes, file_bytes),
                path.string(),
                "a .pt or pickle file is not read; save the state_dict with safetensors.torch.save_file");
  }
  return header_bytes;
}

SafetensorsFile parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                         const std::filesystem::path& path) {
  SafetensorsFile file;
  file.path = path;
  HeaderReader reader(file, path);
  if (json.empty() || json.front() != '{') refuse_header(path, "the header does not begin with {");
  // The JSON parser takes NUL for the end, whatever follows.
  if (json.find('\0') != std::string_view::npos) refuse_header(path, "the header holds a NUL byte");
  read_json(json, reader);
  // Empty tensors stay in the order of the header.
  const auto earlier = [](const TensorInFile& a, const TensorInFile& b) {
    return std::pair(a.begin_byte, a.bytes) < std::pair(b.begin_byte, b.bytes);
  };
  std::stable_sort(file.tensors.begin(), file.tensors.end(), earlier);
  std::uint64_t expected = 0;
  for (const TensorInFile& tensor : file.tensors) {
    if (tensor.begin_byte < expected) refuse_header(path, "the tensor overlaps the one before", tensor.name);
    if (tensor.begin_byte > expected) refuse_header(path, "there is a gap before the tensor", tensor.name);
    expected += tensor.bytes;
  }
  if (expected != data_bytes) {
    refuse_header(path, fmt::format("the tensors cover {} bytes, the file holds {}", expected, data_bytes));
  }
  return file;
}

}  // namespace isobar
