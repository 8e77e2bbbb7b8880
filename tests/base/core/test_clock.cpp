#include <cstdint>

#include "core/clock.h"
#include "support/catch.h"

using namespace isobar;

TEST_CASE("the wait for a processor is a share of the time that passed") {
  const ProcessorTime before{1'000'000, 500};
  CHECK(ProcessorTime{1'004'000, 1500}.waited_since(before) == Approx(0.25));
  CHECK(ProcessorTime{1'004'000, 500}.waited_since(before) == 0);  // it slept, or ran
  CHECK(ProcessorTime{1'004'000, 9'500}.waited_since(before) == 1);
  CHECK(before.waited_since(before) == -1);
  CHECK(ProcessorTime{}.waited_since(before) == -1);  // a kernel that does not say it
  CHECK(before.waited_since(ProcessorTime{}) == -1);
  CHECK(ProcessorTime{1'004'000, 400}.waited_since(before) == -1);  // of another thread
}

TEST_CASE("this thread's wait for processors only grows, where the kernel tells it") {
  const ProcessorTime before = thread_processor_time();
  if (before.waited_us < 0) return;
  const std::int64_t begin_us = thread_cpu_us();
  while (thread_cpu_us() - begin_us < 20'000) {
  }
  CHECK(thread_processor_time().at_us > before.at_us);
  CHECK(thread_processor_time().waited_us >= before.waited_us);
}

TEST_CASE("a moment is read to the minute; what is none stays as it is") {
  CHECK(minute_text("2026-11-20T23:12:46Z") == "2026-11-20 23:12 UTC");
  CHECK(minute_text(wall_iso()).size() == 20);
  for (const char* const other : {"", "yesterday", "2026-11-20T23:12:46+01:00"})
    CHECK(minute_text(other) == other);
}
