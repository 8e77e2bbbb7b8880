#include "launch/rank_environment.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

using Get = std::function<const char*(const char*)>;

int number(const Get& get, const char* name, int least, int most) {
  const char* const text = get(name);
  if (text == nullptr) {
    throw Error(std::string("the environment says that several processes train together, and ") + name +
                    " is not set",
                name, "a launcher sets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
  }
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < least || value > most) {
    throw Error(std::string(name) + " is \"" + printable(text, 40) + "\"", "environment",
                "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

}  // namespace

RankEnvironment read_rank_environment(const Get& get) {
  RankEnvironment out;
  if (get("RANK") == nullptr && get("WORLD_SIZE") == nullptr) return out;
  out.world = number(get, "WORLD_SIZE", 1, 65536);
  out.rank = number(get, "RANK", 0, out.world - 1);
  out.local_rank = number(get, "LOCAL_RANK", 0, out.world - 1);
  if (const char* const file = get("ISOBAR_MEETING")) {
    out.launched_by = LaunchedBy::isobar;
    out.meeting_file = file;
    return out;
  }
  out.launched_by = LaunchedBy::torchrun;
  const char* const address = get("MASTER_ADDR");
  out.address = address == nullptr ? "" : address;
  out.port = number(get, "MASTER_PORT", 1, 65535);
  return out;
}

RankEnvironment read_rank_environment() {
  return read_rank_environment([](const char* name) { return std::getenv(name); });
}

}  // namespace isobar
