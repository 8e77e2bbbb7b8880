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

std::string header(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string refused(const std::string& bytes) {
  const TempFolder folder;
  write_file_whole(folder / "a.npy", bytes);
  const std::string text = error_of([&] { read_npy(folder / "a.npy"); });
  CHECK_THAT(text, says("a.npy"));
  return text;
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

TEST_CASE("hostile files are refused with a reason") {
  const std::string four(16, '\0');
  const std::string good = header("<f4", "False", "(4,)");
  CHECK_THAT(refused(""), says("not a .npy file"));
  CHECK_THAT(refused("\x93NUMPY"), says("not a .npy file"));
  CHECK_THAT(refused("PK\x03\x04 a zip, as numpy.savez writes it"), says("not a .npy file"));
  CHECK_THAT(refused(npy(good, four, 4)), says("version 4"));
  CHECK_THAT(refused(npy(good, four.substr(1))), says("15 bytes"));
  CHECK_THAT(refused(npy(good, four + "x")), says("17 bytes"));
  CHECK_THAT(refused(npy(header("<f4", "False", "(65536, 65536)"), four)), says("does not match"));
  CHECK_THAT(refused(npy(header("<f4", "False", "(4194305, 4194305, 211106198978564)"), four)),
             says("does not match"));
  CHECK_THAT(refused(npy(header("<f4", "False", "(-4,)"), four)), says("not a list of sizes"));
  CHECK_THAT(refused(npy(header("<f4", "False", "(99999999999999999999,)"), four)),
             says("not a list of sizes"));
  CHECK_THAT(refused(npy(header("<f4", "True", "(2, 2)"), four)), says("Fortran"));
  CHECK_THAT(refused(npy(header("|O", "False", "(4,)"), four)), says("'|O'"));
  CHECK_THAT(refused(npy(header(">f4", "False", "(4,)"), four)), says("'>f4'"));
  CHECK_THAT(refused(npy("{'descr': ('|u1',), 'fortran_order': False, 'shape': (4,)}", four)),
             says("quoted word"));
  CHECK_THAT(refused(npy("{'descr': '<f4', 'shape': (4,)}", four)), says("must hold"));
  CHECK_THAT(refused(npy("{'descr': '<f4', 'descr': '<f4', 'shape': (4,)}", four)), says("repeated"));
  CHECK_THAT(refused(npy("{'descr': '<f4', 'fortran_order': __import__('os'), 'shape': (4,)}", four)),
             says("True or False"));
  CHECK_THAT(refused(npy("{'descr': '<f4', 'evil': 1}", four)), says("'evil'"));
  CHECK_THAT(refused(npy(good.substr(0, 20), four)), says("header"));
  CHECK_THAT(refused(npy("{'descr': '<f4", four)), says("not closed"));
  std::string huge = npy(good, four, 2);
  huge[11] = '\x40';  // a header of a gigabyte
  CHECK_THAT(refused(huge), says("claims 107374"));
}
