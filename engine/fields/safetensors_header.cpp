#include "fields/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/checked.h"
#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

constexpr std::size_t kMostEntries = 100'000;
constexpr std::size_t kMostNameBytes = 512;
constexpr std::size_t kMostDims = 16;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& rule,
                         const std::string& tensor = "") {
  throw Error("not a sound safetensors file: " + rule,
              tensor.empty() ? path.string() : path.string() + ": " + printable(tensor, 80),
              "the file is damaged or was not written by a safetensors writer; copy or save it again");
}

/// Reads the two known levels as they stream by, so that a hostile header is refused before it costs memory.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(SafetensorsFile& out, const std::filesystem::path& path) : out_(out), path_(path) {}

  bool key(string_t& name) override {
    if (depth_ == 1) {
      if (name.empty() || name.size() > kMostNameBytes || name.find('\0') != std::string::npos) {
        refuse(path_, "a tensor name is empty, holds NUL or is longer than 512 bytes", name);
      }
      if (!names_.insert(name).second) refuse(path_, "a name stands twice", name);
      if (names_.size() > kMostEntries + 1) refuse(path_, fmt::format("more than {} tensors", kMostEntries));
      current_ = TensorInFile{};
      current_.name = name;
      in_metadata_ = name == "__metadata__";
      fields_ = 0;
    } else {
      field_ = name;
      if (in_metadata_) return true;
      const unsigned bit = name == "dtype" ? 1U : name == "shape" ? 2U : name == "data_offsets" ? 4U : 0U;
      if (bit == 0 || (fields_ & bit) != 0) refuse(path_, "an unknown or repeated field", current_.name);
      fields_ |= bit;
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (++depth_ > 2 || in_array_) refuse(path_, "objects are nested too deeply", current_.name);
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1 && !in_metadata_) finish_entry();
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_array_ || in_metadata_ || (field_ != "shape" && field_ != "data_offsets")) {
      refuse(path_, "a list where none belongs", current_.name);
    }
    in_array_ = true;
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }
  bool string(string_t& value) override {
    if (in_metadata_ && depth_ == 2) {
      out_.metadata[field_] = value;
    } else if (depth_ == 2 && !in_array_ && field_ == "dtype") {
      current_.dtype = value;
    } else {
      refuse(path_, "text where none belongs", current_.name);
    }
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_ || value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      refuse(path_, "a number where none belongs, or one that is too large", current_.name);
    }
    std::vector<std::int64_t>& list = field_ == "shape" ? current_.shape : offsets_;
    list.push_back(static_cast<std::int64_t>(value));
    if (current_.shape.size() > kMostDims || offsets_.size() > 2)
      refuse(path_, "a list is too long", current_.name);
    return true;
  }
  bool number_integer(number_integer_t) override { refuse(path_, "a negative number", current_.name); }
  bool number_float(number_float_t, const string_t&) override { refuse(path_, "a fraction", current_.name); }
  bool null() override { refuse(path_, "null where none belongs", current_.name); }
  bool boolean(bool) override { refuse(path_, "true or false where none belongs", current_.name); }
  bool binary(binary_t&) override { refuse(path_, "binary data in the header", current_.name); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    refuse(path_, fmt::format("the header is no JSON at byte {}", at));
  }

 private:
  void finish_entry() {
    if (fields_ != 7 || offsets_.size() != 2)
      refuse(path_, "dtype, shape or data_offsets is missing", current_.name);
    const std::size_t type_bytes = safetensors_type_bytes(current_.dtype);
    if (type_bytes == 0)
      refuse(path_, "the type " + printable(current_.dtype, 20) + " is not known", current_.name);
    const std::optional<std::int64_t> bytes =
        checked_product(current_.shape, static_cast<std::int64_t>(type_bytes));
    if (!bytes || offsets_[1] < offsets_[0] || offsets_[1] - offsets_[0] != *bytes) {
      refuse(path_, "the shape does not match the tensor's bytes", current_.name);
    }
    current_.begin_byte = static_cast<std::uint64_t>(offsets_[0]);
    current_.bytes = static_cast<std::uint64_t>(*bytes);
    offsets_.clear();
    out_.tensors.push_back(current_);
  }

  SafetensorsFile& out_;
  const std::filesystem::path& path_;
  std::set<std::string> names_;
  TensorInFile current_;
  std::vector<std::int64_t> offsets_;
  std::string field_;
  int depth_ = 0;
  unsigned fields_ = 0;
  bool in_array_ = false;
  bool in_metadata_ = false;
};

}  // namespace

SafetensorsFile parse_safetensors_header(const std::string& json, std::uint64_t data_bytes,
                                         const std::filesystem::path& path) {
  SafetensorsFile file;
  file.path = path;
  HeaderReader reader(file, path);
  if (json.empty() || json.front() != '{') refuse(path, "the header does not begin with {");
  nlohmann::json::sax_parse(json, &reader);
  std::sort(file.tensors.begin(), file.tensors.end(), [](const TensorInFile& a, const TensorInFile& b) {
    return std::pair(a.begin_byte, a.bytes) < std::pair(b.begin_byte, b.bytes);
  });
  std::uint64_t expected = 0;
  for (const TensorInFile& tensor : file.tensors) {
    if (tensor.begin_byte != expected) refuse(path, "the tensors overlap or leave a gap", tensor.name);
    expected += tensor.bytes;
  }
  if (expected != data_bytes) {
    refuse(path, fmt::format("the tensors cover {} bytes, the file holds {}", expected, data_bytes));
  }
  return file;
}

}  // namespace isobar
