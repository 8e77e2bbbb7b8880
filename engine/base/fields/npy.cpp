#include "fields/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/checked.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace isobar {
namespace {

static_assert(std::endian::native == std::endian::little, "npy and safetensors bytes are used as they are");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostNpyHeaderBytes = 10'000;
constexpr std::size_t kMostNpyDims = 32;
constexpr std::uint64_t kMostValueBytes = std::uint64_t{4} << 30;  // fifteen climatologies of the full grid

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
  std::int64_t size() {
    skip_space();
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    std::int64_t value = -1;
    const auto parsed = std::from_chars(begin, end, value);
    // Python has no -0 among sizes and no number that begins with a zero.
    if (parsed.ec != std::errc() || *begin == '-' || (*begin == '0' && parsed.ptr - begin > 1))
      fail("the shape is not a list of sizes");
    at_ = static_cast<std::size_t>(parsed.ptr - text_.data());
    return value;
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> out;
    expect('(');
    bool has_comma = true;  // (4) is a number in Python, (4,) a tuple
    while (!accept(')')) {
      if (!has_comma || out.size() >= kMostNpyDims) fail("the shape is not a list of sizes");
      out.push_back(size());
      has_comma = accept(',');
      if (out.size() == 1 && !has_comma) fail("the shape is a number, not a list of sizes");
    }
    return out;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

/// Where the values begin, and what they are.
struct Start {
  std::uint64_t offset = 0;
  std::size_t value_bytes = 0;
  std::size_t count = 0;
  std::vector<std::int64_t> shape;
};

/// The header's place in a file of `file_bytes`, from its first bytes: offset and size.
std::pair<std::size_t, std::size_t> header_place(std::span<const std::byte> bytes, std::uint64_t file_bytes,
                                                 const std::string& where) {
  if (bytes.size() < kMagic.size() + 6 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Error("not a .npy file", where, "statistics are written with numpy.save");
  }
  const int version = std::to_integer<int>(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != std::byte{0}) {
    throw Error(
        fmt::format("version {}.{} of the .npy format is not known", version, std::to_integer<int>(bytes[7])),
        where, "versions 1.0, 2.0 and 3.0 are");
  }
  std::uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data() + 8, version == 1 ? 2 : 4);
  const std::size_t begin = version == 1 ? 10 : 12;
  if (header_bytes > kMostNpyHeaderBytes || begin + header_bytes > file_bytes) {
    throw Error(fmt::format("the header claims {} bytes, the file has {} (at most {} are read)", header_bytes,
                            file_bytes, kMostNpyHeaderBytes),
                where, "the file is damaged; write it again with numpy.save");
  }
  return {begin, header_bytes};
}

/// Checks everything in front of the values. `bytes` are the first of a file of `file_bytes`, as many as a
/// header may have.
Start parse_start(std::span<const std::byte> bytes, std::uint64_t file_bytes, const std::string& where) {
  const auto [begin, header_bytes] = header_place(bytes, file_bytes, where);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + begin, header_bytes);
  const HeaderParser::Header header = HeaderParser(text, where).parse();
  const std::int64_t value_bytes = header.descr == "<f4" ? 4 : header.descr == "<f8" ? 8 : 0;
  if (value_bytes == 0) {
    throw Error("values of type '" + printable(header.descr, 40) + "'; float32 or float64 is wanted", where,
                "numpy.save(file, array.astype('float32'))");
  }
  if (header.fortran && header.shape.size() > 1) {
    throw Error("the array is in Fortran order", where, "numpy.save(file, numpy.ascontiguousarray(array))");
  }
  const std::uint64_t left = file_bytes - begin - header_bytes;
  const std::optional<std::int64_t> wanted = checked_product(header.shape, value_bytes);
  if (!wanted || static_cast<std::uint64_t>(*wanted) != left) {
    throw Error(fmt::format("the shape does not match the {} bytes of values in the file", left), where,
                "the file is damaged or cut short; copy it again");
  }
  if (left > kMostValueBytes) {
    throw Error(
        fmt::format("{} of values, at most {} are read", human_bytes(left), human_bytes(kMostValueBytes)),
        where, "is it the right file?");
  }
  return {begin + header_bytes, static_cast<std::size_t>(value_bytes),
          static_cast<std::size_t>(*wanted / value_bytes), header.shape};
}

/// The values, which `read` copies into the given place.
template <class Read>
NpyArray values_of(const Start& start, const Read& read) {
  NpyArray array;
  array.shape = start.shape;
  array.values.resize(start.count);
  if (start.value_bytes == sizeof(float)) {
    read(std::as_writable_bytes(std::span(array.values)));
    return array;
  }
  std::vector<double> wide(start.count);
  read(std::as_writable_bytes(std::span(wide)));
  std::transform(wide.begin(), wide.end(), array.values.begin(),
                 [](double value) { return static_cast<float>(value); });
  return array;
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& path) {
  const FileDescriptor file = open_for_reading(path);
  const std::uint64_t size = file_size(file, path);
  std::vector<std::byte> first(std::min<std::uint64_t>(size, 12 + kMostNpyHeaderBytes));
  pread_exactly(file, path, 0, first);
  const Start start = parse_start(first, size, path.string());
  return values_of(start, [&](std::span<std::byte> out) { pread_exactly(file, path, start.offset, out); });
}

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const Start start = parse_start(bytes, bytes.size(), name);
  return values_of(start, [&](std::span<std::byte> out) {
    const auto values = bytes.subspan(start.offset, out.size());
    std::copy(values.begin(), values.end(), out.begin());
  });
}

std::string npy_start(std::span<const std::int64_t> shape) {
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
  return bytes + header;
}

void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
               std::span<const float> values) {
  const std::optional<std::int64_t> count = checked_product(shape);
  if (!count || static_cast<std::size_t>(*count) != values.size()) {
    throw Error("an array's shape and values disagree", path.string(), "", Exit::failed);
  }
  WholeFileWriter writer(path);
  const std::string start = npy_start(shape);
  writer.write(std::as_bytes(std::span(start)));
  writer.write(std::as_bytes(values));
  writer.finish();
}

}  // namespace isobar
