#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "core/checked.h"
#include "core/files.h"
#include "fields/npy.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// A .npy file as numpy would write it, with any header and values.
std::string npy(const std::string& header, const std::string& values, char version = 1) {
  std::string out = "\x93NUMPY";
  out += version;
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8 & 0xff);
  if (version > 1) out += std::string(2, '\0');
  return out + header + values;
}

}  // namespace

TEST_CASE("arrays come back bit for bit, strange values too") {
  const TempFolder folder;
  const std::vector<float> values = {1.5F,   -0.0F, std::numeric_limits<float>::infinity(),
                                     1e-42F, 3.0F,  7.25F};
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{6}, {1, 6, 1, 1}, {2, 3}, {6, 1}}) {
    write_npy(folder / "a.npy", shape, values);
    const NpyArray array = read_npy(folder / "a.npy");
    CHECK(array.shape == shape);
    CHECK(array.values == values);
    CHECK(std::signbit(array.values[1]));
  }
  write_npy(folder / "a.npy", std::vector<std::int64_t>{}, std::vector<float>{4});
  CHECK(read_npy(folder / "a.npy").shape.empty());
}

TEST_CASE("doubles are narrowed, versions 2 and 3 and other spacing are read") {
  const TempFolder folder;
  const double value = 0.1;
  const std::string bytes(reinterpret_cast<const char*>(&value), 8);
  for (const char version : {char{1}, char{2}, char{3}}) {
    write_file_whole(folder / "a.npy",
                     npy("{ \"shape\":(1 , ),'descr':'<f8' ,'fortran_order':False}", bytes, version));
    CHECK(read_npy(folder / "a.npy").values == std::vector<float>{0.1F});
  }
}

TEST_CASE("files that NumPy wrote are read, or refused for what they are") {
  const std::filesystem::path folder = "tests/reference/npy";
  // make_npy.py: 0.5, -1, 1.5, -2, ...
  const std::map<std::string, std::vector<std::int64_t>> shapes = {
      {"statistics", {1, 3, 1, 1}}, {"doubles", {2, 3}}, {"version_2", {4}},
      {"version_3", {2, 2}},        {"scalar", {}},      {"empty", {0, 5}}};
  for (const auto& [name, shape] : shapes) {
    INFO(name);
    const NpyArray array = read_npy(folder / (name + ".npy"));
    CHECK(array.shape == shape);
    for (std::size_t i = 0; i < array.values.size(); ++i)
      CHECK(array.values[i] == 0.5F * static_cast<float>(i + 1) * (i % 2 == 1 ? -1.0F : 1.0F));
  }
  const std::map<std::string, std::string> refused = {{"fortran", "Fortran order"},
                                                      {"big_endian", "'>f4'"},
                                                      {"integers", "'<i8'"},
                                                      {"record", "a quoted word was expected"},
                                                      {"objects", "'|O'"}};
  for (const auto& [name, said] : refused) {
    INFO(name);
    CHECK_THAT(error_of([&] { read_npy(folder / ("refused_" + name + ".npy")); }), says(said));
  }
}

TEST_CASE("what cannot be an array is not written") {
  const TempFolder folder;
  const std::vector<float> values(6);
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{5}, {2, 4}, {-2, -3}, {0}})
    CHECK_THAT(error_of([&] { write_npy(folder / "a.npy", shape, values); }, Exit::failed), says("disagree"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

// Run by tests/reference/check_npy.py, which says where.
TEST_CASE("arrays for NumPy", "[.]") {
  const char* const folder = std::getenv("ISOBAR_NPY_FOLDER");
  REQUIRE(folder != nullptr);
  const std::map<std::string, std::vector<std::int64_t>> shapes = {
      {"statistics", {1, 3, 1, 1}}, {"vector", {5}}, {"matrix", {2, 3}}, {"scalar", {}}, {"empty", {0, 7}}};
  for (const auto& [name, shape] : shapes) {
    std::vector<float> values(static_cast<std::size_t>(checked_product(shape).value()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.25F - 1;
    write_npy(std::filesystem::path(folder) / (name + ".npy"), shape, values);
  }
}
