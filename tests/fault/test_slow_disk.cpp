// A file system whose writes take long: whoever writes the stream does not wait for it until its buffer is
// full.
#include <sstream>

#include "core/files.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/temp_folder.h"

using namespace isobar;

namespace {

struct Cost {
  std::int64_t longest_us = 0;
  std::int64_t waited_us = 0;
};

/// Writes lines of 1,000 bytes where each write takes `delay_ms`, and checks that all of them arrive in
/// order.
Cost write_slowly(int lines, int delay_ms) {
  const TempFolder folder;
  const ProcessResult result = run_process(
      {ISOBAR_WRITE_STREAM, folder / "s", std::to_string(lines), "1000"},
      {.environment = {std::string("LD_PRELOAD=") + ISOBAR_SHIM, "SHIM_UNDER=" + folder.path().string(),
                       "SHIM_ONLY=write", "SHIM_DELAY_MS=" + std::to_string(delay_ms)}});
  INFO(result.err);
  REQUIRE(result.code == 0);
  Cost cost;
  std::istringstream(result.out) >> cost.longest_us >> cost.waited_us;
  std::istringstream text(read_text_file(folder / "s", 100'000'000));
  int seen = 0;
  for (std::string line; std::getline(text, line); ++seen)
    REQUIRE(line.rfind("{\"kind\":\"step\",\"step\":" + std::to_string(seen) + ",", 0) == 0);
  CHECK(seen == lines);
  return cost;
}

}  // namespace

TEST_CASE("lines that fit the buffer cost nothing, however slow the file system is") {
  const Cost cost = write_slowly(2000, 1000);
  CHECK(cost.waited_us == 0);
  CHECK(cost.longest_us < 500'000);  // far below what one write takes
}

TEST_CASE("a full buffer makes its writer wait, which is counted, and no line is lost") {
  const Cost cost = write_slowly(12'000, 300);
  CHECK(cost.waited_us > 200'000);
  CHECK(cost.waited_us >= cost.longest_us - 10'000);
}
