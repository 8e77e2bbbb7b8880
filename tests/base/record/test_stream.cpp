#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <sstream>
#include <thread>

#include "core/json.h"
#include "record/json_line.h"
#include "record/stream_writer.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/set_clock.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

std::vector<Json> lines_of(const std::filesystem::path& path) {
  std::istringstream text(read_text_file(path, 100'000'000));
  std::vector<Json> out;
  for (std::string line; std::getline(text, line);) out.push_back(Json::parse(line));
  return out;
}

}  // namespace

TEST_CASE("an event is one flat JSON line, whatever its values") {
  const double value = 0.1 + 0.2;
  const std::string text = JsonLine("step")
                               .add("step", 3)
                               .add("loss", value)
                               .add("bad", std::nan(""))
                               .add("up", std::numeric_limits<double>::infinity())
                               .add("down", -std::numeric_limits<double>::infinity())
                               .add("due", true)
                               .add("text", "quote \" back \\ line\n tab\t bell\x07 end")
                               .text();
  CHECK(text.find('\n') == text.size() - 1);
  const Json parsed = Json::parse(text);
  CHECK(parsed["kind"] == "step");
  CHECK(parsed["step"] == 3);
  CHECK(parsed["loss"].as_number() == value);  // to the last bit
  CHECK(JsonLine("note").add("text", "A\xff B \xc3\xa9 \xe2\x82").text() ==
        "{\"kind\":\"note\",\"text\":\"A\xef\xbf\xbd B \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd\"}\n");
  CHECK(JsonLine("step").add("loss", 170266302424791318528.0).text() ==
        "{\"kind\":\"step\",\"loss\":1.7026630242479132e+20}\n");  // no integer, which would be too large
  CHECK(parsed["bad"] == "nan");
  CHECK(parsed["up"] == "inf");
  CHECK(parsed["down"] == "-inf");
  CHECK(parsed["due"] == true);
  CHECK(parsed["text"] == "quote \" back \\ line\n tab\t bell\x07 end");
}

TEST_CASE("lines reach the file while the writer is idle, in order, and all at the end") {
  const TempFolder folder;
  SetClock clock;
  StreamWriter writer(folder / "rank-0000.jsonl", 20);
  writer.write(JsonLine("step").add("step", 0));
  clock.until_waiting(1);
  clock.advance_us(19'999);
  CHECK(lines_of(folder / "rank-0000.jsonl").empty());
  clock.until_waiting(1);
  clock.advance_us(1);
  clock.until_waiting(1);  // for the next time, so that it has written
  CHECK(lines_of(folder / "rank-0000.jsonl").size() == 1);
  for (int i = 1; i < 50'000; ++i) writer.write(JsonLine("step").add("step", i));
  writer.finish();
  const std::vector<Json> lines = lines_of(folder / "rank-0000.jsonl");
  REQUIRE(lines.size() == 50'000);
  for (std::size_t i = 0; i < lines.size(); ++i) REQUIRE(lines[i]["step"] == i);
}

TEST_CASE("a flush brings every line to the file at once, and again") {
  const TempFolder folder;
  StreamWriter writer(folder / "rank-0000.jsonl", 60'000);
  writer.flush();  // nothing waits
  for (std::size_t i = 1; i <= 100; ++i) {
    writer.write(JsonLine("step").add("step", static_cast<std::int64_t>(i)));
    writer.flush();
    REQUIRE(lines_of(folder / "rank-0000.jsonl").size() == i);
  }
  writer.finish();
}

TEST_CASE("many lines are written before their time, so that nobody waits for it") {
  const TempFolder folder;
  SetClock clock;  // which never comes to the time of a flush
  StreamWriter writer(folder / "rank-0000.jsonl", 60'000);
  const std::string padding(1000, 'x');
  for (int i = 0; i < 20'000; ++i) writer.write(JsonLine("step").add("step", i).add("padding", padding));
  CHECK(file_size(open_for_reading(folder / "rank-0000.jsonl"), "") > 10'000'000);
  writer.finish();
  CHECK(lines_of(folder / "rank-0000.jsonl").size() == 20'000);
}

TEST_CASE("a stream is never written over another") {
  const TempFolder folder;
  { const StreamWriter first(folder / "s", 20); }
  CHECK_THAT(error_of([&] { const StreamWriter second(folder / "s", 20); }, Exit::failed),
             says("File exists"));
}

TEST_CASE("a full disk is told with the file, and every line before it stays readable") {
  const TempFolder folder;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{20'000, old.rlim_max};
  StreamWriter writer(folder / "s", 5);
  setrlimit(RLIMIT_FSIZE, &small);  // the nearest thing to a full disk that a test can make by itself
  const std::string text = error_of(
      [&] {
        for (int i = 0; i < 100'000; ++i) {
          writer.write(JsonLine("step").add("step", i).add("padding", std::string(100, 'x')));
          if (i % 100 == 0) writer.flush();
        }
      },
      Exit::failed);
  setrlimit(RLIMIT_FSIZE, &old);
  CHECK_THAT(text, says((folder / "s").string()));
  CHECK(lines_of(folder / "s").size() > 10);  // parsing throws on a half line
}
