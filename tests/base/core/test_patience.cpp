// Time that a process could have waited.
#include "core/patience.h"
#include "support/catch.h"
#include "support/set_clock.h"

using namespace isobar;

TEST_CASE("of the time that a process stood still no more counts than a look takes at most") {
  SetClock clock;
  Patience patience(1000);
  CHECK(patience.pass() == 0);
  clock.advance_us(400);
  CHECK(patience.pass() == 400);
  clock.advance_us(3'600'000'000);
  CHECK(patience.pass() == 1000);
  CHECK(patience.pass() == 0);
  clock.advance_us(1000);
  CHECK(patience.pass() == 1000);
}
