#include <fcntl.h>

#include "core/files.h"
#include "record/stream_reader.h"
#include "support/catch.h"
#include "support/temp_folder.h"

namespace isobar::test_stream_reader {

namespace {

void append(const std::filesystem::path& path, const std::string& text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  write_fully(file, path, std::as_bytes(std::span(text)));
}

std::vector<std::string> all_of(StreamReader& reader) {
  std::vector<std::string> out;
  for (std::vector<std::string> lines = reader.read_new(); !lines.empty(); lines = reader.read_new()) {
    out.insert(out.end(), lines.begin(), lines.end());
  }
  return out;
}

}  // namespace

TEST_CASE("every whole line exactly once, wherever the writer was cut") {
  const TempFolder folder;
  const std::string text = "{\"a\":1}\n{\"b\":\"two\"}\n\n{\"c\":3}\n";
  const std::vector<std::string> lines = {"{\"a\":1}", "{\"b\":\"two\"}", "{\"c\":3}"};
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::filesystem::path path = folder / std::to_string(cut);
    StreamReader reader(path);
    CHECK(reader.read_new().empty());  // not there yet
    append(path, text.substr(0, cut));
    std::vector<std::string> read = all_of(reader);
    append(path, text.substr(cut));
    for (const std::string& line : all_of(reader)) read.push_back(line);
    REQUIRE(read == lines);
    REQUIRE(reader.restarts() == 0);
  }
}

TEST_CASE("a tail of zero bytes is not yet a line") {
  const TempFolder folder;
  append(folder / "s", "one\n" + std::string(10, '\0') + "\n");
  StreamReader reader(folder / "s");
  CHECK(reader.read_new() == std::vector<std::string>{"one"});
  CHECK(reader.read_new().empty());
  const FileDescriptor file(::open((folder / "s").c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(pwrite(file.number(), "0123456789", 10, 4) == 10);  // the data arrives
  CHECK(reader.read_new() == std::vector<std::string>{"0123456789"});
}

TEST_CASE("a file that shrank or was replaced is read again from its start") {
  const TempFolder folder;
  append(folder / "s", "one\ntwo\n");
  StreamReader reader(folder / "s");
  CHECK(reader.read_new().size() == 2);
  std::filesystem::resize_file(folder / "s", 4);
  CHECK(reader.read_new() == std::vector<std::string>{"one"});
  CHECK(reader.restarts() == 1);
  write_file_whole(folder / "s", "three\nfour\nfive\n");
  CHECK(reader.read_new().size() == 3);
  CHECK(reader.restarts() == 2);
  std::filesystem::remove(folder / "s");
  CHECK(reader.read_new().empty());
}

TEST_CASE("endless lines are dropped and counted, what follows is read") {
  const TempFolder folder;
  append(folder / "s", std::string(2 << 20, 'x') + "\nafter\n");
  StreamReader reader(folder / "s");
  CHECK(all_of(reader) == std::vector<std::string>{"after"});
  CHECK(reader.dropped_lines() == 1);
  append(folder / "s", std::string(40 << 20, 'y'));
  for (int i = 0; i < 5; ++i) CHECK(reader.read_new().empty());
  append(folder / "s", "\nlast\n");
  for (int i = 0; i < 3; ++i) {
    for (const std::string& line : reader.read_new()) CHECK((line == "last" || line[0] == 'y'));
  }
  CHECK(reader.dropped_lines() >= 3);
}

}  // namespace isobar::test_stream_reader
