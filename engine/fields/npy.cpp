#include "fields/npy.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "core/checked.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace isobar {
namespace {

static_assert(std::endian::native == std::endian::little, "npy and safetensors bytes are used as they are");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeaderBytes = 10'000;
constexpr std::size_t kMostDims = 32;

/// The header is a Python dict of three known keys; this reads exactly that and nothing else.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  struct Header {
    std::string descr;
    bool fortran = false;
    std::vector<std::int64_t> shape;
  };

  Header parse() {
    Header header;
    unsigned seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      const unsigned bit = key == "descr" ? 1U : key == "fortran_order" ? 2U : key == "shape" ? 4U : 0U;
      if (bit == 0 || (seen & bit) != 0) fail("unknown or repeated key '" + printable(key, 40) + "'");
      seen |= bit;
      if (bit == 1) header.descr = quoted();
      if (bit == 2) header.fortran = boolean();
      if (bit == 4) header.shape = tuple();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size() || seen != 7)
      fail("it must hold descr, fortran_order and shape, and nothing else");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error("the header of the .npy file cannot be read: " + reason, where_,
                "write it again with numpy.save");
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' was expected at byte {}", c, at_));
  }
  std::string quoted() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("a quoted word was expected");
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail("a quote is not closed");
    const std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail("True or False was expected");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> out;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t value = -1;
      const auto parsed = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (parsed.ec != std::errc() || value < 0 || out.size() >= kMostDims)
        fail("the shape is not a list of sizes");
      at_ = static_cast<std::size_t>(parsed.ptr - text_.data());
      out.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

/// Reads magic, version and header; `offset` becomes the first byte of the values.
std::string read_header(const FileDescriptor& file, const std::filesystem::path& path, std::uint64_t size,
                        std::uint64_t& offset) {
  std::array<std::byte, 12> start{};
  const bool long_enough = size >= start.size();
  if (long_enough) pread_exactly(file, path, 0, start);
  if (!long_enough || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Error("not a .npy file", path.string(), "statistics are written with numpy.save");
  }
  const int version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3) {
    throw Error(fmt::format("version {} of the .npy format is not known", version), path.string(),
                "versions 1 to 3 are");
  }
  std::uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, start.data() + 8, version == 1 ? 2 : 4);
  offset = (version == 1 ? 10U : 12U) + std::uint64_t{header_bytes};
  if (header_bytes > kMostHeaderBytes || offset > size) {
    throw Error(fmt::format("the header claims {} bytes, the file has {} (at most {} are read)", header_bytes,
                            size, kMostHeaderBytes),
                path.string(), "the file is damaged; write it again with numpy.save");
  }
  std::string header(header_bytes, '\0');
  pread_exactly(file, path, offset - header_bytes, std::as_writable_bytes(std::span(header)));
  return header;
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& path) {
  const FileDescriptor file = open_for_reading(path);
  const std::uint64_t size = file_size(file, path);
  const std::string where = path.string();
  std::uint64_t offset = 0;
  const std::string text = read_header(file, path, size, offset);
  const HeaderParser::Header header = HeaderParser(text, where).parse();
  const std::int64_t value_bytes = header.descr == "<f4" ? 4 : header.descr == "<f8" ? 8 : 0;
  if (value_bytes == 0) {
    throw Error("values of type '" + printable(header.descr, 40) + "'; float32 or float64 is wanted", where,
                "numpy.save(file, array.astype('float32'))");
  }
  if (header.fortran && header.shape.size() > 1) {
    throw Error("the array is in Fortran order", where, "numpy.save(file, numpy.ascontiguousarray(array))");
  }
  const std::optional<std::int64_t> bytes = checked_product(header.shape, value_bytes);
  if (!bytes || static_cast<std::uint64_t>(*bytes) != size - offset) {
    throw Error(fmt::format("the shape does not match the {} bytes of values in the file", size - offset),
                where, "the file is damaged or cut short; copy it again");
  }
  NpyArray array;
  array.shape = header.shape;
  array.values.resize(static_cast<std::size_t>(*bytes / value_bytes));
  if (value_bytes == 4) {
    pread_exactly(file, path, offset, std::as_writable_bytes(std::span(array.values)));
  } else {
    std::vector<double> wide(array.values.size());
    pread_exactly(file, path, offset, std::as_writable_bytes(std::span(wide)));
    for (std::size_t i = 0; i < wide.size(); ++i) array.values[i] = static_cast<float>(wide[i]);
  }
  return array;
}

void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
               std::span<const float> values) {
  std::string dims;
  for (const std::int64_t size : shape) dims += fmt::format("{}, ", size);
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", dims);
  const std::size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += std::string("\x01\x00", 2);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  write_file_whole(path, bytes);
}

}  // namespace isobar
