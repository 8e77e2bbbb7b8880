// Overlap, exposed time and the last bucket's share, against a count microsecond by microsecond.
#include <array>
#include <random>

#include "analyse/comm_times.h"
#include "support/catch.h"
#include "support/made_spans.h"

using namespace isobar;

namespace {

constexpr int kSteps = 5, kStep_us = 400, kBuckets = 4;

enum What : unsigned { kComputing = 1, kMoving = 2, kReady = 4, kLast = 8, kOther = 16 };

/// What went on in each microsecond.
class Clock {
 public:
  void mark(std::int64_t begin_us, std::int64_t duration_us, unsigned what) {
    for (std::int64_t at = begin_us; at < begin_us + duration_us; ++at)
      if (at >= 0 && at < std::ssize(at_)) at_[static_cast<std::size_t>(at)] |= what;
  }
  double count(const std::function<bool(unsigned)>& holds) const {
    return static_cast<double>(std::count_if(at_.begin(), at_.end(), holds));
  }

 private:
  std::array<unsigned, std::size_t{kSteps}* kStep_us> at_ = {};
};

struct MadeTrace {
  MadeSpans spans;
  Clock clock;
  int calls = 0;

  explicit MadeTrace(unsigned seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
    for (int step = 0; step < kSteps; ++step) {
      const int at = step * kStep_us, forward = 1 + draw(100), backward = 1 + draw(150);
      spans.span(step, "loop", "forward", at, forward).span(step, "loop", "backward", at + forward, backward);
      spans.span(step, "loop", "comm", at + forward + backward, kStep_us - forward - backward);
      clock.mark(at, forward + backward, kComputing);
      for (int bucket = 0; bucket < kBuckets; ++bucket) {
        const int wait = draw(30), moving = draw(80), begin = at + draw(kStep_us - 120);
        const unsigned whose = bucket == kBuckets - 1 ? kLast : kOther;
        const std::string track = "bucket." + std::to_string(bucket);
        spans.span(step, track, "wait", begin, wait);
        spans.span(step, track, "all-reduce", begin + wait, moving, 100);
        clock.mark(begin, wait, kReady | (whose == kLast ? kLast : 0U));
        clock.mark(begin + wait, moving, kReady | kMoving | whose);
        ++calls;
      }
    }
  }
};

CommTimes times_of(const MadeSpans& spans) {
  const TempFolder folder;
  spans.write(folder);
  const std::optional<CommTimes> found = comm_times(read_spans(folder.path()), {0, kSteps - 1});
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("overlap, exposed time and the last bucket are those of a brute-force union") {
  double overlapped = 0, of_last = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const MadeTrace made(seed);
    const CommTimes times = times_of(made.spans);
    const auto is = [](unsigned what, unsigned now) { return (now & what) == what; };
    const double moving = made.clock.count([&](unsigned now) { return is(kMoving, now); });
    const double both = made.clock.count([&](unsigned now) { return is(kMoving | kComputing, now); });
    const double exposed =
        made.clock.count([&](unsigned now) { return is(kReady, now) && !is(kComputing, now); });
    const double last = made.clock.count(
        [&](unsigned now) { return is(kLast, now) && !is(kOther, now) && !is(kComputing, now); });
    REQUIRE(moving > 0);
    CHECK(times.calls * kSteps == Approx(made.calls));
    CHECK(times.total_us * kSteps == Approx(moving));
    CHECK(times.exposed_us * kSteps == Approx(exposed));
    CHECK(times.overlap.value() == Approx(both / moving).margin(1e-12));
    CHECK(times.last_bucket.value() == Approx(last / exposed).margin(1e-12));
    overlapped += times.overlap.value();
    of_last += times.last_bucket.value();
  }
  CHECK(overlapped > 0.1 * 200);  // the traces have all cases in them
  CHECK(overlapped < 0.9 * 200);
  CHECK(of_last > 0.1 * 200);
  CHECK(of_last < 0.9 * 200);
}

TEST_CASE("the last bucket is the one with the highest number, and none without buckets") {
  const auto share = [](const std::string& early, const std::string& late) {
    MadeSpans spans;
    spans.span(0, "loop", "backward", 0, 100).span(0, "loop", "comm", 100, 100);
    spans.span(0, early, "all-reduce", 90, 40).span(0, late, "all-reduce", 130, 30);  // 30 and 30 us exposed
    return times_of(spans).last_bucket;
  };
  CHECK(share("bucket.2", "bucket.10").value() == Approx(0.5));
  CHECK(share("bucket.2", "buffers").value() == Approx(0.5));
  CHECK(share("bucket.0", "bucket.0").value() == Approx(1));
  CHECK_FALSE(share("gradients", "buffers").has_value());
  CHECK_FALSE(share("bucket.", "bucket.x").has_value());
}

TEST_CASE("which bucket is the last is not known where tracks were left out") {
  MadeSpans spans;
  spans.span(0, "loop", "backward", 0, 100).span(0, "loop", "comm", 100, 10'000);
  for (int bucket = 0; bucket < static_cast<int>(kMostTracks); ++bucket)
    spans.span(0, "bucket." + std::to_string(bucket), "all-reduce", 100 + 30 * bucket, 30);
  const CommTimes times = times_of(spans);  // loop is a track as well
  CHECK(times.exposed_us == 30 * (kMostTracks - 1));
  CHECK_FALSE(times.last_bucket.has_value());
}
