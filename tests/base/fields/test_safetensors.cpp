#include <cstring>

#include "core/files.h"
#include "fields/safetensors.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace isobar::test_safetensors {

namespace {

std::string with_header(const std::string& json, std::size_t data_bytes) {
  const std::uint64_t length = json.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + json + std::string(data_bytes, 'd');
}

std::string refused(const std::string& json) {
  const TempFolder folder;
  write_file_whole(folder / "a.safetensors", with_header(json, 8));
  return error_of([&] { open_safetensors(folder / "a.safetensors"); });
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
  write({{"a", "F31", {0}, {}}});
  for (const std::string& name : {std::string(), std::string("../a"), std::string("a\0b", 3),
                                  std::string("\xff"), std::string("__metadata__"), std::string(513, 'n')})
    write({{name, "F32", {2}, bytes}});
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("values where others belong are refused with rule and tensor") {
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})"),
             says("text where none belongs") && says("a.safetensors: a"));
  CHECK_THAT(refused(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})"),
             says("a list where none belongs"));
  CHECK_THAT(refused(R"({"a":{"b":{"c":{}}}})"), says("unknown"));
  CHECK_THAT(refused(R"({"a":7})"), says("a number where none belongs"));
  CHECK_THAT(refused(R"({"a":true})"), says("true or false"));
  CHECK_THAT(refused(R"({"a":"text"})"), says("text where none belongs"));
  CHECK_THAT(refused("{\"a\":"), says("no JSON"));
  CHECK_THAT(refused("{\"a\":" + std::string(50'000, '[')), says("a list where none belongs"));
  CHECK_THAT(refused("{\"a\":" + std::string(50'000, '{')), says("no JSON"));
}

}  // namespace isobar::test_safetensors
