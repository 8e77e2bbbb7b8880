#include <limits>

#include "cli/run_lines.h"
#include "core/files.h"
#include "log/run_reader.h"
#include "record/line_splitter.h"
#include "support/catch.h"
#include "support/temp_folder.h"

namespace isobar::test_hostile_stream {

// What fuzzing and reading for it found in the readers of streams; tests/fuzz holds the harness.

namespace {

RunReader read(const TempFolder& folder, const std::string& stream) {
  write_file_whole(folder / "rank-0000.jsonl", stream);
  RunReader reader(folder.path(), true);
  while (reader.update()) {
  }
  return reader;
}

std::vector<std::string> lines_of(LineSplitter& splitter, std::string_view bytes) {
  std::vector<std::string> out;
  for (std::size_t used = 1; used != 0; bytes.remove_prefix(used)) used = splitter.take(bytes, out);
  return out;
}

}  // namespace

TEST_CASE("a run that records its own samples_per_s has one speed a step") {
  const TempFolder folder;
  const std::string step = R"("samples":4,"step_us":500,"samples_per_s":9})";
  RunReader reader =
      read(folder, R"({"kind":"step","step":0,)" + step + "\n" + R"({"kind":"step","step":1,)" + step + "\n");
  const CurveRef speed = reader.series().find("train/samples_per_s");
  REQUIRE(speed.curve->y.size() == 2);
  CHECK(speed.curve->rows.empty());
  CHECK(speed.curve->y[1] == 9);
}

TEST_CASE("sums of absurd sample counts do not overflow") {
  const TempFolder folder;
  std::string stream = "{\"kind\":\"note\",\"steps_per_epoch\":1}\n";
  for (int i = 0; i < 1100; ++i)
    stream += R"({"kind":"step","step":5,"samples":8.9e15,"step_us":1})"
              "\n";
  CHECK(read(folder, stream).view().summary.samples == 9'000'000'000'000'000);
}

TEST_CASE("keys with escape codes become names that can be shown") {
  const TempFolder folder;
  RunReader reader = read(folder, "{\"kind\":\"step\",\"step\":0,\"\\u001b[2J\\n\":1}\n");
  CHECK(reader.series().names() == std::vector<std::string>{"train/?[2J?"});
}

TEST_CASE("a text that was cut within a character is still JSON") {
  const TempFolder folder;
  std::string reason = "x";
  for (int i = 0; i < 1000; ++i) reason += "\u00e4";
  const RunReader reader = read(folder, R"({"kind":"end","status":"failed","reason":")" + reason + "\"}\n");
  CHECK(run_report(reader).json.text().find("\"reason\":\"x") != std::string::npos);
}

TEST_CASE("the rest of a line that was given up is no line") {
  LineSplitter splitter(LineLimits{.line = 8, .window = 16, .lines = 100});
  CHECK(lines_of(splitter, "one\n" + std::string(16, 'x') + "end\nlast\n") ==
        std::vector<std::string>{"one", "last"});
  CHECK(splitter.dropped_lines() == 1);
}

TEST_CASE("zero bytes that never become data cost their line alone") {
  LineSplitter splitter(LineLimits{.line = 8, .window = 16, .lines = 100});
  const std::string zeros = "one\n" + std::string(4, '\0') + "\ntwo\n";
  CHECK(lines_of(splitter, zeros) == std::vector<std::string>{"one"});
  CHECK(lines_of(splitter, zeros.substr(4) + "three\nfour\n") ==
        std::vector<std::string>{"two", "three", "four"});
  CHECK(splitter.dropped_lines() == 1);
}

TEST_CASE("a call takes a bounded number of lines") {
  LineSplitter splitter;
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += "x\n";
  std::vector<std::string> lines;
  const std::size_t used = splitter.take(bytes, lines);
  CHECK(lines.size() == 1U << 18);
  CHECK(used == 2 * lines.size());
}

}  // namespace isobar::test_hostile_stream
