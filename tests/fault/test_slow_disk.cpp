// A file system that stalls: whoever writes the stream does not wait for it until its buffer is full.
#include <filesystem>
#include <sstream>

#include "core/files.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

/// What `write_stream` says of lines of 1,000 bytes that it writes while no write ends: how many it took
/// before it waited for the first time, or all, and how long its own clock says that lines waited. Then
/// writes go on, and all lines must be there in their order.
struct Stalled {
  int taken = 0;
  std::int64_t waited_us = 0;
};

Stalled write_stalled(int lines) {
  const TempFolder folder;
  const std::string gate = folder / "gate";
  write_file_whole(gate, std::string_view());
  const ProcessResult result = run_process(
      {ISOBAR_WRITE_STREAM, folder / "s", std::to_string(lines), "1000", gate},
      {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_UNDER=" + (folder / "s").string(),
                       "SHIM_ONLY=write", "SHIM_GATE=" + gate}});
  INFO(result.err);
  REQUIRE(result.code == 0);
  Stalled out;
  std::istringstream(result.out) >> out.taken >> out.waited_us;
  std::istringstream text(read_text_file(folder / "s", 100'000'000));
  int seen = 0;
  for (std::string line; std::getline(text, line); ++seen)
    REQUIRE(line.rfind("{\"kind\":\"step\",\"step\":" + std::to_string(seen) + ",", 0) == 0);
  CHECK(seen == lines);
  return out;
}

}  // namespace

TEST_CASE("lines that fit the buffer wait for nothing while no write ends") {
  const Stalled stalled = write_stalled(2000);
  CHECK(stalled.taken == 2000);
  CHECK(stalled.waited_us == 0);
}

TEST_CASE("a full buffer makes its writer wait, which is counted, and no line is lost") {
  const Stalled stalled = write_stalled(12'000);
  CHECK(stalled.taken >= 4'000'000 / 1100);  // 4 MB wait, and what is on its way
  CHECK(stalled.taken < 12'000);
  CHECK(stalled.waited_us == 1'000'000);
}
