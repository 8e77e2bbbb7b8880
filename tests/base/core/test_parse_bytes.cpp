#include "core/parse_bytes.h"
#include "support/catch.h"
#include "support/errors.h"

using namespace isobar;

TEST_CASE("amounts of memory are a number and a unit") {
  CHECK(parse_bytes("40GiB", "here") == std::uint64_t{40} << 30);
  CHECK(parse_bytes("1.5 GB", "here") == 1'500'000'000);
  CHECK(parse_bytes("800MiB", "here") == std::uint64_t{800} << 20);
  CHECK(parse_bytes("4096", "here") == 4096);
  CHECK(parse_bytes("2kB", "here") == 2000);
  CHECK(parse_bytes("8TiB", "here") == std::uint64_t{8} << 40);
}

TEST_CASE("anything else is refused with its place") {
  for (const char* const bad : {"", "GiB", "-1GiB", "0", "0.1B", "1e3", "40 gib", "40GiB ", "40  GiB",
                                "4O GiB", "nan", "inf", "0x10", "9999999999TiB", "1,5GB", "\x1b[31m1GB"}) {
    INFO(bad);
    CHECK_THAT(error_of([&] { parse_bytes(bad, "run.memory_cap"); }),
               says("is no amount of memory") && says("run.memory_cap") && says("40GiB") && !says("\x1b"));
  }
}
