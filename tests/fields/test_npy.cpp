#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/files.h"
#include "fields/npy.h"
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
