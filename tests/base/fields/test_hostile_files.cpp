#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>

#include "core/files.h"
#include "fields/npy.h"
#include "fields/safetensors.h"
#include "support/catch.h"
#include "support/hostile.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

const std::vector<HostileFile> kNpy = {
    {"empty", "not a .npy file", ""},
    {"magic-only", "not a .npy file", ""},
    {"zip", "not a .npy file", ""},
    {"version-0", "version 0.0 ", ""},
    {"version-9", "version 9.0 ", ""},
    {"version-1-1", "version 1.1 ", ""},
    {"header-1-gb", "claims 1073741824 bytes", ""},
    {"header-64-kb", "claims 65535 bytes", ""},
    {"header-cut", "a quote is not closed", ""},
    {"not-closed", "a quoted word was expected", ""},
    {"quote-not-closed", "a quote is not closed", ""},
    {"short-data", "does not match the 15 bytes", ""},
    {"trailing-bytes", "does not match the 17 bytes", ""},
    {"shape-32-gb", "does not match the 16 bytes", ""},
    {"shape-overflow", "does not match the 16 bytes", ""},
    {"shape-beyond-64-bits", "not a list of sizes", ""},
    {"zero-hides-overflow", "does not match the 0 bytes", ""},
    {"negative", "not a list of sizes", ""},
    {"minus-zero", "not a list of sizes", ""},
    {"leading-zero", "not a list of sizes", ""},
    {"shape-a-number", "a number, not a list", ""},
    {"shape-a-list", "'(' was expected", ""},
    {"shape-python-2", "not a list of sizes", ""},
    {"dims-33", "not a list of sizes", ""},
    {"fortran", "Fortran order", ""},
    {"object", "type '|O'", ""},
    {"big-endian", "type '>f4'", ""},
    {"half", "type '<f2'", ""},
    {"record", "a quoted word was expected", ""},
    {"type-in-tuple", "a quoted word was expected", ""},
    {"key-missing", "must hold descr, fortran_order and shape", ""},
    {"key-twice", "repeated key 'descr'", ""},
    {"key-unknown", "unknown or repeated key 'evil'", ""},
    {"code", "True or False was expected", ""},
    {"behind-the-header", "and nothing else", ""},
    {"zero-byte", "and nothing else", ""},
};

const std::vector<HostileFile> kSafetensors = {
    {"empty", "not a safetensors file", ""},
    {"seven-bytes", "not a safetensors file", ""},
    {"pickle-in-zip", "not a safetensors file", ""},
    {"length-0", "header would be 0 bytes", ""},
    {"length-2-63", "header would be 9223372036854775808 bytes", ""},
    {"length-all-ones", "header would be 18446744073709551615 bytes", ""},
    {"length-past-the-end", "header would be 55 bytes in a file of 62", ""},
    {"header-cut", "no JSON at byte", ""},
    {"list", "does not begin with {", ""},
    {"byte-order-mark", "does not begin with {", ""},
    {"zero-byte-behind", "the header holds a NUL byte", ""},
    {"text-behind", "no JSON at byte", ""},
    {"comment", "no JSON at byte", ""},
    {"no-utf8", "no JSON at byte", ""},
    {"gap", "a gap before the tensor", ": b"},
    {"hole-at-the-start", "a gap before the tensor", ": a"},
    {"overlap", "overlaps the one before", ": b"},
    {"trailing-bytes", "cover 8 bytes, the file holds 9", ""},
    {"short-data", "cover 8 bytes, the file holds 7", ""},
    {"shape-wraps", "the shape does not match", ": a"},
    {"zero-hides-overflow", "the shape does not match", ": a"},
    {"offsets-back", "the shape does not match", ": a"},
    {"type-lie", "the shape does not match", ": a"},
    {"type-unknown", "the type F99", ": a"},
    {"type-a-number", "a number where none belongs", ": a"},
    {"negative", "a negative number", ": a"},
    {"fraction", "a fraction", ": a"},
    {"exponent", "a fraction", ": a"},
    {"beyond-63-bits", "too large", ": a"},
    {"beyond-64-bits", "more than 64 bits", ": a"},
    {"name-twice", "a name stands twice", ": a"},
    {"name-twice-escaped", "a name stands twice", ": a"},
    {"field-twice", "unknown or repeated field", ": a"},
    {"field-unknown", "unknown or repeated field", ": a"},
    {"field-missing", "data_offsets is missing", ": a"},
    {"offsets-three", "a list is too long", ": a"},
    {"dims-17", "a list is too long", ": a"},
    {"deep-object", "nested too deeply", ": a"},
    {"deep-list", "a list where none belongs", ": a"},
    {"entry-null", "null where none belongs", ": a"},
    {"name-zero-byte", "NUL", ": a?b"},
    {"name-up-and-out", "a slash", ": ../../etc"},
    {"name-backslash", "a backslash", ": a\\b"},
    {"name-escape-code", "control character", ": ?[2J"},
    {"name-empty", "1 to 512 bytes, this one 0", ""},
    {"name-513", "1 to 512 bytes, this one 513",
     ": nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
     "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn..."},
    {"metadata-a-number", "a number where none belongs", ": __metadata__"},
    {"metadata-nested", "nested too deeply", ": __metadata__"},
    {"metadata-twice", "stands twice", ": __metadata__"},
};

