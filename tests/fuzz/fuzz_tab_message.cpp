// A message of a tab: any bytes. What is read is within its limits, and is the same when it is said again.
#include <cmath>

#include "core/utf8.h"
#include "fuzz/checks.h"
#include "gui/tab/say.h"

using namespace isobar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::optional<TabMessage> read = read_message(input);
  if (!read) return 0;
  const TabMessage& m = *read;
  require(m.says >= TabSays::hello && m.says <= TabSays::again);
  require(m.width >= 0 && m.width <= 16384 && m.height >= 0 && m.height <= 16384 && m.scale >= 0 &&
          m.scale <= 8);
  require(std::fabs(m.x) <= 65536 && std::fabs(m.y) <= 65536);
  require(std::fabs(m.wheel_x) <= 100 && std::fabs(m.wheel_y) <= 100);
  require(m.code >= 0 && m.code <= (m.says == TabSays::button ? 4 : 348));
  require(clean_utf8(m.words) == m.words);
  require(said_bytes(m) == input);  // one way to say it
  return 0;
}
