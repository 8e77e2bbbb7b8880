#include <catch2/catch.hpp>
#include <cstring>

#include "core/files.h"
#include "fields/safetensors.h"
#include "support/errors.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

std::string with_header(const std::string& json, std::size_t data_bytes) {
  const std::uint64_t length = json.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + json + std::string(data_bytes, 'd');
}

std::string refused_bytes(const std::string& bytes) {
  const TempFolder folder;
  write_file_whole(folder / "a.safetensors", bytes);
  const std::string text = error_of([&] { open_safetensors(folder / "a.safetensors"); });
  CHECK_THAT(text, says("a.safetensors"));
  return text;
}

std::string refused(const std::string& json, std::size_t data_bytes = 8) {
  return refused_bytes(with_header(json, data_bytes));
}

}  // namespace

TEST_CASE("tensors come back with names, types, shapes, order and bytes") {
  const TempFolder folder;
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<double> b = {0.1};
  const std::vector<TensorToWrite> tensors = {{"w.a", "F32", {2, 3}, std::as_bytes(std::span(a))},
                                              {"empty", "F32", {0, 7}, {}},
                                              {"b", "F64", {}, std::as_bytes(std::span(b))}};
  write_safetensors(folder / "a.safetensors", tensors, {{"format", "pt"}});
  const SafetensorsFile file = open_safetensors(folder / "a.safetensors");
  CHECK(file.metadata.at("format") == "pt");
  REQUIRE(file.tensors.size() == 3);
  CHECK(file.tensors[0].name == "w.a");
  CHECK(file.tensors[0].shape == std::vector<std::int64_t>{2, 3});
  CHECK(file.tensors[0].begin_byte % 8 == 0);  // the header is padded, so float tensors can be mapped
  std::vector<float> read(6);
  read_tensor(file, file.tensors[0], std::as_writable_bytes(std::span(read)));
  CHECK(read == a);
  std::vector<float> short_buffer(5);
  CHECK_THAT(
      error_of([&] { read_tensor(file, file.tensors[0], std::as_writable_bytes(std::span(short_buffer))); },
               Exit::failed),
      says("24 bytes"));
}

TEST_CASE("what cannot be written soundly is not written") {
  const TempFolder folder;
  const std::vector<float> a = {1, 2};
  const auto bytes = std::as_bytes(std::span(a));
  const auto write = [&](const std::vector<TensorToWrite>& tensors) {
    error_of([&] { write_safetensors(folder / "a", tensors, {}); }, Exit::failed);
  };
  write({{"a", "F32", {3}, bytes}});
  write({{"a", "F31", {2}, bytes}});
  write({{"a", "F32", {2}, bytes}, {"a", "F32", {2}, bytes}});
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("hostile headers are refused with rule and tensor") {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK_THAT(refused_bytes(""), says("not a safetensors file"));
  CHECK_THAT(refused_bytes("1234567"), says("not a safetensors file"));
  std::string huge = with_header(good, 8);
  huge[7] = '\x7f';
  CHECK_THAT(refused_bytes(huge), says("header would be"));
  CHECK_THAT(refused_bytes(with_header(good, 8).substr(0, 30)), says("header would be"));
  CHECK_THAT(refused("[1]"), says("does not begin with {"));
  CHECK_THAT(refused("{\"a\":"), says("no JSON"));
  CHECK_THAT(refused(good, 7), says("cover 8 bytes, the file holds 7"));
  CHECK_THAT(refused(good, 9), says("cover 8 bytes, the file holds 9"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})", 9),
             says("gap") && says("a.safetensors: a"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                     R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                     12),
             says("overlap") && says(": b"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})"), says("does not match"));
  CHECK_THAT(
      refused(R"({"a":{"dtype":"F32","shape":[4194305,4194305,211106198978564],"data_offsets":[0,16]}})", 16),
      says("does not match"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})"), says("does not match"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})"), says("F99"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"), says("negative"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})"), says("fraction"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})"),
             says("too large"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})"),
             says("text where none belongs"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})"),
             says("a list where none belongs"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4,8]}})"), says("too long"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[2]}})"), says("missing"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"code":"x"}})"),
             says("unknown"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
             says("repeated"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                     R"("a":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}})"),
             says("twice"));
  CHECK_THAT(refused(R"({"":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"), says("name is empty"));
  CHECK_THAT(refused(R"({"a\u0000b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"), says("NUL"));
  CHECK_THAT(
      refused("{\"" + std::string(600, 'n') + R"(":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
      says("512"));
  CHECK_THAT(refused(R"({"a":{"b":{"c":{}}}})"), says("unknown"));
  CHECK_THAT(refused(R"({"a":{"dtype":{"c":{}}}})"), says("nested too deeply"));
  CHECK_THAT(refused(R"({"a":7})"), says("a number where none belongs"));
  CHECK_THAT(refused(R"({"a":null})"), says("null"));
  CHECK_THAT(refused(R"({"a":true})"), says("true or false"));
  CHECK_THAT(refused(R"({"a":"text"})"), says("text where none belongs"));
  CHECK_THAT(refused(good + "x"), says("no JSON"));
  CHECK_THAT(refused(R"({"__metadata__":{"a":{"b":"c"}}})", 0), says("nested too deeply"));
  CHECK_THAT(refused("{\"a\":" + std::string(50'000, '[')), says("a list where none belongs"));
}

TEST_CASE("a hundred thousand entries and one more are refused") {
  std::string json = "{";
  for (int i = 0; i < 100'002; ++i) {
    json +=
        (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  CHECK_THAT(refused(json + "}", 0), says("more than 100000"));
}