std::string content(const std::filesystem::path& path) { return read_text_file(path, 1 << 20); }

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

/// Processor seconds, the least of three: other work on the machine hardly counts.
double least_seconds(const std::function<void()>& body) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    body();
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

/// A safetensors file of `count` tensors of one byte each.
std::string many_tensors(std::size_t count) {
  std::string json = "{";
  for (std::size_t i = 0; i < count; ++i) {
    json += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(count - 1 - i) + "," +
            std::to_string(count - i) + "]}";
  }
  json += "}";
  std::string out(8, '\0');
  const std::uint64_t length = json.size();
  std::memcpy(out.data(), &length, sizeof(length));
  return out + json + std::string(count, 'd');
}

}  // namespace

TEST_CASE("hostile .npy files are refused, each for its own fault") {
  CHECK(kNpy.size() >= 20);
  check_hostile_files("npy", kNpy, [](const auto& path) { read_npy(path); });
  check_hostile_files("npy", kNpy, [](const auto& path) { parse_npy(bytes(content(path)), path.string()); });
}

TEST_CASE("hostile safetensors files are refused with rule and tensor") {
  CHECK(kSafetensors.size() >= 25);
  check_hostile_files("safetensors", kSafetensors, [](const auto& path) { open_safetensors(path); });
  check_hostile_files("safetensors", kSafetensors,
                      [](const auto& path) { parse_safetensors(bytes(content(path)), path.string()); });
}

TEST_CASE("a hundred thousand tensors are read and written, one more is refused") {
  const std::string whole = many_tensors(100'000);
  const SafetensorsFile file = parse_safetensors(bytes(whole), "many");
  REQUIRE(file.tensors.size() == 100'000);
  CHECK(file.tensors.front().name == "t99999");
  CHECK(file.tensors.back().begin_byte == whole.size() - 1);
  std::vector<TensorToWrite> tensors;
  const std::byte byte{};
  for (const TensorInFile& tensor : file.tensors) tensors.push_back({tensor.name, "U8", {1}, {&byte, 1}});
  const std::string again = safetensors_start(tensors, {}) + std::string(100'000, 'd');
  CHECK(parse_safetensors(bytes(again), "again").tensors.size() == 100'000);
  const std::string more = many_tensors(100'001);
  CHECK_THAT(error_of([&] { parse_safetensors(bytes(more), "more"); }), says("more than 100000 tensors"));
}

TEST_CASE("the time for a table of tensors does not grow with its square", "[.nightly]") {
  const auto seconds = [](std::size_t count) {
    const std::string whole = many_tensors(count);
    return least_seconds([&] {
      std::vector<TensorToWrite> tensors;
      const std::byte byte{};
      for (const TensorInFile& tensor : parse_safetensors(bytes(whole), "many").tensors)
        tensors.push_back({tensor.name, "U8", {1}, {&byte, 1}});
      safetensors_start(tensors, {});
    });
  };
  CHECK(seconds(80'000) < 16 * 3 * seconds(5'000));  // 256 times if it did
}

TEST_CASE("what is claimed is refused before memory is taken for it") {
  // A sparse file of 5 GiB with a header that fits: as cheap to make as the small ones.
  const std::string start = npy_start(std::vector<std::int64_t>{5, 1 << 28});
  const TempFolder folder;
  const std::filesystem::path path = folder / "sparse.npy";
  write_file_whole(path, start);
  std::filesystem::resize_file(path, start.size() + (std::uintmax_t{5} << 30));
  CHECK_THAT(error_of([&] { read_npy(path); }), says("5.37 GB of values") && says("sparse.npy"));
}
